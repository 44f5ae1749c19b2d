import { afterEach, expect, test } from 'vitest';
import { CommandError } from '#io/command-error.ts';
import { startServer } from './server-process.ts';

const { execPath } = process;
afterEach(() => {
  process.execPath = execPath;
});

test.each([
  [
    'that is not there',
    '/nowhere/node',
    'cannot be started or reached: spawn /nowhere/node ENOENT',
  ],
  ['that ends at once', '/bin/false', '(?:exited with code 1|cannot be .*: write EPIPE)'],
])('a server of a program %s is one line, not a stack', async (_, program, why) => {
  process.execPath = program;
  const started = startServer({ kind: 'hyperexpress' });
  await expect(started).rejects.toBeInstanceOf(CommandError);
  await expect(started).rejects.toThrow(new RegExp(`^a server of the bench ${why}$`));
});
