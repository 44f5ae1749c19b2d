/**
 * Both kill matrices: the harness with a control port against every planted defect, and without one
 * against a new random sample each time.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('./conform-defects.ts', import.meta.url));
const withinMs = 600_000;

test.each([
  ['with a control port', 'defects caught', []],
  [
    'without a control port',
    'cannot be seen so',
    ['--without-levers', '--rate', '4', '--sample', '60'],
  ],
])(
  'the harness %s catches every planted defect that can be seen',
  async (_, summary, flags) => {
    // Rejects, with all that was printed, where one gets away.
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', program, ...flags],
      { maxBuffer: 64 * 1_048_576 },
    );
    expect(stdout).toContain(summary);
  },
  withinMs,
);
