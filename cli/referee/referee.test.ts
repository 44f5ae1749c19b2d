/** `smstwin referee` on files: what it prints, which reports it writes, and how it exits. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { CommandError } from '#io/command-error.ts';
import { judge } from '#judging/client/judge.ts';
import { Simulator } from '#src/simulator.ts';
import { exchangesOfHar } from '#verify/testkit/traffic-text.ts';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import { referee } from './referee.ts';
import { refereeSummary } from './referee-summary.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-referee-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

function fileNamed(name: string, text: string): string {
  const file = join(folder, `${++files}-${name}`);
  writeFileSync(file, text);
  return file;
}

/** The journal of a run: `act` makes requests; the clock is manual. */
function journalOf(act: (simulator: Simulator) => void): string {
  const simulator = new Simulator({ clock: 'manual', limits: { send: 1 } });
  act(simulator);
  return fileNamed('run.ndjson', simulator.journalText());
}

/** Two sends of one message: the second is a retry of a 429, so many milliseconds later. */
function throttledThenRetried(waitMs: number): string {
  return journalOf((simulator) => {
    sendBy(simulator, 0, { request_id: 'first', message: 'One' });
    sendBy(simulator, 0, { request_id: 'second', message: 'Two' });
    simulator.clock.advance(`${waitMs}ms`);
    sendBy(simulator, 0, { request_id: 'second', message: 'Two' });
  });
}

const rightJournal = throttledThenRetried(60_000);
const earlyJournal = journalOf((simulator) => {
  sendBy(simulator, 0, { request_id: 'first', message: 'One' });
  sendBy(simulator, 0, { request_id: 'second', message: 'Two' });
  simulator.clock.advance('16s');
  sendBy(simulator, 0, { request_id: 'second', message: 'Two' });
  simulator.clock.advance('44s');
  sendBy(simulator, 0, { request_id: 'second', message: 'Two' });
});

async function run(...argv: string[]) {
  let [out, errors] = ['', ''];
  const io = {
    out: (text: string) => {
      out += text;
    },
    error: (text: string) => {
      errors += text;
    },
    env: {},
    version: '1',
  };
  try {
    return { code: await referee(argv, io), out, errors };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { code: error.exitCode, out, errors: error.lines.join('\n') };
  }
}

/** A HAR file of sends by one key: milliseconds after the start, and how each was answered. */
function harOf(...sends: readonly { atMs: number; status: number; id?: string }[]): string {
  const entries = sends.map(({ atMs, status, id = 'a' }) => ({
    startedDateTime: new Date(Date.parse('2026-01-01T00:00:00Z') + atMs).toISOString(),
    time: 12,
    request: {
      method: 'POST',
      url: 'https://sms.example/api/v1/sms/send/',
      headers: [{ name: 'Authorization', value: 'Bearer smst_secret' }],
      postData: {
        mimeType: 'application/json',
        text: `{"to":"+12025550123","from":"+12025550101","message":"Hi","request_id":"${id}"}`,
      },
    },
    response: {
      status,
      headers: status === 429 ? [{ name: 'retry-after', value: '30' }] : [],
      content: { text: status < 300 ? '{"message_id":"m-1","status":"queued"}' : '{}' },
    },
  }));
  return JSON.stringify({ log: { version: '1.2', entries } });
}

test('a right client passes, exit 0', async () => {
  const { code, out } = await run(rightJournal);
  expect(code).toBe(0);
  expect(out).toContain('3 exchanges: ');
  expect(out).toContain(' 0 failed, 0 advice');
});

test('CLIENT-1 an early retry in a journal fails, with times, exchanges and what to do, exit 1', async () => {
  const { code, out } = await run(earlyJournal);
  expect(code).toBe(1);
  expect(out).toContain('FAILED  CLIENT-1');
  expect(out).toContain(
    'the retry arrived 44.0 s before the 429 allowed it (Retry-After: 60): wait that many seconds',
  );
  expect(out).toContain('acme, send, exchanges 2, 3');
});

test('CLIENT-1 an early retry in a HAR file fails, and its key is not printed', async () => {
  const file = fileNamed('run.har', harOf({ atMs: 0, status: 429 }, { atMs: 29_000, status: 202 }));
  const { code, out } = await run(file);
  expect(code).toBe(1);
  expect(out).toContain('the retry arrived 1.0 s before the 429 allowed it');
  expect(out).not.toContain('smst_secret');
});

test('a HAR file with a byte order mark is read', async () => {
  expect((await run(fileNamed('bom.har', `\uFEFF${harOf({ atMs: 0, status: 202 })}`))).code).toBe(
    0,
  );
});

test('a journal and an intents file with a byte order mark are read', async () => {
  const journal = fileNamed('bom.ndjson', `\uFEFF${readFileSync(rightJournal, 'utf8')}`);
  const said = { intent: 'one', to: '+12025550123', from: '+12025550101', message: 'One' };
  const line = JSON.stringify({ ...said, request_id: 'first', reported: 'accepted' });
  const intents = fileNamed('intents.ndjson', `\uFEFF${line}\n`);
  expect(await run(journal, '--intents', intents)).toMatchObject({ code: 0, errors: '' });
});

test('--partial judges a HAR file as one whose recording started late', async () => {
  const early = [
    { atMs: 0, status: 429, id: '' },
    { atMs: 9_000, status: 202, id: '' },
  ];
  const file = fileNamed('late.har', harOf(...early));
  expect((await run(file)).out).toContain('FAILED  CLIENT-1');
  expect((await run(file, '--partial')).out).not.toContain('FAILED  CLIENT-1');
});

test('--strict makes advice a failure', async () => {
  const bare = journalOf((simulator) => sendBy(simulator, 0, {}));
  expect((await run(bare)).out).toContain('ADVICE  CLIENT-4');
  expect((await run(bare)).code).toBe(0);
  expect((await run(bare, '--strict')).code).toBe(1);
});

test('--partial does not judge what depends on what comes', async () => {
  const open = fileNamed('open.har', harOf({ atMs: 0, status: 503 }));
  expect((await run(open)).out).toContain('FAILED  CLIENT-9');
  expect((await run(open, '--partial')).code).toBe(0);
});

test('--grace says how long after a 429 a request was still in flight', async () => {
  const covered = fileNamed(
    'covered.har',
    harOf(
      { atMs: 0, status: 429, id: 'a' },
      { atMs: 5_000, status: 429, id: 'b' },
      { atMs: 60_000, status: 202, id: 'a' },
      { atMs: 61_000, status: 202, id: 'b' },
    ),
  );
  expect((await run(covered)).out).toContain('ADVICE  CLIENT-2');
  expect((await run(covered, '--grace', '6s')).out).not.toContain('CLIENT-2');
});

test('--account judges one account, by name or by id', async () => {
  const { out } = await run(earlyJournal, '--account', 'acme');
  expect(out).toContain('4 exchanges');
  const { accounts } = new Simulator({ clock: 'manual' }).readyFile();
  expect((await run(earlyJournal, '--account', accounts[0]?.account_id ?? '')).code).toBe(1);
  expect(await run(earlyJournal, '--account', 'nemo')).toMatchObject({
    code: 2,
    errors: '--account nemo: the record has no such account',
  });
});

test('CLIENT-10 --intents compares what the client reported with what happened', async () => {
  const content = { to: '+12025550123', from: '+12025550101', message: 'Two' };
  const lines = [
    { intent: 'order-17', ...content, request_id: 'second' },
    { intent: 'order-17', ...content, request_id: 'second', reported: 'failed' },
  ];
  const intents = fileNamed('intents', lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const { code, out } = await run(rightJournal, '--intents', intents);
  expect(code).toBe(1);
  expect(out).toContain('order-17 was reported as failed, but the service accepted it');
});

test('a wrong line of an intents file is named, exit 2', async () => {
  const intents = fileNamed('intents', '{"intent":"a"}\n');
  expect(await run(rightJournal, '--intents', intents)).toMatchObject({
    code: 2,
    errors: expect.stringMatching(/intents: line 1: to: /),
  });
});

test('--expected excuses a known failure; one that has healed ends with exit 5', async () => {
  const expected = fileNamed(
    'expected.json',
    '{"expected":[{"rule":"CLIENT-1","reason":"known"},{"rule":"CLIENT-14","reason":"known"}]}',
  );
  const expectedFile = fileNamed('k.json', '{"expected":[{"rule":"CLIENT-1","reason":"known"}]}');
  expect(await run(earlyJournal, '--expected', expectedFile)).toMatchObject({
    code: 0,
    out: expect.stringContaining('EXPECTED  CLIENT-1'),
  });
  expect((await run(rightJournal, '--expected', expectedFile)).code).toBe(5);
  expect((await run(earlyJournal, '--expected', expected)).code).toBe(5);
});

test('--expected names all findings of a rule by its id, or one by the id of its result', async () => {
  const traffic = journalOf((simulator) => {
    for (const id of ['0', 'a', 'b']) sendBy(simulator, 0, { request_id: id, message: id });
    simulator.clock.advance('16s');
    for (const id of ['a', 'b']) sendBy(simulator, 0, { request_id: id, message: id });
    simulator.clock.advance('44s');
    sendBy(simulator, 0, { request_id: 'a', message: 'a' });
    simulator.clock.advance('60s');
    sendBy(simulator, 0, { request_id: 'b', message: 'b' });
  });
  const expecting = async (...names: string[]) => {
    const expected = names.map((name) => ({ case: name, reason: 'known' }));
    return (await run(traffic, '--expected', fileNamed('k.json', JSON.stringify({ expected }))))
      .code;
  };
  expect(await expecting()).toBe(1);
  expect(await expecting('CLIENT-1')).toBe(0);
  expect(await expecting('CLIENT-1 (1)')).toBe(1);
  expect(await expecting('CLIENT-1 (1)', 'CLIENT-1 (2)')).toBe(0);
  expect(await expecting('CLIENT-1', 'CLIENT-1 (9)')).toBe(5);
});

test('a record without any request exercises nothing, exit 4', async () => {
  expect((await run(journalOf(() => {}))).code).toBe(4);
  expect((await run(fileNamed('empty.har', '{"log":{"entries":[]}}'))).code).toBe(4);
});

test('--list prints the client rules without reading a file', async () => {
  const { code, out } = await run('--list');
  expect(code).toBe(0);
  expect(out).toMatch(/^CLIENT-16 +must +sends its key/m);
});

test.each([
  [[], 'name the recorded traffic: a journal, a recording or a HAR file'],
  [['--stric', 'x'], "unknown option '--stric' (Did you mean --strict?)"],
  [['x', '--grace', 'soon'], '--grace'],
  [['x', '--report', 'pdf=a.pdf'], '--report'],
])('wrong usage %j ends with exit 2 and one line', async (argv, line) => {
  const { code, errors } = await run(...argv);
  expect(code).toBe(2);
  expect(errors).toContain(line);
  expect(errors).not.toContain('\n');
});

test.each([
  ['missing.har', undefined, 'missing.har: there is no such file'],
  ['missing.ndjson', undefined, 'there is no such file'],
  ['broken.har', '{', 'it is JSON of another kind; expected a journal, a recording'],
  ['other.har', '{"log":{}}', 'not a HAR 1.2 file: log.entries'],
  ['broken.ndjson', 'nonsense\n', 'broken.ndjson'],
])(
  'an unreadable file %s ends with exit 2 and one line that names it',
  async (name, text, line) => {
    const file = text === undefined ? join(folder, name) : fileNamed(name, text);
    const { code, errors } = await run(file);
    expect(code).toBe(2);
    expect(errors).toContain(name);
    expect(errors).toContain(line);
    expect(errors).not.toContain('\n');
  },
);

test('--report json writes the report for programs', async () => {
  const file = join(folder, 'report.json');
  await run(earlyJournal, '--report', `json=${file}`);
  const report = JSON.parse(readFileSync(file, 'utf8'));
  expect(report).toMatchObject({ unattributable: 0, exchanges: 4 });
  expect(report.rules[0]).toMatchObject({
    id: 'CLIENT-1',
    level: 'must',
    verdict: 'failed',
    exercised: 2,
    findings: [{ endpoint: 'send', what: expect.stringContaining('44.0 s'), exchanges: [2, 3] }],
  });
});

test('--report html shows the timeline of the intent, the attempts beside the finding too', async () => {
  const file = join(folder, 'timeline.html');
  await run(earlyJournal, '--report', `html=${file}`);
  const text = readFileSync(file, 'utf8');
  const [, timeline = ''] = /<ol class="timeline">(.*?)<\/ol>/.exec(text) ?? [];
  expect(timeline.split('<li>').slice(1)).toEqual([
    expect.stringMatching(/\(\+0\.000 s\) 2: POST .* → 429, Retry-After: 60, .*\(finding\)/),
    expect.stringMatching(/\(\+16\.000 s\) 3: POST .* → 429, Retry-After: 44, .*\(finding\)/),
    expect.stringMatching(/\(\+60\.000 s\) 4: POST .* → 202, request_id second</),
  ]);
});

test.each([
  ['html', '<span class="badge advice">advice</span> CLIENT-4'],
  ['markdown', '| CLIENT-4 | advice |'],
  ['github', '1 advice'],
  ['junit', 'package="referee"'],
])('--report %s names the verdicts and the package of the referee', async (kind, text) => {
  const bare = journalOf((simulator) => sendBy(simulator, 0, {}));
  const file = join(folder, `advice.${kind}`);
  await run(bare, '--report', `${kind}=${file}`);
  expect(readFileSync(file, 'utf8')).toContain(text);
  expect(readFileSync(file, 'utf8')).not.toContain('conformance');
});

test.each(['junit', 'json', 'html', 'markdown', 'github'])(
  '--report %s names the broken rule and what happened, and replaces an earlier report',
  async (kind) => {
    const file = join(folder, `report.${kind}`);
    expect((await run(earlyJournal, '--report', `${kind}=${file}`)).code).toBe(1);
    expect((await run(earlyJournal, '--report', `${kind}=${file}`)).code).toBe(1);
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('CLIENT-1');
    expect(text).toContain('44.0 s before the 429 allowed it');
  },
);

test('a recording of a proxy is judged, and what its faults did is not a reply that the client saw', async () => {
  const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 9, 0, seconds)).toISOString();
  const line = (second: number, id: string, more: object) =>
    JSON.stringify({
      sent: at(second),
      answered: at(second),
      client: 'address:0123456789ab',
      ...more,
      request: {
        method: 'POST',
        path: '/api/v1/sms/send/',
        headers: { authorization: 'Bearer key:0123456789ab' },
        body: `{"from":"+12025550101","to":"+12125550150","message":"m","request_id":"${id}"}`,
      },
    });
  const lost = { fault: 'lost_response', reply: { status: 202, headers: {}, body: '{}' } };
  const taken = { reply: { status: 202, headers: {}, body: '{}' } };
  const lines = `${line(0, 'one', lost)}\n${line(5, 'two', taken)}\n`;
  const ended = await run(fileNamed('recorded.ndjson', lines));
  expect(ended.code).toBe(1);
  expect(ended.out).toContain('FAILED  CLIENT-3');
  expect(ended.out).toContain('key:0123456789ab, send');
  expect(ended.errors).toBe('');
  // The retry may have been in what is missing.
  const cut = await run(fileNamed('cut.ndjson', `${lines}{"sent":"cut`));
  expect(cut.code).toBe(0);
  expect(cut.errors).toMatch(
    /cut.ndjson: the file is incomplete: its end is cut off; what comes before it is read\n$/,
  );
});

test('a HAR file that ends in the midst is judged as a partial record, with a notice', async () => {
  const sends = [0, 100_000, 200_000].map((atMs) => ({ atMs, status: 503 }));
  const har = harOf(...sends);
  const cut = fileNamed('cut.har', har.slice(0, -40));
  const report = join(folder, 'cut.json');
  const { errors, out } = await run(cut, '--report', `json=${report}`);
  expect(errors).toMatch(
    /cut.har: the file is incomplete: its end is cut off; what comes before it is read\n$/,
  );
  expect(out).toContain('the file is incomplete');
  expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({
    exchanges: 2,
    notices: expect.arrayContaining([
      {
        what: expect.stringMatching(
          /cut.har: the file is incomplete: its end is cut off; what comes before it is read$/,
        ),
        exchanges: [],
      },
    ]),
  });
});

test('a finding with many exchanges of one intent reads each of its attempts a few times', async () => {
  const sends = Array.from({ length: 2_000 }, (_, at) => ({ atMs: at, status: 429 }));
  const report = judge(await exchangesOfHar(harOf(...sends)));
  const [intent] = report.intents.all;
  if (intent === undefined) throw new Error('the record has an intent');
  expect(intent.attempts).toHaveLength(2_000);
  let reads = 0;
  const attempts = new Proxy(intent.attempts, {
    get(all, key) {
      reads += 1;
      return Reflect.get(all, key);
    },
  });
  const what = { accountId: undefined, endpoint: 'send', what: 'x', exchanges: intent.attempts };
  const rules = report.rules.slice(0, 1).map((rule) => ({ ...rule, findings: [what] }));
  const intents = { ...report.intents, all: [{ ...intent, attempts }] };
  refereeSummary({ ...report, rules, intents }, { file: 'run.har', expected: [] });
  expect(reads).toBeLessThan(10 * 2_000);
});
