/**
 * The kill matrix with a control port: the harness against every planted defect. The one without a
 * control port takes real time: `npm run conform:defects -- --without-control-port`.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('./conform-defects.ts', import.meta.url));
const withinMs = 600_000;

test(
  'the harness with a control port catches every planted defect that can be seen',
  async () => {
    // Rejects, with all that was printed, if a defect survives.
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program], {
      maxBuffer: 64 * 1_048_576,
    });
    expect(stdout).toContain('defects caught');
  },
  withinMs,
);
