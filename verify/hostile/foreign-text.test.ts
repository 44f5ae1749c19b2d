/**
 * What a server or a client writes reaches a terminal and every report for people as plain text: no
 * control character, and no line that a CI log takes for a command.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { referee } from '#cli/referee/referee.ts';
import { replay } from '#cli/replay/replay-journal.ts';
import { banner } from '#cli/serve/banner.ts';
import { requestLine } from '#cli/serve/serve.ts';
import { conform } from '#conformance/main.ts';
import { withChangedLines } from '#judging/evidence/journal-line.ts';
import { Simulator } from '#src/simulator.ts';
import { hostileServers, hostileWords, obeyed, serveHostile } from './hostile-servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-foreign-'));
afterAll(() => rmSync(folder, { recursive: true }));

const kinds = ['markdown', 'github', 'html', 'junit'] as const;
const flagsFor = (name: string) =>
  kinds.flatMap((kind) => ['--report', `${kind}=${join(folder, `${name}.${kind}`)}`]);
const reportsOf = (name: string) =>
  kinds.map((kind) => readFileSync(join(folder, `${name}.${kind}`), 'utf8'));

test.each(['ids with control characters', 'hostile words'])(
  'conform prints a server of %s as plain text',
  async (name) => {
    const server = await serveHostile(hostileServers[name] ?? (() => {}));
    let printed = '';
    const out = (text: string) => {
      printed += text;
    };
    const flags = ['--api-key', 'smst_k', '--from', '+12025550101', '--to', '+12025550123'];
    const argv = [server.baseUrl, 'SEND-3', 'RES-2', 'READ-1', ...flags, '--timeout', '2s'];
    const signal = new AbortController().signal;
    const io = { out, error: out, signal };
    expect(await conform([...argv, ...flagsFor(name)], io)).toBe(1);
    server.close();
    expect(printed).toContain('\\u001b]0;PWNED');
    for (const text of [printed, ...reportsOf(name).slice(0, 2)]) expect(text).not.toMatch(obeyed);
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
          to: '+12025550123',
          from: '+12025550101',
          message: 'Hello',
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
  for (const text of [printed, ...reportsOf('referee').slice(0, 2)])
    expect(text).not.toMatch(obeyed);
});

test('the banner prints an account of a world file as plain text', async () => {
  const world = { accounts: [{ name: hostileWords, sims: [{ number: '+12025550101' }] }] };
  const simulator = new Simulator({ world });
  const served = { ...simulator.readyFile(), base_url: 'http://127.0.0.1:1', control_url: null };
  await simulator.close();
  const options = { settings: { world }, control: false } as const;
  const text = banner(served, options, { version: '1', env: {} });
  expect(text).toContain('\\u001b]0;PWNED');
  expect(text).not.toMatch(obeyed);
});

test('replay prints the requests and replies of a journal as plain text', async () => {
  const journal = join(folder, 'words.ndjson');
  const simulator = new Simulator({ clock: 'manual' }, { journal });
  const caller = { authorization: undefined, clientIp: hostileWords, forwardedFor: undefined };
  const head = { method: hostileWords, path: `/${hostileWords}`, query: '', body: hostileWords };
  simulator.handle({ ...head, ...caller, contentType: undefined });
  await simulator.close();
  const changed = withChangedLines(readFileSync(journal, 'utf8'), (line) =>
    line.replace(
      /("reply":\{"status":\d+).*\}\}/,
      (_, start) => `${start},"body":${JSON.stringify(hostileWords)}}`,
    ),
  );
  writeFileSync(journal, changed);
  for (const flags of [[], ['--json']]) {
    let printed = '';
    const out = (text: string) => {
      printed += text;
    };
    expect(await replay([journal, ...flags], { out, error: out, env: {}, version: '1' })).toBe(1);
    expect(printed).toContain('\\u001b]0;PWNED');
    expect(printed).not.toMatch(obeyed);
  }
});

test.each(['text', 'json'] as const)('the request log is plain text: %s', (format) => {
  const words = { method: hostileWords, code: hostileWords, account_id: hostileWords };
  const line = requestLine(format, {
    number: 1,
    at: '2026-01-01T00:00:00.000Z',
    endpoint: null,
    key_id: null,
    status: 404,
    ...words,
    duration_ms: 1,
    is_replay: false,
    fault: null,
    traceparent: null,
  });
  expect(line).toContain('\\u001b]0;PWNED');
  expect(line).not.toMatch(obeyed);
  if (format === 'json') expect(JSON.parse(line)).toMatchObject(words);
});
