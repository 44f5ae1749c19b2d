/**
 * `npm run types` and `npm run lint`, which are quick by themselves. They are tests, so that they
 * run beside the others: started one after the other, each would leave a core idle.
 */
import { exec } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { root } from '../testkit/doc-commands.ts';

const timeout = 600_000;

test.concurrent.each(['types', 'lint'])('npm run %s finds nothing', { timeout }, async (script) => {
  const run = promisify(exec)(`npm run -s ${script}`, { cwd: root, maxBuffer: 2 ** 26 });
  const mistakes = await run.then(
    () => '',
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  );
  expect(mistakes).toBe('');
});
