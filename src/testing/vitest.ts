/**
 * The fixtures for Vitest: each test its own simulator, clock and limits, closed when the test
 * ends.
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
import { type PassRefereeOptions, toPassReferee } from '#judging/client/matcher.ts';
import type { SettingsInput, Simulator } from '../api.ts';
import { Simulator as RunningSimulator } from '../simulator.ts';
import { type ClientClock, FakedClientClock } from './client-clock.ts';

export type { PassRefereeOptions } from '#judging/client/matcher.ts';
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

/** Vitest's `test` with a simulator whose clock moves only when the test moves it. */
export const test: TestAPI<SimulatorFixtures> = base.extend<SimulatorFixtures>({
  simulatorSettings: [{ clock: 'manual' }, { injected: false }],
  simulator: async ({ simulatorSettings }, use) => {
    const simulator = new RunningSimulator(simulatorSettings);
    await use(simulator);
    await simulator.close();
  },
  clientClock: async ({ simulator, task }, use) => {
    if (!(simulator instanceof RunningSimulator)) {
      throw new Error('clientClock needs the simulator of its own fixture');
    }
    const isOurs = !vi.isFakeTimers();
    // In one step: a scaled clock would otherwise advance in between, and the client would start
    // late.
    simulator.wallClock.atOneMoment(() => {
      if (isOurs) vi.useFakeTimers({ now: simulator.clock.now(), toFake: [...clientTimers] });
      simulator.wallClock.follow(() => Date.now(), 'clientClock');
    });
    const clock = new FakedClientClock(() => {
      if (isOurs) vi.useRealTimers();
    });
    await use(clock);
    const stuck = clock.end();
    if (stuck !== undefined && task.result?.state === 'fail') throw new Error(stuck);
  },
});

/** Not `setImmediate`: it does not wait for time, and connections of Node's clients need it. */
const clientTimers = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'Date',
  'performance',
] as const;
