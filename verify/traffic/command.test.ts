/**
 * `smstwin conform --traffic`: every kind of file gives the same verdicts; excerpts, exit codes,
 * what is discovered, what drifted.
 */
import { linkSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { conform } from '#conformance/main.ts';
import type { TrafficExchange } from '#contract/exchange.ts';
import { readTraffic } from '#judging/evidence/read-traffic.ts';
import { Simulator } from '#src/simulator.ts';
import { sendBy } from '../testkit/twin/twin.ts';
import { asHar, asRecording } from './files.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-traffic-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

function fileOf(name: string, content: string | Buffer): string {
  const file = join(folder, `${++files}-${name}`);
  writeFileSync(file, content);
  return file;
}

async function run(...argv: readonly string[]) {
  const said = { out: '', error: '' };
  const report = join(folder, `${++files}-report.json`);
  const code = await conform([...argv, '--report', `json=${report}`], {
    out: (text) => {
      said.out += text;
    },
    error: (text) => {
      said.error += text;
    },
    env: {},
    readTraffic,
  });
  const results = () => JSON.parse(readFileSync(report, 'utf8')).results as Verdict[];
  return { code, ...said, results };
}

interface Verdict {
  readonly subject: string;
  readonly verdict: string;
  readonly exchanges: readonly unknown[];
  readonly timeline?: readonly string[];
}

const start = Date.parse('2026-02-03T10:00:00.000Z');
const ids = [
  '11111111-1111-4111-8111-111111111111',
  '22222222-2222-4222-8222-222222222222',
] as const;

function message(more: object = {}): string {
  return JSON.stringify({
    status: 'queued',
    message_id: ids[0],
    request_id: 'order-1',
    device_id: '33333333-3333-4333-8333-333333333333',
    from_number: '+12025550101',
    to: '+12125550150',
    created_at: '2026-02-03T10:00:00.010Z',
    ...more,
  });
}

function exchange(
  second: number,
  asked: Partial<TrafficExchange>,
  status: number,
  body: string,
): TrafficExchange {
  const sentAt = start + second * 1000;
  return {
    sentAt,
    answeredAt: sentAt + 20,
    precisionMs: 1,
    host: '',
    method: 'GET',
    path: `/api/v1/sms/${ids[0]}/`,
    query: '',
    headers: { authorization: 'Bearer key:0123456789ab', 'content-type': 'application/json' },
    showsCredential: true,
    body: '',
    reply: { status, headers: { 'content-type': 'application/json' }, body },
    isForced: false,
    isSeen: true,
    ...asked,
  };
}

const send = {
  method: 'POST',
  path: '/api/v1/sms/send/',
  body: '{"to":"+12125550150","from":"+12025550101","message":"m","request_id":"order-1"}',
};
const sound = [
  exchange(0, send, 202, message()),
  exchange(10, {}, 200, message({ status: 'sending' })),
  exchange(30, send, 200, message()),
  exchange(40, {}, 200, message({ status: 'delivered' })),
];
const wrongReplay = [...sound.slice(0, 2), exchange(30, send, 200, message({ status: 'sending' }))];

test('a recording, a HAR file and both gzipped give the same verdicts', async () => {
  const texts = [asRecording(sound), asHar(sound)];
  const runs = [];
  for (const text of texts) {
    for (const content of [text, gzipSync(text)])
      runs.push(await run('--traffic', fileOf('week', content)));
  }
  const [first, ...others] = runs.map(({ results }) =>
    results().map(({ subject, verdict }) => `${subject} ${verdict}`),
  );
  expect(runs.map(({ code, error }) => [code, error])).toEqual(runs.map(() => [0, '']));
  for (const one of others) expect(one).toEqual(first);
  expect(first).toContain('SEND-4 passed');
  expect(first).toContain('LIMIT-1 skipped');
  expect(first).toContain('SVC-1 skipped');
});

test('a failure comes with the exchanges that prove it, in every report', async () => {
  const html = join(folder, 'failed.html');
  const file = fileOf('week.ndjson', asRecording(wrongReplay));
  const { code, out, results } = await run('--traffic', file, 'SEND-4', '--report', `html=${html}`);
  expect(code).toBe(1);
  const [failed] = results();
  expect(failed?.exchanges).toHaveLength(2);
  expect(failed?.timeline).toEqual([
    '2026-02-03T10:00:00.000Z + 20 ms: POST /api/v1/sms/send/ answered 202',
    '2026-02-03T10:00:30.000Z + 20 ms: POST /api/v1/sms/send/ answered 200',
  ]);
  expect(out).toContain('FAILED  SEND-4/traffic');
  expect(out).toContain('answered 202');
  expect(readFileSync(html, 'utf8')).toContain('POST /api/v1/sms/send/ → 202');
});

test('a reply whose body was not recorded proves nothing, but its request counts for limits', async () => {
  const isBodiless = [0, 2, 3];
  const bodiless = sound.map((one, at) =>
    isBodiless.includes(at) && one.reply
      ? { ...one, reply: { ...one.reply, body: undefined } }
      : one,
  );
  for (const text of [asRecording(bodiless), asHar(bodiless)]) {
    const { code, results } = await run('--traffic', fileOf('bodiless', text));
    const verdicts = results().filter(({ verdict }) => verdict === 'passed');
    expect([code, verdicts.map(({ subject }) => subject)]).toEqual([
      0,
      expect.arrayContaining(['RES-1']),
    ]);
  }
  const flood = Array.from({ length: 300 }, (_, at) =>
    exchange(at === 0 ? 0 : 325 + at / 100, send, 202, message()),
  );
  const counted = flood.map((one) => {
    const headers = { ...one.reply?.headers, date: new Date(one.sentAt).toUTCString() };
    return { ...one, reply: one.reply && { ...one.reply, headers, body: undefined } };
  });
  const all = fileOf('flood', asRecording(counted));
  const { results } = await run('--traffic', all, '--traffic-complete', 'LIMIT-1');
  expect(results()).toMatchObject([{ verdict: 'failed' }]);
});

test('several files are merged by their times, and arguments that name files are more of them', async () => {
  const later = fileOf('a.ndjson', asRecording(wrongReplay.slice(2)));
  const earlier = fileOf('b.ndjson', asRecording(wrongReplay.slice(0, 2)));
  expect((await run('--traffic', later, earlier, 'SEND-4')).code).toBe(1);
  expect((await run('--traffic', later, 'SEND-4')).code).toBe(4);
});

test('a journal is judged, and what an operation changes cuts it', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  const again = () => sendBy(simulator, 0, { request_id: 'a', message: 'm' });
  again();
  simulator.clock.advance('30s');
  again();
  simulator.limits.patch({ send: 5 });
  again();
  const { code, results } = await run('--traffic', fileOf('run.ndjson', simulator.journalText()));
  expect(code).toBe(0);
  expect(results().find(({ subject }) => subject === 'SEND-4')?.verdict).toBe('passed');
});

test("ERR-3 a 429 that a journal was scripted to answer is not judged as its limiter's", async () => {
  const simulator = new Simulator({ clock: 'manual' });
  const outcome = { to: '+1202555012*', ends: 'refused', refuse: 'throttled' } as const;
  for (const put of [false, true]) {
    if (put) simulator.outcomes.put({ outcomes: [outcome] });
    const to = put ? '+12025550123' : '+12025550174';
    expect(sendBy(simulator, 0, { to, message: `${put}` }).status).toBe(429);
    simulator.clock.advance('1s');
    sendBy(simulator, 0, { to: '+12025550199', message: `${put}` });
    simulator.clock.advance('1h');
  }
  const { results } = await run(
    '--traffic',
    fileOf('run.ndjson', simulator.journalText()),
    'ERR-3',
  );
  expect(results()).toMatchObject([{ subject: 'ERR-3', verdict: 'not_exercised' }]);
});

test.each([
  ['ndjson', asRecording],
  ['har', asHar],
])('ERR-3 in a file .%s, a 429 that every world scripts shows no limiter', async (type, textOf) => {
  const headers = { 'content-type': 'application/json', 'retry-after': '60' };
  const reply = { status: 429, headers, body: '{"detail":"Expected in 60 seconds."}' };
  const verdictFor = async (to: string) => {
    const body = JSON.stringify({ ...JSON.parse(send.body), to, request_id: '' });
    const refused = exchange(0, { ...send, body, reply }, 429, '');
    const exchanges = [refused, exchange(1, send, 202, message())];
    const { results } = await run('--traffic', fileOf(`sends.${type}`, textOf(exchanges)), 'ERR-3');
    return results()[0]?.verdict;
  };
  expect(await verdictFor('+12025550174')).toBe('not_exercised');
  expect(await verdictFor('+12025550175')).toBe('passed');
});

test('a changed byte in a journal is an error, not a verdict', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  sendBy(simulator, 0, { message: 'Hi' });
  const file = fileOf('run.ndjson', simulator.journalText().replace('Hi', 'Ho'));
  const { code, error } = await run('--traffic', file);
  expect([code, error]).toEqual([2, expect.stringContaining('run.ndjson: line 2 is damaged')]);
});

test('what a fault did at the proxy is not blamed on the service', async () => {
  const text = asRecording([sound[0], exchange(30, send, 503, '{}')].flatMap((one) => one ?? []));
  const struck = text.replace(
    /"client":"([^"]+)"(?=.*"status":503)/,
    '"client":"$1","fault":"status"',
  );
  expect((await run('--traffic', fileOf('faults.ndjson', struck))).code).toBe(0);
});

test('lines that cannot be read are counted, and a file of another kind is refused', async () => {
  const file = fileOf('cut.ndjson', asRecording(sound).slice(40, -40));
  const { error } = await run('--traffic', file);
  expect(error).toMatch(
    /cut.ndjson: 1 line cannot be read; skipped \(line 1\)\n.*the file is incomplete.*\n$/,
  );
  const ends = [
    await run('--traffic', fileOf('text', 'hello')),
    await run('--traffic', fileOf('empty', '')),
    await run('--traffic', join(folder, 'none')),
    await run('--traffic', file, 'http://127.0.0.1:1'),
    await run('--traffic-complete'),
    await run('--drift', file),
  ];
  expect(ends.map(({ code }) => code)).toEqual(ends.map(() => 2));
  for (const { error: line } of ends) expect(line.trimEnd().split('\n')).toHaveLength(1);
});

test('a file that ends in the midst is read up to there, with a notice in every report', async () => {
  const [recording, har] = [asRecording(sound), asHar(sound)];
  const journaling = new Simulator({ clock: 'manual' });
  for (const message of ['a', 'b']) sendBy(journaling, 0, { message });
  const files = [
    fileOf('cut.ndjson', recording.slice(0, -40)),
    fileOf('cut.har', har.slice(0, -300)),
    fileOf('tail.har', har.slice(0, -1)),
    fileOf('entry.har', har.slice(0, har.indexOf('"entries"') + 11)),
    fileOf('cut.har.gz', gzipSync(har).subarray(0, -9)),
    fileOf('cut.ndjson.gz', gzipSync(recording).subarray(0, -60)),
    fileOf('run.ndjson', journaling.journalText().trimEnd().slice(0, -40)),
  ];
  for (const file of files) {
    const html = join(folder, 'cut.html');
    const { out, error, results } = await run('--traffic', file, '--report', `html=${html}`);
    const line = `${basename(file)}: the file is incomplete: its end is cut off; what comes before it is read`;
    expect(error).toBe(`smstwin conform: ${line}\n`);
    expect(results()).toContainEqual(expect.objectContaining({ verdict: 'notice', reason: line }));
    expect(readFileSync(html, 'utf8')).toContain(line);
    expect(out).toContain(' of 43 rules passed');
    const refused = await run('--traffic', file, '--traffic-complete');
    expect([refused.code, refused.error]).toEqual([
      2,
      `smstwin conform: ${line}: leave out --traffic-complete\n`,
    ]);
  }
  const head = await run('--traffic', fileOf('head.gz', gzipSync(har).subarray(0, 12)));
  expect(head.error).toContain('head.gz: the compressed file is incomplete; copy it again');
});

test('what is no whole line or entry in the middle of a file is not taken for its end', async () => {
  const journal = new Simulator({ clock: 'manual' });
  for (const message of ['a', 'b', 'c']) sendBy(journal, 0, { message });
  const lines = journal.journalText().split('\n');
  const broken = lines.map((line, at) => (at === 2 ? line.slice(0, -9) : line)).join('\n');
  expect((await run('--traffic', fileOf('run.ndjson', broken))).error).toContain(
    'line 3 is damaged',
  );
  for (const rest of [',', '{}', ']']) {
    expect((await run('--traffic', fileOf('more.har', asHar(sound) + rest))).error).toContain(
      'more.har: not JSON; expected a HAR 1.2 file',
    );
  }
  const returns = lines.join('\r\n');
  const { out, error } = await run('--traffic', fileOf('returns.ndjson', returns));
  expect([out.includes('3 exchanges'), error]).toEqual([true, '']);
});

test('--discover writes the answers that the traffic shows, and no templates', async () => {
  const found = join(folder, 'found.json');
  const unknown = exchange(60, { path: `/api/v1/sms/${ids[1]}/` }, 404, '{"detail":"Not found."}');
  const extra = { ...send, body: send.body.replace('{', '{"priority":1,') };
  const { body } = send;
  const invalid = {
    ...send,
    body: body.replace('"+12125550150"', '"x"').replace(/,"request_id.*/, '}'),
  };
  const worded = exchange(80, invalid, 400, '{"problems":[{"at":"/to","text":"no number"}]}');
  const traffic = [...sound, unknown, exchange(70, extra, 200, message()), worded];
  await run('--traffic', fileOf('week.ndjson', asRecording(traffic)), '--discover', found);
  expect(JSON.parse(readFileSync(found, 'utf8'))).toEqual({
    notFoundBody: 'detail_only',
    replayDifferentBody: 'return_original',
  });
  const usual = exchange(80, invalid, 400, '{"code":"to","detail":"no number"}');
  const none = exchange(90, { ...send, body: '' }, 400, '{"code":"to","detail":"no number"}');
  const moved = exchange(95, { path: '/api/v1/account/stats' }, 308, '');
  const more = asRecording([...sound, usual, none, moved]);
  await run('--traffic', fileOf('more.ndjson', more), '--discover', found);
  const answers = { errorBody: 'code_detail', trailingSlash: 'redirect' };
  expect(JSON.parse(readFileSync(found, 'utf8'))).toEqual(answers);
});

test('--drift prints what changed since an older recording, and ends with 1', async () => {
  const unknown = { path: `/api/v1/sms/${ids[1]}/` };
  const before = [...sound, exchange(60, unknown, 404, '{"detail":"Not found."}')];
  const after = [...wrongReplay, exchange(60, unknown, 404, '{"code":"not_found","detail":"-"}')];
  const old = fileOf('old.ndjson', asRecording(before));
  const now = await run('--traffic', fileOf('new.ndjson', asRecording(after)), '--drift', old);
  expect(now.code).toBe(1);
  expect(now.out).toMatch(/SEND-4 +passed +failed/);
  expect(now.out).toMatch(/notFoundBody +detail_only +code_detail/);
  expect(now.out).toMatch(/GET read 404: code string +never +always/);
  const same = await run('--traffic', old, '--drift', old);
  expect([same.code, same.out]).toEqual([0, expect.stringContaining('Nothing drifted.')]);
});

test('a body that was left out is unknown, in a recording and in a HAR file', async () => {
  const later = sound.map((one) => ({ ...one, sentAt: one.sentAt + 60_000 }));
  const omitted = asRecording(later).replaceAll(/"body":"((?:[^"\\]|\\.)*)"/g, '"omitted":9');
  const bare = (size: number) =>
    asHar(later)
      .replaceAll(/"size":\d+,("mimeType":"[^"]*"),"text":"(?:[^"\\]|\\.)*"/g, `"size":${size},$1`)
      .replaceAll(/,"postData":\{[^}]*\}"\}/g, '');
  for (const text of [omitted, bare(120), bare(-1), bare(0)]) {
    const file = fileOf('bare', text);
    const { code, results } = await run('--traffic', file);
    const verdicts = results().map(({ verdict }) => verdict);
    expect([code, verdicts.filter((one) => one === 'failed')]).toEqual([4, []]);
  }
});

test('an exchange that was read twice is counted once', async () => {
  const text = asRecording(sound);
  const file = fileOf('week.ndjson', text);
  const zipped = gzipSync(text);
  const runs = [
    await run('--traffic', file, '--traffic', file),
    await run('--traffic', file, '--traffic', fileOf('week.ndjson.gz', zipped)),
    await run('--traffic', fileOf('both.gz', Buffer.concat([zipped, zipped]))),
  ];
  for (const { code, error } of runs)
    expect([code, error]).toEqual([0, 'smstwin conform: 4 exchanges read twice; counted once\n']);
});

test('equal calls of one moment are all counted', async () => {
  const call = exchange(0, { path: '/api/v1/account/stats/' }, 200, '{}');
  const calls = Array.from({ length: 6 }, () => call);
  const { out } = await run('--traffic', fileOf('calls.ndjson', asRecording([...sound, ...calls])));
  expect(out).toContain('10 exchanges');
});

test('an input is never written, under whatever name', async () => {
  const file = fileOf('week.ndjson', asRecording(sound));
  const [link, hard] = [join(folder, 'link'), join(folder, 'hard')];
  symlinkSync(file, link);
  linkSync(file, hard);
  const outputs = [
    ['--discover', file],
    ['--report', `json=${link}`],
    ['--write-expected', hard],
  ];
  const other = fileOf('other.ndjson', asRecording(sound));
  for (const output of outputs) {
    for (const input of [
      ['--traffic', file],
      ['--traffic', other, '--drift', file],
    ]) {
      const { code, error } = await run(...input, ...output);
      expect([code, error]).toEqual([
        2,
        expect.stringMatching(
          /^smstwin conform: --\S+ .*(?:it is read by this run|cannot be written: .+); .*name another file\n$/,
        ),
      ]);
    }
  }
  expect(readFileSync(file, 'utf8')).toBe(asRecording(sound));
});

test('--same-account takes keys of the traffic only', async () => {
  const file = fileOf('week.ndjson', asRecording(sound));
  const of = (keys: string) => run('--traffic', file, '--same-account', keys);
  expect(await of('foo')).toMatchObject({
    code: 2,
    error: expect.stringMatching(/^smstwin conform: --same-account foo: expected .*\n$/),
  });
  expect(await of('key:0123456789ab,key:999999999999')).toMatchObject({
    code: 2,
    error:
      'smstwin conform: --same-account key:999999999999: no exchange has this key; name it as the file does\n',
  });
  expect((await of('key:0123456789ab')).code).toBe(0);
});

test.each([
  ['a new message answered 201', [exchange(0, send, 201, message())], 'SEND-3'],
  ['a replay answered 201', [...sound.slice(0, 2), exchange(30, send, 201, message())], 'SEND-4'],
  [
    'a bad number answered 422',
    [
      exchange(0, send, 202, message()),
      exchange(9, { ...send, body: send.body.replace('+1212', '12') }, 422, '{"code":"invalid"}'),
    ],
    'SEND-2',
  ],
])('%s fails, also under a request_id', async (_, exchanges, rule) => {
  const { code, results } = await run('--traffic', fileOf('status', asRecording(exchanges)));
  expect(code).toBe(1);
  expect(results()).toContainEqual(expect.objectContaining({ subject: rule, verdict: 'failed' }));
});

test('a 429 of a key that no accepted request showed is not waited for', async () => {
  const throttled = (second: number, wait: number) => {
    const body = JSON.stringify({ detail: `Expected available in ${wait} seconds.` });
    const one = exchange(second, send, 429, body);
    const headers = { ...one.reply?.headers, 'retry-after': String(wait) };
    return { ...one, reply: { status: 429, body, headers } };
  };
  const unpaid = Array.from({ length: 120 }, (_, n) =>
    exchange(2 + n / 2, send, 402, '{"code":"quota_exceeded","detail":"The plan is used up."}'),
  );
  const file = fileOf('unpaid', asRecording([throttled(0, 1), ...unpaid, throttled(61.9, 4)]));
  const { code, results } = await run('--traffic', file, '--traffic-complete', 'ERR-3');
  expect([code, results().map(({ verdict }) => verdict)]).toEqual([0, ['passed']]);
});

test("RES-4 a recorder's clock may be wrong by hours: only a Date tells", async () => {
  const dated = (second?: number) => {
    const date = second === undefined ? '' : new Date(start + second * 1000).toUTCString();
    const one = exchange(0, send, 202, message({ created_at: '2026-02-03T11:00:00.000Z' }));
    const reply = { status: 202, body: one.reply?.body, headers: { ...one.reply?.headers, date } };
    return run('--traffic', fileOf('dated', asRecording([{ ...one, reply }])), 'RES-4');
  };
  const codes = [await dated(3_600), await dated(0), await dated()].map(({ code }) => code);
  expect(codes).toEqual([0, 1, 0]);
});

test('what no body can come with, and what no service answered, is not blamed on the service', async () => {
  const path = '/api/v1/sms/received/';
  const head = exchange(50, { method: 'HEAD', path }, 429, '');
  const headers = { ...head.reply?.headers, 'retry-after': '5' };
  const throttled = { ...head, reply: { status: 429, body: '', headers } };
  const recording = fileOf('head', asRecording([...sound, throttled]));
  expect((await run('--traffic', recording)).code).toBe(0);
  const cached = asHar([...sound, exchange(60, {}, 200, message({ status: 'sending' }))]);
  const at = cached.lastIndexOf('"startedDateTime"');
  const har = `${cached.slice(0, at)}"_fromCache":"disk",${cached.slice(at)}`;
  expect((await run('--traffic', fileOf('cached', har))).code).toBe(0);
});

test('flags that are for a target are refused, and a line may have spaces', async () => {
  const spaced = asRecording(sound).replaceAll(/(?<=\}|"):|^\{(?="sent")/gm, (text) => `${text} `);
  const file = fileOf('spaced.ndjson', spaced.replaceAll('"sent":', '"sent": '));
  expect((await run('--traffic', file)).code).toBe(0);
  for (const flag of ['--list', '--dry-run', '--recheck']) {
    const { code, error } = await run('--traffic', file, flag);
    expect([code, error]).toEqual([
      2,
      `smstwin conform: ${flag} is for a target: leave it out with --traffic\n`,
    ]);
  }
  expect((await run('--traffic', file, '--compare', fileOf('broken.json', '{"a'))).error).toMatch(
    /: not a report of conform; name a file that --report json=FILE wrote\n$/,
  );
});

test('a rule that was not exercised says whether exchanges were about it', async () => {
  const other = exchange(0, send, 500, message());
  const { out } = await run('--traffic', fileOf('other.ndjson', asRecording([other])), 'SEND-3');
  expect(out).toContain('no exchange can show it: there is none of its kind, or only with other');
  const lone = await run(
    '--traffic',
    fileOf('one.ndjson', asRecording([sound[0]].flatMap((one) => one ?? []))),
    'SEND-4',
  );
  expect(lone.out).toContain('exchanges are about it, and none decides it');
  const few = await run('--traffic', fileOf('few.ndjson', asRecording(sound)), 'READ-3');
  expect(few.out).toContain('READ-3/traffic: needed 121 replies within a minute, got 2');
});
