/**
 * `smstwin conform`: the harness, which brings its own command line. What it cannot know is how to
 * start a simulator: for a run without a base_url, that is added here.
 */
import { conform as harness, type OwnSimulator } from '../../conformance/main.ts';
import type { CommandIo } from './flags.ts';

export function conform(argv: readonly string[], io: CommandIo): Promise<number> {
  return harness(argv, { stdout: io.out, stderr: io.error, startOwn });
}

/** A manual clock: the harness moves time itself, so that a day costs no day. */
async function startOwn(): Promise<OwnSimulator> {
  const { createSimulator } = await import('../simulator.ts');
  const simulator = await createSimulator({ clock: 'manual' });
  const { baseUrl, controlUrl } = await simulator.listen({ control: {} });
  if (controlUrl === null) throw new Error('a simulator of our own has a control port');
  return { baseUrl, controlUrl, close: () => simulator.close() };
}
