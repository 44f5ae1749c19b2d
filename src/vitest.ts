/**
 * The fixture for Vitest: each test its own simulator, clock and limits, closed when the test ends.
 *
 * ```ts
 * import { test } from 'smstwin/vitest';
 *
 * test('a message is delivered', async ({ simulator }) => {
 *   const { baseUrl } = await simulator.listen();
 *   // send to baseUrl, then:
 *   simulator.clock.advance('60s');
 * });
 * ```
 */
import { test as base, type TestAPI } from 'vitest';
import { type SettingsInput, Simulator } from './simulator.ts';

export interface SimulatorFixtures {
  /** What the simulator is made with; override with `test.extend({ simulatorSettings: … })`. */
  readonly simulatorSettings: SettingsInput;
  /** Nothing listens before `simulator.listen()`; `simulator.handle()` needs no port. */
  readonly simulator: Simulator;
}

/** Vitest's `test` with a simulator whose clock only moves when the test moves it. */
export const test: TestAPI<SimulatorFixtures> = base.extend<SimulatorFixtures>({
  simulatorSettings: [{ clock: 'manual' }, { injected: false }],
  simulator: async ({ simulatorSettings }, use) => {
    const simulator = new Simulator(simulatorSettings);
    await use(simulator);
    await simulator.close();
  },
});
