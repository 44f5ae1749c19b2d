/** Every command of a page is run by `npm run test:pages`, or is named with the reason. */
import { expect, test } from 'vitest';
import { commandsOf } from '../testkit/doc-commands.ts';
import { entryOf, leftOut, pages, told } from './pages.ts';

const all = pages.flatMap(commandsOf);

test('each command that the tests of the pages leave out, or know more about, is on a page', () => {
  const starts = [...Object.keys(leftOut), ...Object.keys(told)];
  expect(starts.filter((start) => !all.some((line) => line.startsWith(start)))).toEqual([]);
});

test('no command installs over the packages of a checkout, or calls another machine, unless left out', () => {
  const run = all.filter((line) => entryOf(leftOut, line) === undefined);
  expect(run.filter((line) => /npm (install|i|ci)\b/.test(line))).toEqual(['npm ci && npm start']);
  const hosts = run.flatMap((line) => line.match(/https?:\/\/[\w.]+/g) ?? []);
  expect([...new Set(hosts)].sort()).toEqual([
    'http://127.0.0.1',
    'https://sms.example.com',
    'https://staging.sms.example.com',
  ]);
});
