/** The files that a fleet reads at its next start. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { readState, refuseOtherLayout, writeState } from './state-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'state-file-'));
const file = join(folder, 'state.json');
afterAll(() => rmSync(folder, { recursive: true }));

const isNumbers = z.array(z.number());

test('a file is replaced whole, is for its user alone, and leaves nothing beside it', () => {
  expect(readState(file, isNumbers)).toBeUndefined();
  for (const numbers of [[1], [1, 2]]) {
    writeState(file, numbers);
    expect(readState(file, isNumbers)).toEqual(numbers);
  }
  expect([statSync(file).mode & 0o777, readdirSync(folder)]).toEqual([0o600, ['state.json']]);
});

test.each(['', '[1', '{}', 'null', '\0\0\0'])('a torn or foreign file is refused: %j', (text) => {
  writeFileSync(file, text);
  const refusal = { exitCode: 2, lines: [expect.stringContaining(file)] };
  expect(() => readState(file, isNumbers)).toThrow(expect.objectContaining(refusal));
});

test.each(['', '{', 'null', '[]', '7', '{"shards":"2","wide":false}', '{"shards":2}'])(
  'fleet.json is refused in one line: %j',
  (text) => {
    writeFileSync(join(folder, 'fleet.json'), text);
    const refuse = () => refuseOtherLayout(folder, { shards: 2, wide: false });
    expect(refuse).toThrow(expect.objectContaining({ exitCode: 2, lines: [expect.anything()] }));
  },
);

test('a file that cannot be written is one line with the reason', () => {
  const inFile = join(file, 'state.json');
  expect(() => writeState(inFile, [])).toThrow(`${inFile}: cannot be written (`);
  expect(readFileSync(file, 'utf8')).not.toBe('[]');
});
