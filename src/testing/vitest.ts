/**
 * The fixtures for Vitest: each test has its own simulator, which is closed when the test ends.
 *
 * ```ts
 * import { test } from 'smstwin/vitest';
 *
 * test('a client waits as long as the service says', async ({ simulator, clientClock }) => {
 *   const sent = sendElevenMessages({ fetch: simulator.fetch });
 *   await clientClock.until(sent);
 * });
 * ```
 */
import { test as base, expect, type TestAPI, vi } from 'vitest';
import { type PassRefereeOptions, toPassReferee } from '#judging/client/report-json.ts';
import type { SettingsInput, Simulator } from '../api.ts';
import { Simulator as RunningSimulator } from '../simulator.ts';
import { type ClientClock, FakedClientClock } from './client-clock.ts';
import { clientTimers } from './rest-of-time.ts';

export type { PassRefereeOptions } from '#judging/client/report-json.ts';
export type { ClientClock } from './client-clock.ts';

declare module 'vitest' {
  interface Matchers<T> {
    /** Fails with the client's mistakes: `expect(simulator).toPassReferee()`. */
    toPassReferee(options?: PassRefereeOptions): T;
  }
}

expect.extend({ toPassReferee });

/** What a test of `smstwin/vitest` may take. */
export interface SimulatorFixtures {
  /** The settings of the simulator; override with `test.extend({ simulatorSettings: … })`. */
  readonly simulatorSettings: SettingsInput;
  /** It opens no port before `simulator.listen()`; `simulator.fetch` needs no port. */
  readonly simulator: Simulator;
  /**
   * Fakes the timers and `Date` of the test and binds the simulator to them, so that client and
   * service share one clock. Only for tests that run one at a time.
   */
  readonly clientClock: ClientClock;
}

/** The settings from which each simulator was made. */
const settingsOf = new WeakMap<Simulator, SettingsInput>();

const simulatorTest: TestAPI<SimulatorFixtures> = base.extend<SimulatorFixtures>({
  simulatorSettings: [{ clock: 'manual' }, { injected: false }],
  simulator: async ({ simulatorSettings }, use) => {
    const simulator = new RunningSimulator(simulatorSettings);
    settingsOf.set(simulator, simulatorSettings);
    await use(simulator);
    await simulator.close();
  },
  clientClock: async ({ simulator, task }, use) => {
    if (!(simulator instanceof RunningSimulator))
      throw new Error('clientClock needs the simulator of its own fixture');
    const areRealBefore = !vi.isFakeTimers();
    // In one step: a scaled clock would otherwise advance in between, and the client would start
    // late.
    simulator.wallClock.atOneMoment(() => {
      if (areRealBefore)
        vi.useFakeTimers({ now: simulator.clock.now(), toFake: [...clientTimers] });
      simulator.wallClock.follow(() => Date.now(), 'clientClock');
    });
    const clock = new FakedClientClock(() => {
      if (areRealBefore) vi.useRealTimers();
    });
    await use(clock);
    const stuck = clock.end();
    // The reason of a test that ran out of time. One that passed did not need what it left waiting.
    if (stuck !== undefined && task.result?.state === 'fail') throw new Error(stuck);
  },
});

/** Vitest's `test` with a simulator whose clock moves only when the test moves it. */
export const test: TestAPI<SimulatorFixtures> = refusingIgnoredSettings(simulatorTest);

/**
 * Vitest 3 builds a fixture from the fixtures that were there when it was declared, so it ignores
 * a later override of `simulatorSettings`. A test that runs with other settings than it asks for
 * could pass without testing anything, so it fails instead.
 */
function refusingIgnoredSettings<T extends TestAPI<SimulatorFixtures>>(own: T): T {
  const extend = own.extend.bind(own) as (...args: unknown[]) => T;
  const refusing = (first: unknown, ...others: unknown[]): T => {
    const setsSettings =
      typeof first === 'object' && first !== null && 'simulatorSettings' in first;
    const extended = extend(setsSettings ? { ...first, settingsInForce } : first, ...others);
    return refusingIgnoredSettings(extended);
  };
  return Object.assign(own, { extend: refusing });
}

const settingsInForce = [
  async (
    { simulator, simulatorSettings }: Pick<SimulatorFixtures, 'simulator' | 'simulatorSettings'>,
    use: () => Promise<void>,
  ) => {
    const settings = settingsOf.get(simulator);
    if (settings !== undefined && settings !== simulatorSettings) {
      throw new Error(
        'this version of Vitest ignores test.extend({ simulatorSettings }): use test.scoped({ simulatorSettings }), or Vitest 4',
      );
    }
    await use();
  },
  { auto: true },
];
