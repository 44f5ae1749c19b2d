import { expect, test } from 'vitest';
import { replay } from './replay.ts';
import { UsageError } from './usage-error.ts';

const io = { out: () => {}, error: () => {}, env: {}, version: '1' };

test('a journal without a name is refused in one line', async () => {
  await expect(replay([''], io)).rejects.toThrow(
    new UsageError(
      "command-argument value '' is invalid for argument 'journal'. Expected the name of a file.",
    ),
  );
});
