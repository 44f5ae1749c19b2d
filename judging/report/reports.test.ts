/** Files of known failures; and the texts of requests, replies and broken connections in reports. */
import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { run } from '#verify/harness/fake-servers.ts';
import { expectationsOf, weigh } from './expected.ts';
import { findingsOf } from './outcome.ts';
import type { Result } from './result.ts';
import { curlOf, middleCut, type Summary } from './summary.ts';
import { textReport } from './text.ts';

const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The lines that the command prints for such a file. */
async function complaints(path: string): Promise<readonly string[]> {
  const { code, err } = await run('http://127.0.0.1:9', '--expected', path);
  expect(code).toBe(2);
  return err.trimEnd().split('\n');
}

test('every mistake of a file of known failures is one line with its path in the file', async () => {
  const path = join(folder, 'known.yaml');
  const entries = [
    '  - { rule: SEND-3 }',
    '  - { rule: SEND-3, reason: 5 }',
    '  - { rule: SEND-3, reason: " " }',
    '  - { rule: [], reason: x }',
    '  - { rule: SEND-3, reason: x, since: May }',
    '  - { reason: x }',
    '  - { case: SEND-3/a, rule: SEND-3, reason: x }',
    '  - SEND-3',
  ];
  writeFileSync(path, `expected:\n${entries.join('\n')}\nexpect: []\n`);
  expect(await complaints(path)).toEqual(
    [
      'expected[0].reason: is missing: expected a string',
      'expected[1].reason: expected a string, in quotes; got 5',
      'expected[2].reason: expected at least one character; got ""',
      'expected[3].rule: expected a string; got a list of 0',
      'expected[4].since: this key is not known here',
      'expected[5]: expected either "case" or "rule"; got neither',
      'expected[6]: expected either "case" or "rule"; got both',
      'expected[7]: expected an object; got "SEND-3"',
      'expect: this key is not known here',
    ].map((line) => `smstwin conform: known.yaml: ${line}`),
  );
});

test.each([
  ['empty.yaml', '', 'it is empty'],
  ['list.json', '[1]', 'expected an object; got a list of 1'],
  ['other.json', '{}', 'expected: is missing: expected a list'],
  ['broken.json', '{"expected": []', /at line 1, column 16$/],
  ['broken.yaml', 'expected: [\n', /at line 2, column 1$/],
])('%s is refused in one line', async (name, text, line) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  const [found, ...more] = await complaints(path);
  expect(more).toEqual([]);
  const start = `smstwin conform: ${name}: `;
  expect(found?.startsWith(start)).toBe(true);
  expect(found?.slice(start.length)).toMatch(line);
});

test('a file that cannot be read is named, and so is the flag', async () => {
  const missing = join(folder, 'none.json');
  const start = 'smstwin conform: --expected';
  expect(await complaints(missing)).toEqual([
    `${start} ${missing}: there is no such file; check the path`,
  ]);
  expect(await complaints(folder)).toEqual([
    `${start} ${folder}: it is a folder, not a plain file`,
  ]);
  if (existsSync('/dev/zero')) {
    const refusal = `${start} /dev/zero: it is a pipe or a device, not a plain file`;
    expect(await complaints('/dev/zero')).toEqual([refusal]);
  }
  const file = join(folder, 'large.yaml');
  writeFileSync(file, '');
  truncateSync(file, 2 ** 20 + 1);
  expect(await complaints(file)).toEqual([
    `${start} ${file}: it has 1048577 bytes, and at most 1 MiB are read`,
  ]);
});

test('the reason of a new failure holds no id and no time of the run', () => {
  const failed = (actual: string) => ({
    id: 'SEND-3/a',
    subject: 'SEND-3',
    verdict: 'failed',
    actual,
  });
  const reasonOf = (actual: string) =>
    expectationsOf([], [failed(actual) as unknown as Result], weigh([], [], []), () => actual)[0]
      ?.reason;
  const runs = [
    'read 1e7ac6df-e26a-4890-8900-f9dd16e6c53a of st0mhx81k4af1 at 2026-11-26T06:21:28.004Z (+2.4 s), 429',
    'read 2e7ac6df-e26a-4890-8900-f9dd16e6c53b of st0mhx99zz0b2 at 2026-12-01T07:00:00.123Z (+11.9 s), 429',
  ];
  expect(new Set(runs.map(reasonOf))).toEqual(
    new Set(['read <id> of <id> at <time> (<time>), 429']),
  );
});

/** A failure with this expected and actual text. */
function failure(id: string, expected: string, actual: string, more: Partial<Result> = {}): Result {
  const [subject = ''] = id.split('/');
  const verdict = 'failed';
  return { id, subject, verdict, expected, actual, ...more } as unknown as Result;
}

function findingIds(results: readonly Result[]): string[][] {
  return findingsOf(results, weigh([], [], [])).map((finding) =>
    finding.results.map(({ id }) => id),
  );
}

test('failures that differ in ids and times alone are one finding', () => {
  const [one, other] = ['1', '2'].map((digit) => `"${digit}e7ac6df-e26a-4890-8900-f9dd16e6c53a"`);
  const time = '"2026-03-01T10:00:00.070Z"';
  expect(
    findingIds([
      failure('RES-6/a', `device_id of a read ${other}`, `${one}`),
      failure('RES-6/b', `device_id of a read ${one}`, `${other}`),
      failure('RES-2/a', `message_id of a read ${other}`, `${one}2`),
      failure('RES-4/a', 'created_at of a read now', time),
      // It saw the same, so another expectation is no other cause.
      failure('RES-4/b', 'created_at of a 202 now', time),
    ]),
  ).toEqual([['RES-6/a', 'RES-6/b'], ['RES-2/a'], ['RES-4/a', 'RES-4/b']]);
});

test('the rule that says most about a cause comes before the others that fail of it', () => {
  const url = 'http://x/api/v1/sms/1e7ac6df-e26a-4890-8900-f9dd16e6c53a/';
  const broken = { ...request, method: 'GET', status: 429, url };
  const refused = (id: string, seconds: number) =>
    failure(id, 'status 200', `429 {"detail":"Wait ${seconds} s."}`, { broken });
  const atSend = { broken: { ...request, status: 429 } };
  expect(
    findingIds([
      refused('SVC-2/sent-later', 12),
      failure('ERR-3/a', 'Retry-After with a number', '429 {}', atSend),
      failure('LIMIT-7/a', '120', '60'),
      failure('LIMIT-4/a', 'no 429', '429 after 4, and after 105 with a revoked key'),
      failure('AUTH-6/a', 'no 429', '429 after 4, and after 105 with a revoked key'),
      refused('READ-3/many-reads', 3),
    ]),
  ).toEqual([
    ['AUTH-6/a', 'LIMIT-4/a'],
    ['READ-3/many-reads', 'SVC-2/sent-later'],
    ['ERR-3/a'],
    ['LIMIT-7/a'],
  ]);
});

const request = {
  method: 'POST',
  url: 'http://x/api/v1/sms/send/',
  requestHeaders: { 'content-type': 'application/json' },
  requestBody: '{}',
  status: 202,
  replyHeaders: {},
  replyBody: '',
  durationMs: 1,
};

test.each([
  ['a HEAD has no body to wait for', { method: 'HEAD', requestBody: undefined }, 'curl -i --head '],
  ['a body that begins with @ is no file', { requestBody: '@x' }, " --data-raw '@x'"],
  ['a GET with a body stays a GET', { method: 'GET' }, 'curl -i -X GET '],
  ['a body without a type gets none', { requestHeaders: {} }, " -H 'Content-Type:' "],
  ['an empty header is sent', { requestHeaders: { 'X-Name': '' } }, " -H 'X-Name;' "],
  [
    'the key is read from the environment',
    { requestHeaders: { Authorization: 'Bearer sk_1…' } },
    ' -H "Authorization: Bearer $SMSTWIN_API_KEY" ',
  ],
])('the command that repeats a request: %s', (_, changed, part) => {
  expect(curlOf({ ...request, ...changed })).toContain(part);
});

test('the command that repeats a request adds no header that the request has', () => {
  for (const name of ['content-type', 'Content-Type'])
    expect(curlOf({ ...request, requestHeaders: { [name]: 'text/plain' } })).toBe(
      `curl -i -X POST 'http://x/api/v1/sms/send/' -H '${name}: text/plain' --data-raw '{}'`,
    );
});

test('a text that is cut in its middle says how many characters it lacks', () => {
  for (const longest of [4, 5])
    expect(middleCut('abcdefgh', longest)).toBe(
      longest === 4 ? 'ab… (4 more) …gh' : 'ab… (3 more) …fgh',
    );
});

test('a connection that broke once broke 1 time', () => {
  const summary: Summary = {
    title: 'Conformance',
    baseUrl: 'http://x',
    startedAt: '',
    durationMs: 0,
    sends: 0,
    throttled: 0,
    interruptions: { ECONNRESET: 1, EPIPE: 2 },
    discovered: { answers: {}, undetermined: {} },
    sentenceOf: () => '',
    exitCode: 0,
    interrupted: false,
    reachable: true,
    counts: {} as Summary['counts'],
    rules: [],
    results: [],
    weighed: weigh([], [], []),
  };
  const text = textReport(summary);
  expect(text).toContain('The connection broke 1 time (ECONNRESET);');
  expect(text).toContain('The connection broke 2 times (EPIPE);');
});
