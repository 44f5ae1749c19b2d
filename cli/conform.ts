/**
 * `smstwin conform`: runs the harness, which has its own command line. The harness imports nothing
 * of the simulator, so this file supplies one for runs without a base_url.
 */
import { conform as harness, type OwnSimulator } from '#conformance/main.ts';
import type { CommandIo } from '#io/flags.ts';
import { isColourTerminal } from '#io/terminal.ts';
import { readTraffic } from '#judging/evidence/read-traffic.ts';

export function conform(argv: readonly string[], io: CommandIo): Promise<number> {
  const isTerminal = isColourTerminal(process.stdout) && isColourTerminal(process.stderr);
  return harness(argv, { ...io, startOwn, readTraffic, isTerminal });
}

/** The simulator of a run without a base_url. On a manual clock, the harness can skip days. */
async function startOwn(): Promise<OwnSimulator> {
  const { Simulator } = await import('#src/simulator.ts');
  const simulator = new Simulator({ clock: 'manual' });
  const { baseUrl, controlUrl } = await simulator.listen({ control: {} });
  if (controlUrl === null) throw new Error('a simulator of our own has a control port');
  return { baseUrl, controlUrl, close: () => simulator.close() };
}
