/** What Vitest runs once before the tests that start processes: see `program.ts`. */
import { rmSync } from 'node:fs';
import { buildForCheckout } from '../../build/build-program.ts';
import { root } from '../../build/bundle-options.ts';

/** Resolves to a function that removes the program after the last test. */
export async function setup(): Promise<() => void> {
  const folder = `build/for-tests-${process.pid}`;
  await buildForCheckout(folder, {
    'bench-server': 'bench/servers/child.ts',
    probe: 'verify/testkit/processes/probe.ts',
  });
  process.env['SMSTWIN_TEST_PROGRAM'] = `${root}${folder}/dist`;
  return () => rmSync(`${root}${folder}`, { recursive: true, force: true });
}
