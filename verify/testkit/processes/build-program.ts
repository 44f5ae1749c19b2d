/** What Vitest runs once before the tests that start processes: see `program.ts`. */
import { cpSync, rmSync } from 'node:fs';
import { buildDashboard, buildProgram, root } from '../../build/bundle-options.ts';

/** Resolves to a function that removes the program after the last test. */
export async function setup(): Promise<() => void> {
  const folder = `build/for-tests-${process.pid}`;
  const programFolder = `${folder}/dist`;
  await buildProgram(programFolder, {
    'bench-server': 'bench/servers/child.ts',
    probe: 'verify/testkit/processes/probe.ts',
  });
  await buildDashboard(programFolder);
  // The command starts the program, which reads its version from `package.json`.
  for (const file of ['bin', 'package.json'])
    cpSync(`${root}${file}`, `${root}${folder}/${file}`, { recursive: true });
  process.env['SMSTWIN_TEST_PROGRAM'] = `${root}${programFolder}`;
  return () => rmSync(`${root}${folder}`, { recursive: true, force: true });
}
