import { expect, test } from 'vitest';
import { UsageError } from '../config/command-error.ts';
import { replay } from './replay.ts';

const io = { out: () => {}, error: () => {}, env: {}, version: '1' };

test('an empty journal name is refused in one line', async () => {
  await expect(replay([''], io)).rejects.toThrow(
    new UsageError('journal: expected the name of a file; the value is empty'),
  );
});
