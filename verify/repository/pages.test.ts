/** Every command of a page is run by `npm run test:pages`, or is named with the reason. */
import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { commandsOf, linksOf } from '../testkit/doc-commands.ts';
import { entryOf, leftOut, pageContext, pages } from './pages.ts';

const all = pages.flatMap(commandsOf);

test('each command that the tests of the pages leave out, or know more about, is on a page', () => {
  const starts = [...Object.keys(leftOut), ...Object.keys(pageContext)];
  expect(starts.filter((start) => !all.some((line) => line.startsWith(start)))).toEqual([]);
});

test('no command installs but the first one and the package, or calls another machine, unless left out', () => {
  const run = all.filter((line) => entryOf(leftOut, line) === undefined);
  const installing = run.filter((line) => /npm (install|i|ci)\b/.test(line));
  expect([...new Set(installing)]).toEqual([
    'npm ci && npm start',
    'npm i -D ./smstwin-*.tgz vitest',
  ]);
  const hosts = run.flatMap((line) => line.match(/https?:\/\/[\w.]+/g) ?? []);
  expect([...new Set(hosts)].sort()).toEqual([
    'http://127.0.0.1',
    'https://sms.example.com',
    'https://staging.sms.example.com',
  ]);
});

/** Where readers begin: each of them finds what else there is. */
const starts = [
  'README.md',
  ...['client', 'qa', 'performance'].map((name) => `docs/start-${name}.md`),
];

test('the README or a start page leads to every page', () => {
  const found = starts.flatMap((page) =>
    linksOf(page).map((link) => posix.normalize(posix.join(page, '..', link))),
  );
  expect(pages.filter((page) => page !== 'README.md' && !found.includes(page))).toEqual([]);
});
