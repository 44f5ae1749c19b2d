import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '#io/command-error.ts';
import { readIntentsFile } from './intents-file.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-intents-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('wrong lines of an intents file are refused with every mistake of each', () => {
  const file = join(folder, 'intents.ndjson');
  const line = { intent: 'order-17', to: 12025550123, from: '+12025550100', reported: 'maybe' };
  writeFileSync(file, `\n${JSON.stringify(line)}\nno JSON\n\n{}\n`);
  expect(() => readIntentsFile(file)).toThrow(
    new UsageError(
      `${file}: line 2: to: expected a string, in quotes; got 12025550123`,
      `${file}: line 2: message: is missing: expected a string`,
      `${file}: line 2: reported: expected one of "accepted", "delivered", "failed", "unknown"; got "maybe"`,
      `${file}: line 3: not a JSON object`,
      `${file}: line 5: intent: is missing: expected a string`,
      `${file}: line 5: to: is missing: expected a string`,
      `${file}: line 5: from: is missing: expected a string`,
      `${file}: line 5: message: is missing: expected a string`,
    ),
  );
});

test('an intents file that does not exist is refused with what to do', () => {
  const file = join(folder, 'absent.ndjson');
  expect(() => readIntentsFile(file)).toThrow(
    new UsageError(`--intents ${file}: there is no such file; check the path`),
  );
});
