/**
 * What a weekly run needs: a green that says what it tested, a comparison with last week, failures
 * that are judged again, and known ones that a run writes itself.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { allFlags, type Fake, fake, run } from '#verify/harness/fake-servers.ts';
import { conform } from './main.ts';

const folder = mkdtempSync(join(tmpdir(), 'conformance-weekly-'));
const file = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

let server: Fake | undefined;
afterEach(() => server?.close());

/** Statistics that never fail, or always; everything else is 401. */
async function statistics(state: { broken: boolean }): Promise<string> {
  server = await fake((request, response) => {
    const isKnown = request.headers.authorization !== undefined && request.url?.includes('stats');
    const statusOfKnown = state.broken ? 429 : 200;
    const status = isKnown ? statusOfKnown : 401;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end('{"messages": 1}');
  });
  return server.baseUrl;
}

const lastLine = (out: string) => out.trimEnd().split('\n').at(-1);

test('--require fails a run that did not test the rule, and the last line names it: exit 4', async () => {
  const url = await statistics({ broken: false });
  const argv = [url, '--api-key', 'smst_key', 'LIMIT-6/stats', 'SEND-4/fifty-at-once'];
  const without = await run(...argv);
  expect(without.code).toBe(0);
  expect(lastLine(without.out)).toBe('Not tested: 1 rule of 2: SEND-4.');
  expect((await run(...argv, '--require', 'LIMIT-6')).code).toBe(0);
  for (const rule of ['SEND-4', 'all', 'READ-1']) {
    const required = await run(...argv, '--require', rule);
    expect(required.code).toBe(4);
    expect(lastLine(required.out)).toContain('Required and not tested: ');
  }
});

test('--require of an unknown rule is refused: exit 2', async () => {
  const { code, err } = await run('http://127.0.0.1:9', '--require', 'SEND-99');
  expect(code).toBe(2);
  expect(err).toBe(
    'smstwin conform: --require SEND-99: expected the id of a rule, such as SEND-4, or all\n',
  );
});

test('a run that --timeout cut short has reached its budget of time: exit 6', async () => {
  const url = await statistics({ broken: false });
  const { code, out } = await run(url, ...allFlags, 'LIMIT-6/stats', 'ERR-3', '--timeout', '30s');
  expect(out).toContain('longer than --timeout allows');
  expect(code).toBe(6);
});

test('a whole run fits into the default of --timeout', async () => {
  const flags = [...allFlags, '--second-from', '+12025550111', '--other-api-key', 'smst_other'];
  const all = [...flags, '--exhausted-from', '+12025550131', '--profile', 'full', '--dry-run'];
  let out = '';
  const io = { out: (text: string) => (out += text), error: () => {} };
  expect(await conform(['http://127.0.0.1:9', ...all], io)).toBe(0);
  expect(out).toContain('Sends: about');
  expect(out).not.toContain('longer than --timeout allows');
});

test('--compare names what is new, fixed and newly skipped, whatever the exit code', async () => {
  const state = { broken: false };
  const url = await statistics(state);
  const argv = [url, '--api-key', 'smst_key', 'LIMIT-6/stats'];
  await run(...argv, '--report', `json=${file('sound')}`);
  state.broken = true;
  const report = ['--report', `json=${file('broken')}`];
  const worse = await run(...argv, '--compare', file('sound'), ...report);
  expect(worse.code).toBe(1);
  expect(worse.out).toMatch(/Since \S+, new failures: LIMIT-6\/stats\n/);
  const { comparison } = JSON.parse(readFileSync(file('broken'), 'utf8'));
  expect(comparison).toMatchObject({ newFailures: ['LIMIT-6/stats'], fixed: [] });
  state.broken = false;
  const better = await run(...argv, '--compare', file('broken'));
  expect(better.code).toBe(0);
  expect(better.out).toMatch(/Since \S+, fixed: LIMIT-6\/stats\n/);
  const less = await run(url, 'LIMIT-6/stats', '--compare', file('sound'));
  expect(less.out).toMatch(/Since \S+, newly skipped: LIMIT-6\/stats\n/);
});

test('--compare with a file that is not a report is refused in one line: exit 2', async () => {
  writeFileSync(file('other.json'), '{"results": []}');
  for (const name of ['other.json', 'none.json']) {
    const { code, err } = await run('http://127.0.0.1:9', '--compare', file(name));
    expect(code).toBe(2);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
    expect(err).toContain(`--compare ${file(name)}: `);
  }
});

test('--recheck calls a failure flaky that passes when it is judged again', async () => {
  const state = { broken: true };
  const url = await statistics(state);
  let out = '';
  const argv = [url, '--api-key', 'smst_key', 'LIMIT-6/stats', '--recheck'];
  const code = await conform(argv, {
    out: (text) => {
      out += text;
      state.broken = false;
    },
    error: () => {},
  });
  expect(code).toBe(1);
  expect(out).toContain('FLAKY  LIMIT-6/stats');
  expect(out).toContain('failed, and passed when judged again');
  state.broken = true;
  const lasting = await run(...argv);
  expect(lasting.out).toContain('FAILED  LIMIT-6/stats');
});

test('--write-expected writes a file that --expected reads: the next run is green', async () => {
  const url = await statistics({ broken: true });
  const argv = [url, '--api-key', 'smst_key', 'LIMIT-6/stats'];
  const expectedFile = file('known.json');
  expect((await run(...argv, '--write-expected', expectedFile)).code).toBe(1);
  const { expected } = JSON.parse(readFileSync(expectedFile, 'utf8'));
  expect(expected).toMatchObject([{ case: 'LIMIT-6/stats' }]);
  expect(expected[0].reason).toMatch(/^seen on \d{4}-\d\d-\d\d: expected /);
  const entry = { case: 'SEND-3/new-message-is-202', reason: 'ticket 7' };
  writeFileSync(expectedFile, JSON.stringify({ expected: [...expected, entry] }));
  const again = await run(...argv, '--expected', expectedFile, '--write-expected', expectedFile);
  expect(again.code).toBe(0);
  const { expected: kept } = JSON.parse(readFileSync(expectedFile, 'utf8'));
  expect(kept).toEqual([entry, ...expected]);
});

test('a silent endpoint costs --reply-timeout, not --timeout', async () => {
  server = await fake((request, response) => {
    if (request.url?.includes('stats')) return;
    response.writeHead(401).end('{}');
  });
  const { code, err } = await run(server.baseUrl, '--reply-timeout', '200ms', '--timeout', '2m');
  expect(code).toBe(3);
  expect(err).toContain('timed out');
});

test('--header goes with every request, and no report shows its value', async () => {
  const seen = new Set<string>();
  server = await fake((request, response) => {
    const gateway = `${request.headers['cf-access-client-secret']}`;
    seen.add(gateway);
    response.writeHead(401, { 'content-type': 'application/json' }).end(`{"echo": "${gateway}"}`);
  });
  const flags = ['--header', 'CF-Access-Client-Secret: s3cret-of-a-gateway', 'AUTH-3/missing-key'];
  const { out } = await run(
    server.baseUrl,
    ...allFlags,
    ...flags,
    '--report',
    `json=${file('gate')}`,
  );
  expect([...seen]).toEqual(['s3cret-of-a-gateway']);
  expect(out + readFileSync(file('gate'), 'utf8')).not.toContain('s3cret-of-a-gateway');
});

test.each([
  ['no colon', "expected 'Name: value'"],
  ['two words: x', "expected 'Name: value'"],
  ['Authorization: Bearer x', 'Authorization is written by smstwin itself'],
  ['X-A: a\nb', 'holds a character that no header can carry'],
])('--header %j is refused: exit 2', async (header, line) => {
  const { code, err } = await run('http://127.0.0.1:9', '--header', header);
  expect(code).toBe(2);
  expect(err).toContain(line);
  expect(err.trimEnd().split('\n')).toHaveLength(1);
});

test('a rule whose flags were given and that the target did not show: exit 4', async () => {
  server = await fake((request, response) => {
    const isSend = request.method === 'POST';
    const status = isSend ? 403 : 200;
    const hasKey = request.headers.authorization !== undefined;
    response.writeHead(hasKey ? status : 401, { 'content-type': 'application/json' });
    response.end(isSend ? '{"code": "from_number_not_found", "detail": "no"}' : '{}');
  });
  const { code, out } = await run(server.baseUrl, ...allFlags, 'LIMIT-6/stats', 'AUTH-5');
  expect(out).toMatch(/not_exercised +AUTH-5/);
  expect(code).toBe(4);
});

test('a busy harness judges no limit, and says so', async () => {
  let standsStillMs = 1_300;
  server = await fake((request, response) => {
    const isFlooded = request.url?.includes('received') === true;
    if (isFlooded) {
      // The harness shares this process.
      const end = performance.now() + standsStillMs;
      while (performance.now() < end);
      standsStillMs = 0;
    }
    const statusOfKnown = isFlooded ? 429 : 200;
    const status = request.headers.authorization === undefined ? 401 : statusOfKnown;
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"messages": 1}');
  });
  const { out, code } = await run(server.baseUrl, ...allFlags, 'LIMIT-6/stats', 'LIMIT-4');
  expect(out).toContain('NOTICE  LIMIT-7/slow-machine');
  expect(out).toContain('the harness stood still 1 time');
  expect(out).not.toContain('FAILED');
  expect(code).not.toBe(1);
});
