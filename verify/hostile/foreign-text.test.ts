/**
 * What a server or a client writes reaches a terminal and every report for people as plain text: no
 * control character, and no line that a CI log takes for a command.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { conform } from '../../conformance/main.ts';
import { referee } from '../../src/cli/referee.ts';
import { hostileServers, hostileWords, serveHostile } from './hostile-servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-foreign-'));
afterAll(() => rmSync(folder, { recursive: true }));

const kinds = ['tap', 'markdown', 'github', 'html', 'junit'];
const flagsFor = (name: string) =>
  kinds.flatMap((kind) => ['--report', `${kind}=${join(folder, `${name}.${kind}`)}`]);
const reportsOf = (name: string) =>
  kinds.map((kind) => readFileSync(join(folder, `${name}.${kind}`), 'utf8'));

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys.
const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f\u009b]|^\s*::(?:error::|add-mask)|##\[/m;

test.each(['ids with control characters', 'hostile words'])(
  'conform prints a server of %s as plain text',
  async (name) => {
    const server = await serveHostile(hostileServers[name] ?? (() => {}));
    let printed = '';
    const stdout = (text: string) => {
      printed += text;
    };
    const flags = ['--api-key', 'smst_k', '--from', '+12025550101', '--to', '+12025550123'];
    const argv = [server.baseUrl, 'SEND-3', 'RES-2', 'READ-1', ...flags, '--timeout', '2s'];
    const signal = new AbortController().signal;
    const io = { stdout, stderr: stdout, signal };
    expect(await conform([...argv, ...flagsFor(name)], io)).toBe(1);
    server.close();
    expect(printed).toContain('\\u001b]0;PWNED');
    for (const text of [printed, ...reportsOf(name).slice(0, 3)]) expect(text).not.toMatch(obeyed);
  },
);

test('referee prints the request_ids of a client as plain text', async () => {
  const entries = [0, 1].map((n) => ({
    startedDateTime: new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString(),
    time: 1,
    request: {
      method: 'POST',
      url: 'http://127.0.0.1/api/v1/sms/send/',
      headers: [{ name: 'authorization', value: 'Bearer smst_k' }],
      postData: {
        text: JSON.stringify({
          ...{ to: '+12025550123', from: '+12025550101', message: 'Hello' },
          request_id: `${hostileWords}${n}`,
        }),
      },
    },
    response: { status: 500, headers: [], content: { text: '{"detail":"x"}' } },
  }));
  const file = join(folder, 'words.har');
  writeFileSync(file, JSON.stringify({ log: { version: '1.2', entries } }));
  let printed = '';
  const out = (text: string) => {
    printed += text;
  };
  const io = { out, error: out, env: {}, version: '1' };
  expect(await referee([file, ...flagsFor('referee')], io)).toBe(1);
  expect(printed).toContain('\\u001b]0;PWNED');
  for (const text of [printed, ...reportsOf('referee').slice(0, 3)])
    expect(text).not.toMatch(obeyed);
});
