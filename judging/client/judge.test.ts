/**
 * The client rules on small records, written as lines: when, what, and how it was answered.
 */
import { expect, test } from 'vitest';
import type { ClientRuleId } from '#contract/rules.ts';
import { dayMs } from '#contract/time.ts';
import { waitMs } from '../evidence/exchanges-of-traffic.ts';
import type { Reply } from '../evidence/reply.ts';
import { RecordedReply } from '../evidence/reply.ts';
import type { ClientExchange } from './exchange.ts';
import { latestByIntent, type ReportedIntent } from './intents-file.ts';
import { type JudgeOptions, judge } from './judge.ts';
import { reportJson } from './report-json.ts';

interface Line {
  readonly id?: string;
  readonly message?: string;
  readonly status?: number;
  readonly after?: number;
  readonly lost?: true;
  readonly messageId?: string;
  readonly tookMs?: number;
  readonly account?: string;
  readonly isOpenAtEnd?: true;
  readonly from?: string;
  readonly code?: string;
}

const startMs = Date.parse('2026-01-10T00:00:00.000Z');

function replyOf(status: number, json: unknown): RecordedReply {
  const reply = { status, headers: {}, body: JSON.stringify(json) };
  return new RecordedReply({ reply, sentAt: 0, answeredAt: 0, precisionMs: 0 }, status);
}

/** A send at `atMs` after the start; 202 unless the line says otherwise. */
function send(atMs: number, line: Line = {}): ClientExchange {
  const { id, message = 'Hello', status = 202, after, lost, tookMs = 0, account = 'acme' } = line;
  const { from = '+12025550101', code = 'no' } = line;
  const fields = { to: '+12025550123', from, message, ...(id && { request_id: id }) };
  const messageId = line.messageId ?? `m-${id ?? message}`;
  return {
    number: 0,
    sentAt: startMs + atMs,
    answeredAt: startMs + atMs + tookMs,
    openUntil: 0,
    isOpenAtEnd: line.isOpenAtEnd === true,
    caller: { name: account, credential: account, account, key: 'valid', isNew: false },
    endpoint: 'send',
    method: 'POST',
    path: '/api/v1/sms/send/',
    query: '',
    target: '/api/v1/sms/send/',
    headers: {},
    body: JSON.stringify(fields),
    fields,
    precisionMs: 0,
    isForced: false,
    isRetried: false,
    retryAfterMs: after === undefined ? undefined : after * 1_000,
    retryAfter: after === undefined ? undefined : String(after),
    reply: replyOf(
      status,
      status < 300 ? { message_id: messageId, status: 'queued' } : { code, detail: 'no' },
    ),
    isSeen: lost === undefined,
    showsKey: false,
  };
}

function unknownCaller(name: string): ClientExchange['caller'] {
  return { name, credential: name, account: undefined, key: 'wrong', isNew: false };
}

function get(
  atMs: number,
  endpoint: 'read' | 'received',
  line: Partial<ClientExchange> & { readonly status?: number; readonly shows?: string } = {},
): ClientExchange {
  const target = endpoint === 'read' ? '/api/v1/sms/m-1/' : '/api/v1/sms/received/';
  const { status = 200, shows = 'queued', ...others } = line;
  const read = { endpoint, method: 'GET', target, body: '', fields: undefined } as const;
  const reply = replyOf(status, { message_id: 'm-1', status: shows });
  return { ...send(atMs), ...read, reply, ...others };
}

function verdicts(exchanges: readonly ClientExchange[], options: JudgeOptions = {}) {
  const numbered = exchanges.map((exchange, at) => ({
    ...exchange,
    number: at + 1,
    openUntil:
      exchanges.findLastIndex(
        ({ sentAt }, n) => n === at || (n > at && sentAt < exchange.answeredAt),
      ) + 1,
  }));
  const report = judge(numbered, options);
  const of = (id: ClientRuleId) => {
    const rule = report.rules.find((one) => one.id === id);
    if (rule === undefined) throw new Error(`no rule ${id}`);
    return rule;
  };
  return {
    report,
    of,
    what: (id: ClientRuleId) => of(id).findings.map(({ what }) => what),
    broken: report.rules
      .filter(({ verdict }) => verdict === 'failed' || verdict === 'advice')
      .map(({ id }) => id),
  };
}

test('CLIENT-1 a retry one millisecond before Retry-After has passed is early', () => {
  const first = send(0, { id: 'a', status: 429, after: 44 });
  const early = verdicts([first, send(43_999, { id: 'a' })]);
  expect(early.of('CLIENT-1').verdict).toBe('failed');
  expect(early.what('CLIENT-1')[0]).toMatch(
    /^the retry arrived 0\.001 s before the 429 allowed it/,
  );
  expect(verdicts([first, send(44_000, { id: 'a' })]).broken).toEqual([]);
});

test('CLIENT-17 a 503 with Retry-After asks for a wait too, and one without it does not', () => {
  const busy = send(0, { id: 'a', status: 503, after: 10 });
  expect(verdicts([busy, send(9_999, { id: 'a' })]).of('CLIENT-17').verdict).toBe('advice');
  expect(verdicts([busy, send(10_000, { id: 'a' })]).of('CLIENT-17').verdict).toBe('passed');
  const bare = send(0, { id: 'a', status: 503 });
  expect(verdicts([bare, send(1, { id: 'a' })]).of('CLIENT-17').verdict).toBe('not_exercised');
});

test('CLIENT-1 the same GET waits too; another message need not', () => {
  const refused = get(0, 'received', { status: 429, retryAfterMs: 10_000 });
  expect(verdicts([refused, get(9_000, 'received')]).broken).toContain('CLIENT-1');
  const other = [send(0, { id: 'a', status: 429, after: 9 }), send(500, { id: 'b' })];
  expect(verdicts([...other, send(9_000, { id: 'a' })]).broken).toEqual([]);
});

test('CLIENT-2 other requests that the 429 covers wait as well, but for those in flight', () => {
  const lines = [
    send(0, { id: 'a', status: 429, after: 30 }),
    send(900, { id: 'b', status: 429, after: 30 }),
    send(2_000, { id: 'c', status: 429, after: 28 }),
    send(30_000, { id: 'a' }),
    send(31_000, { id: 'b' }),
    send(32_000, { id: 'c' }),
  ];
  const { of, broken } = verdicts(lines);
  expect(broken).toEqual(['CLIENT-2']);
  expect(
    of('CLIENT-2').findings.map(({ exchanges }) => exchanges.map((one) => one.number)),
  ).toEqual([[1, 3]]);
  expect(verdicts(lines, { graceMs: 3_000 }).broken).toEqual([]);
});

test('CLIENT-3 a retry under a new id is its intent, unless the old id comes back', () => {
  const lost = send(0, { id: 'a', lost: true, messageId: 'm-1' });
  const renamed = verdicts([lost, send(1_000, { id: 'b', messageId: 'm-2' })]);
  expect(renamed.broken).toEqual(['CLIENT-3', 'CLIENT-5']);
  expect(renamed.what('CLIENT-3')[0]).toContain('carries the new request_id b instead of a');
  const kept = [lost, send(1_000, { id: 'b' }), send(2_000, { id: 'a', messageId: 'm-1' })];
  expect(verdicts(kept).broken).toEqual([]);
  expect(verdicts([lost, send(1_000, { id: 'b' })], { isPartial: true }).broken).toEqual([]);
});

test('CLIENT-3 a retry that drops its id is its intent too', () => {
  const lines = [send(0, { id: 'a', status: 503 }), send(1_000)];
  expect(verdicts(lines).what('CLIENT-3')[0]).toContain('carries no request_id');
});

test('CLIENT-4 sends without an id are counted in one piece of advice', () => {
  const { of, what } = verdicts([send(0), send(1, { message: 'x' }), send(2, { id: 'a' })]);
  expect(of('CLIENT-4')).toMatchObject({ verdict: 'advice', exercised: 3 });
  expect(what('CLIENT-4')).toHaveLength(1);
  expect(what('CLIENT-4')[0]).toMatch(/^2 of 3 sends carry no request_id: /);
  const many = verdicts(Array.from({ length: 21 }, (_, ms) => send(ms, { message: `${ms}` })));
  expect(many.what('CLIENT-4')[0]).toContain(
    '21 of 21 sends carry no request_id (here are the first 20)',
  );
});

test('CLIENT-5 the same text twice, each confirmed, is two messages', () => {
  expect(verdicts([send(0, { messageId: '1' }), send(1, { messageId: '2' })]).broken).toEqual([
    'CLIENT-4',
  ]);
  const lost = [send(0, { messageId: '1', lost: true }), send(1, { messageId: '2' })];
  const { of, report } = verdicts(lost);
  expect(of('CLIENT-5').verdict).toBe('failed');
  const { findings } = reportJson(report).rules.find(({ id }) => id === 'CLIENT-5') ?? {};
  expect(findings).toMatchObject([{ to: '+12025550123', text: 'Hello' }]);
});

test('equal sends that were open at the same time are unattributable and fail nothing', () => {
  const lines = [
    send(0, { messageId: '1', lost: true, tookMs: 500 }),
    send(100, { messageId: '2', lost: true, tookMs: 500 }),
  ];
  const { report, broken } = verdicts(lines);
  expect(report.intents.unattributable).toBe(2);
  expect(broken).toEqual(['CLIENT-4']);
});

test('CLIENT-6 an id with another message within a day is a reuse; after a day it is free', () => {
  const first = send(0, { id: 'a' });
  expect(verdicts([first, send(1_000, { id: 'a', message: 'Bye' })]).broken).toEqual(['CLIENT-6']);
  expect(verdicts([first, send(dayMs + 1, { id: 'a', message: 'Bye' })]).broken).toEqual([]);
  const corrected = [send(0, { id: 'a', status: 400 }), send(1_000, { id: 'a', message: 'Bye' })];
  expect(verdicts(corrected).broken).toEqual(['CLIENT-15']);
});

test('CLIENT-7 a retry after a day, of what may have been accepted, is too late', () => {
  const lost = send(0, { id: 'a', lost: true });
  expect(verdicts([lost, send(dayMs, { id: 'a' })]).broken).toEqual([]);
  const late = verdicts([lost, send(dayMs + 1, { id: 'a', messageId: 'm-2' })]);
  expect(late.broken).toEqual(['CLIENT-5', 'CLIENT-7']);
  const throttled = send(0, { id: 'a', status: 429, after: 1 });
  expect(verdicts([throttled, send(dayMs + 1, { id: 'a' })]).broken).toEqual([]);
});

test('CLIENT-8 what was refused for good is not repeated unchanged', () => {
  const refused = send(0, { id: 'a', status: 403 });
  expect(verdicts([refused, send(9_000, { id: 'a', status: 403 })]).broken).toEqual(['CLIENT-8']);
  expect(verdicts([refused, send(9_000, { id: 'b', message: 'Bye' })]).broken).toEqual([]);
  const spent = send(0, { id: 'a', status: 402 });
  expect(verdicts([spent, send(30 * dayMs, { id: 'a' })]).broken).toEqual([]);
});

test('CLIENT-9 an intent that ends unresolved was given up, unless the client says so', () => {
  const lines = [send(0, { id: 'a', status: 503 })];
  expect(verdicts(lines).broken).toEqual(['CLIENT-9']);
  expect(verdicts(lines, { isPartial: true }).broken).toEqual([]);
  const report = { intent: 'order-17', to: '+12025550123', from: '+12025550101', message: 'Hello' };
  const failed = { ...report, request_id: 'a', reported: 'failed' } as const;
  expect(verdicts(lines, { reports: [failed] }).broken).toEqual([]);
});

test('CLIENT-10 what is reported is what happened', () => {
  const report = { intent: 'order-17', to: '+12025550123', from: '+12025550101', message: 'Hello' };
  const accepted = { ...report, request_id: 'a', reported: 'accepted' } as const;
  const failed = { ...report, request_id: 'a', reported: 'failed' } as const;
  const refused = [send(0, { id: 'a', status: 403 })];
  const lost = [send(0, { id: 'a', lost: true })];
  expect(verdicts(refused, { reports: [accepted] }).broken).toEqual(['CLIENT-10']);
  expect(verdicts(refused, { reports: [failed] }).broken).toEqual([]);
  expect(verdicts(lost, { reports: [failed] }).broken).toEqual(['CLIENT-10']);
  expect(verdicts([], { reports: [accepted] }).what('CLIENT-10')[0]).toContain('order-17');
});

test('CLIENT-11, CLIENT-12 and CLIENT-13 judge how often a client polls', () => {
  expect(verdicts([get(0, 'read'), get(14_999, 'read')]).broken).toEqual(['CLIENT-11']);
  expect(verdicts([get(0, 'read'), get(15_000, 'read')]).broken).toEqual([]);
  const final = get(0, 'read', { shows: 'delivered' });
  expect(verdicts([final, get(60_000, 'read')]).broken).toEqual(['CLIENT-12']);
  expect(verdicts([get(0, 'received'), get(1_000, 'received')]).broken).toEqual(['CLIENT-13']);
  const pages = [get(0, 'received'), get(10, 'received', { target: '/received/?page=2' })];
  expect(verdicts(pages).broken).toEqual([]);
});

test('CLIENT-14 six attempts within a minute are too many, and jitter spreads retries', () => {
  const attempt = (n: number) => send(n * 11_000, { id: 'a', status: 503 });
  const six = [0, 1, 2, 3, 4].map(attempt);
  expect(verdicts([...six, send(55_000, { id: 'a' })]).broken).toEqual(['CLIENT-14']);
  expect(verdicts([...six, send(60_000, { id: 'a' })]).broken).toEqual([]);
  const ids = Array.from({ length: 10 }, (_, n) => `id-${n}`);
  const refused = ids.map((id, n) => send(n, { id, status: 503 }));
  const herd = ids.map((id, n) => send(30_000 + n, { id }));
  const spread = ids.map((id, n) => send(30_000 + 200 * n, { id }));
  expect(verdicts([...refused, ...herd]).broken).toEqual(['CLIENT-14']);
  expect(verdicts([...refused, ...spread]).broken).toEqual([]);
  // Each minute the same herd: no tenth of a second holds half of all retries.
  const minute = (at: number, status: number) =>
    ids.map((id, n) => send(at * 60_000 + n, { id, status }));
  const herds = [...refused, ...minute(1, 503), ...minute(2, 503), ...minute(3, 202)];
  expect(verdicts(herds).broken).toEqual(['CLIENT-14']);
});

test('CLIENT-7 a day after a seen acceptance the same id and message are a new intent', () => {
  const daily = [send(0, { id: 'a' }), send(dayMs + 1, { id: 'a', messageId: 'm2' })];
  expect(verdicts(daily).broken).toEqual([]);
  const unseen = [send(0, { id: 'a', lost: true }), send(dayMs + 1, { id: 'a', messageId: 'm2' })];
  expect(verdicts(unseen).broken).toEqual(['CLIENT-5', 'CLIENT-7']);
  const told = [
    send(0, { id: 'a', status: 503, lost: true }),
    send(9_000, { id: 'a', status: 402 }),
    send(dayMs + 1, { id: 'a' }),
  ];
  expect(verdicts(told).broken).toEqual([]);
});

test.each([
  [403, 'Hello', 403, ['CLIENT-8']],
  [403, 'Bye', 403, []],
  // The id may have been what was wrong.
  [400, 'Hello', 202, ['CLIENT-15']],
  [400, 'Hello', 429, ['CLIENT-9', 'CLIENT-15']],
])(
  'CLIENT-8 after a %i, %s under a new id that is answered %i breaks %j',
  (status, message, answer, broken) => {
    const again = send(9_000, { id: 'b', message, status: answer });
    expect(verdicts([send(0, { id: 'a', status }), again]).broken).toEqual(broken);
  },
);

test.each([
  ['one', ['CLIENT-8']],
  ['two', []],
])(
  'CLIENT-8 two ids that are refused alike, of the intents one and %s, break %j',
  (other, broken) => {
    const line = { to: '+12025550123', from: '+12025550101', message: 'Hello' };
    const reports = latestByIntent([
      { ...line, intent: 'one', request_id: 'a', reported: 'failed' },
      { ...line, intent: other, request_id: 'b', reported: 'failed' },
    ]);
    const lines = [send(0, { id: 'a', status: 403 }), send(9_000, { id: 'b', status: 403 })];
    expect(verdicts(lines, { reports }).broken).toEqual(broken);
  },
);

test('CLIENT-8 what was put right is not a repetition', () => {
  const refused = send(0, { id: 'a', status: 403 });
  expect(verdicts([refused, send(9_000, { id: 'a' })]).broken).toEqual([]);
});

test('CLIENT-9 a retry under a new key goes on with the message', () => {
  const unknown = {
    ...send(0, { id: 'a', status: 401, lost: true }),
    caller: unknownCaller('127.0.0.1'),
  };
  expect(verdicts([unknown, send(9_000, { id: 'a' })]).broken).toEqual([]);
});

test('CLIENT-10 a message that failed was rightly reported as failed', () => {
  const report = { intent: 'one', to: '+12025550123', from: '+12025550101', message: 'Hello' };
  const reports = [{ ...report, request_id: 'a', reported: 'failed' as const }];
  const sent = [send(0, { id: 'a' })];
  expect(verdicts(sent, { reports }).broken).toEqual(['CLIENT-10']);
  expect(verdicts(sent, { reports, endsUndelivered: (id) => id === 'm-a' }).broken).toEqual([]);
});

test('CLIENT-16 a key stands in the Authorization header alone', () => {
  expect(verdicts([{ ...send(0, { id: 'a' }), showsKey: true }]).broken).toEqual(['CLIENT-16']);
});

test('accounts are judged apart, and the others left out where one is named', () => {
  const lines = [
    send(0, { id: 'a', status: 429, after: 30, account: 'acme' }),
    send(1, { id: 'a', account: 'globex' }),
    send(30_000, { id: 'a', account: 'acme' }),
  ];
  expect(verdicts(lines).broken).toEqual([]);
  expect(verdicts(lines, { accounts: ['globex'] }).report.exchanges).toHaveLength(1);
});

test('a record of nothing exercises nothing', () => {
  const { report } = verdicts([]);
  expect(new Set(report.rules.map(({ verdict }) => verdict))).toEqual(new Set(['not_exercised']));
});

test('CLIENT-3 two messages that the client names apart are two, whatever their content', () => {
  const report = { to: '+12025550123', from: '+12025550101', message: 'Hello' };
  const reports = [
    { ...report, intent: 'one', request_id: 'a', reported: 'failed' },
    { ...report, intent: 'two', request_id: 'b', reported: 'accepted' },
  ] as const;
  const lines = [send(0, { id: 'a', status: 503 }), send(1_000, { id: 'b' })];
  expect(verdicts(lines).broken).toEqual(['CLIENT-3']);
  expect(verdicts(lines, { reports }).broken).toEqual([]);
});

test('equal messages that the client names apart are several, though its lines hold no ids', () => {
  const report = { to: '+1 202 555-0123', from: '+12025550101', message: 'Hello' };
  const reports = [
    { ...report, intent: 'this week', reported: 'unknown' },
    { ...report, intent: 'next week', reported: 'accepted' },
  ] as const;
  const [lost, next] = [{ lost: true, messageId: '1' }, { messageId: '2' }] as const;
  const named = [send(0, { id: 'a', ...lost }), send(7 * dayMs, { id: 'b', ...next })];
  expect(verdicts(named).broken).toEqual(['CLIENT-3', 'CLIENT-5']);
  expect(verdicts(named, { reports }).broken).toEqual([]);
  const third = send(8 * dayMs, { id: 'c', messageId: '3' });
  expect(verdicts([...named, third], { reports }).broken).toEqual(['CLIENT-3', 'CLIENT-5']);
  const bare = [send(0, lost), send(7 * dayMs, next)];
  expect(verdicts(bare, { reports }).broken).toEqual(['CLIENT-4']);
  const bareThird = send(8 * dayMs, { messageId: '3' });
  expect(verdicts([...bare, bareThird], { reports }).broken).toEqual(['CLIENT-4', 'CLIENT-5']);
  const refused = [send(0, { status: 429, after: 9 }), send(1_000), send(20_000, next)];
  expect(verdicts(refused, { reports }).broken).toEqual(['CLIENT-1', 'CLIENT-4']);
});

test('one id is one intent though its send_at moves with each retry', () => {
  const at = (sendAt: string, line: ClientExchange) => ({
    ...line,
    fields: { ...line.fields, send_at: sendAt },
  });
  const lines = [
    at('2026-01-10T01:00:00Z', send(0, { id: 'a', status: 503 })),
    at('2026-01-10T02:00:00Z', send(1_000, { id: 'a' })),
  ];
  expect(verdicts(lines).broken).toEqual([]);
  expect(verdicts(lines).report.intents.all).toHaveLength(1);
});

test('CLIENT-1 a retry under the same id is one, whatever its text says by now', () => {
  const refused = send(0, { id: 'a', status: 429, after: 60 });
  const rewordedAt = (atMs: number) => send(atMs, { id: 'a', message: 'Bye' });
  expect(verdicts([refused, rewordedAt(60_000)]).broken).toEqual([]);
  expect(verdicts([refused, rewordedAt(5_000)]).broken).toEqual(['CLIENT-1']);
  expect(verdicts([send(0, { id: 'a', status: 503 }), rewordedAt(9_000)]).broken).toEqual([]);
});

test('CLIENT-6 a reworded retry of what was accepted unseen is not given up, too', () => {
  const lost = send(0, { id: 'a', lost: true });
  const conflict = send(5_000, { id: 'a', message: 'Bye', status: 409 });
  expect(verdicts([lost, conflict]).broken).toEqual(['CLIENT-6']);
});

test('CLIENT-6 an accepted message whose id comes with another send_at or sender', () => {
  const first = send(0, { id: 'a' });
  const later = { ...first.fields, send_at: '2026-01-02T09:00:00Z' };
  const other = { ...first.fields, from: '+12025550102' };
  for (const fields of [later, other]) {
    const second = { ...send(5_000, { id: 'a', status: 200 }), fields };
    expect(verdicts([first, second]).broken).toEqual(['CLIENT-6']);
    expect(verdicts([{ ...first, isSeen: false }, second]).broken).toEqual([]);
  }
});

test('CLIENT-5 a garbled 202 and the replay that shows its message are one acceptance', () => {
  const garbled = { ...send(0, { id: 'a' }), reply: replyOf(202, undefined), isSeen: false };
  const replay = send(1_000, { id: 'a', status: 200 });
  expect(verdicts([garbled, replay]).broken).toEqual([]);
});

test('CLIENT-9 what was reported was not given up', () => {
  const report = { intent: 'one', to: '+12025550123', from: '+12025550101', message: 'Hello' };
  const lost = [send(0, { id: 'a', lost: true })];
  expect(verdicts(lost).broken).toEqual(['CLIENT-9']);
  expect(verdicts(lost, { reports: [{ ...report, reported: 'accepted' }] }).broken).toEqual([]);
});

test('CLIENT-10 equal messages without ids are counted', () => {
  const report = { to: '+12025550123', from: '+12025550101', message: 'Hello' };
  const said = (first: 'accepted' | 'failed', second: 'accepted' | 'failed') => [
    { ...report, intent: 'one', reported: first },
    { ...report, intent: 'two', reported: second },
  ];
  const lines = [send(0, { messageId: '1' }), send(1_000, { status: 403 })];
  expect(verdicts(lines, { reports: said('accepted', 'failed') }).broken).toEqual(['CLIENT-4']);
  const twice = verdicts(lines, { reports: said('accepted', 'accepted') });
  expect(twice.what('CLIENT-10')[0]).toContain('the service accepted only 1 such message');
  const none = verdicts(lines, { reports: said('failed', 'failed') });
  expect(none.what('CLIENT-10')).toHaveLength(1);
});

test('CLIENT-8 another key is another request', () => {
  const refused = { ...send(0, { id: 'a', status: 401 }), caller: unknownCaller('192.0.2.1') };
  const other = { ...refused, sentAt: refused.sentAt + 1_000, answeredAt: refused.sentAt + 1_000 };
  expect(verdicts([refused, other]).broken).toEqual(['CLIENT-8']);
  expect(
    verdicts([refused, { ...other, caller: { ...other.caller, credential: 'another' } }]).broken,
  ).toEqual([]);
});

test('CLIENT-1 the wait holds across a 5xx in between', () => {
  const lines = [
    send(0, { id: 'a', status: 429, after: 30 }),
    send(30_000, { id: 'a', status: 503 }),
    send(31_000, { id: 'a' }),
  ];
  expect(verdicts(lines).broken).toEqual([]);
  const early = lines.map((line) => ({ ...line, sentAt: startMs + (line.sentAt - startMs) / 2 }));
  expect(verdicts(early).of('CLIENT-1').findings).toHaveLength(2);
});

test('CLIENT-11 a parameter that changes each time does not hide a poll', () => {
  const poll = (atMs: number) => get(atMs, 'read', { target: `/api/v1/sms/m-1/?t=${atMs}` });
  expect(verdicts([poll(0), poll(1_000)]).broken).toEqual(['CLIENT-11']);
});

test('CLIENT-5 a reply that may not have left at the end of a partial record is in flight', () => {
  const lines = [
    send(0, { messageId: '1', lost: true, tookMs: 9_000, isOpenAtEnd: true }),
    send(20_000, { messageId: '2' }),
  ];
  expect(verdicts(lines).broken).toEqual(['CLIENT-4', 'CLIENT-5']);
  expect(verdicts(lines, { isPartial: true }).broken).toEqual(['CLIENT-4']);
});

test('CLIENT-1 equal sends that overlap later do not excuse an early retry before them', () => {
  const lines = [
    send(0, { status: 429, after: 30 }),
    send(1_000, { status: 503 }),
    send(40_000, { messageId: '1', tookMs: 9_000 }),
    send(41_000, { messageId: '2' }),
  ];
  const { broken, report } = verdicts(lines);
  expect(broken).toEqual(['CLIENT-1', 'CLIENT-4']);
  expect(report.intents.unattributable).toBe(2);
});

test('a record that is cut at its start attributes no send without a request_id', () => {
  const lines = [
    send(0, { messageId: '1', lost: true }),
    send(1_000, { messageId: '2' }),
    send(2_000, { id: 'a', status: 429, after: 9 }),
    send(3_000, { id: 'a' }),
  ];
  const { broken, report } = verdicts(lines, { isCutAtStart: true });
  expect(broken).toEqual(['CLIENT-1', 'CLIENT-4']);
  expect(report.intents.unattributable).toBe(2);
});

test('CLIENT-2 is not judged where a 429 may be missing before the record', () => {
  const lines = [
    send(0, { id: 'a', status: 429, after: 30 }),
    send(9_000, { id: 'b', message: 'Bye' }),
  ];
  expect(verdicts(lines, { isPartial: true }).broken).toEqual(['CLIENT-2']);
  expect(verdicts(lines, { isCutAtStart: true }).of('CLIENT-2').verdict).toBe('not_exercised');
});

test('CLIENT-6 a corrected message that is retried is one message', () => {
  const lines = [
    send(0, { id: 'a', status: 400 }),
    send(1_000, { id: 'a', message: 'Bye', messageId: '1', lost: true }),
    send(2_000, { id: 'a', message: 'Bye', messageId: '1', status: 200 }),
  ];
  expect(verdicts(lines).broken).toEqual(['CLIENT-15']);
});

test('CLIENT-6 a first message comes back under its id while the id carries a second one', () => {
  const lines = [
    send(0, { id: 'a' }),
    send(dayMs + 1, { id: 'a', message: 'Bye' }),
    send(dayMs + 2, { id: 'a' }),
  ];
  expect(verdicts(lines).broken).toEqual(['CLIENT-6']);
});

test('CLIENT-6 a replay shows that the send before it was accepted, whose reply is not known', () => {
  const lost = send(0, { id: 'a', status: 0, lost: true });
  const replayOf = (message: string, atMs: number) => send(atMs, { id: 'a', message, status: 200 });
  const other = [lost, replayOf('Hello (retry)', 1_000)];
  expect(verdicts(other).broken).toEqual(['CLIENT-6']);
  // Here the replay may be one of the second send.
  const second = send(1_000, { id: 'a', message: 'Hello again', status: 0, lost: true });
  expect(verdicts([lost, second, replayOf('Hello again', 2_000)]).broken).toEqual([]);
  // Here a send before the record may have created the message.
  expect(verdicts(other, { isCutAtStart: true }).broken).toEqual([]);
  expect(verdicts([lost, replayOf('Hello (retry)', dayMs + 1_000)]).broken).not.toContain(
    'CLIENT-6',
  );
});

test('CLIENT-6 a record without keys may show one id of two accounts', () => {
  const record = (status: number, caller: ClientExchange['caller']) => [
    { ...send(0, { id: 'a' }), caller },
    { ...send(1_000, { id: 'a', message: 'Bye', messageId: 'm-2', status }), caller },
  ];
  const unknown = unknownCaller('unauthenticated');
  expect(verdicts(record(202, unknown)).broken).toEqual([]);
  expect(verdicts(record(200, unknown)).broken).toEqual(['CLIENT-6']);
  expect(verdicts(record(202, send(0).caller)).broken).toEqual(['CLIENT-6']);
});

test('CLIENT-6 a replay does not keep an id for longer than a day', () => {
  const lines = [
    send(0, { id: 'a' }),
    send(dayMs - 1, { id: 'a', status: 200 }),
    send(dayMs + 1, { id: 'a', message: 'Bye' }),
  ];
  expect(verdicts(lines).broken).toEqual([]);
});

test('CLIENT-7 a late retry is late whatever is refused after it', () => {
  const lines = [
    send(0, { id: 'a', lost: true }),
    send(dayMs + 1, { id: 'a', status: 503 }),
    send(dayMs + 9_000, { id: 'a', status: 403 }),
  ];
  expect(verdicts(lines).broken).toContain('CLIENT-7');
});

test('CLIENT-5 two acceptances of one id within a day are a fault of the service, and a notice', () => {
  const lines = [
    send(0, { id: 'a', messageId: '1', status: 200 }),
    { ...send(1_000, { id: 'a' }), reply: replyOf(202, undefined), isSeen: false },
    send(2_000, { id: 'a', messageId: '1' }),
  ];
  const { broken, report } = verdicts(lines);
  expect(broken).toEqual([]);
  expect(report.notices.map(({ what }) => what)).toEqual([expect.stringContaining('SEND-4')]);
  const twoAccounts = [
    lines[1],
    { ...lines[2], caller: send(0, { account: 'globex' }).caller },
  ] as never;
  expect(verdicts(twoAccounts, { reports: bothIds }).broken).toContain('CLIENT-5');
});

const ofOrder = { intent: 'order-17', to: '+12025550123', from: '+12025550101', message: 'Hello' };
const bothIds = latestByIntent([
  { ...ofOrder, request_id: 'a' },
  { ...ofOrder, request_id: 'b', reported: 'accepted' },
]);

test('CLIENT-5 two ids that the client gives one intent are one message', () => {
  const lines = [send(0, { id: 'a', messageId: '1' }), send(1_000, { id: 'b', messageId: '2' })];
  expect(verdicts(lines).broken).toEqual([]);
  expect(verdicts(lines, { reports: bothIds }).broken).toEqual(['CLIENT-5']);
});

test('CLIENT-3 two ids that the client gives one intent prove a rename, in a part too', () => {
  const lines = [send(0, { id: 'a', status: 503 }), send(1_000, { id: 'b' })];
  expect(verdicts(lines, { isPartial: true }).broken).toEqual([]);
  const named = { isPartial: true, reports: bothIds };
  expect(verdicts(lines, named).broken).toEqual(['CLIENT-3']);
  const refused = [send(0, { id: 'a', status: 400 }), send(1_000, { id: 'b' })];
  expect(verdicts(refused, named).broken).toEqual(['CLIENT-15']);
});

test('a send that may have dropped its id cannot be attributed in a part', () => {
  const lines = [
    send(0, { id: 'b', message: 'Bye' }),
    send(1_000, { id: 'a', lost: true }),
    send(2_000, { id: 'b', status: 503 }),
    send(3_000, { status: 429, after: 30 }),
    send(4_000, { status: 429, after: 29 }),
  ];
  expect(verdicts(lines).of('CLIENT-1').verdict).toBe('not_exercised');
  const { of, report } = verdicts(lines, { isPartial: true });
  expect(of('CLIENT-1').verdict).toBe('not_exercised');
  expect(report.intents.unattributable).toBe(2);
});

test('CLIENT-7 a refused message does not excuse a late retry of another one', () => {
  const lines = [
    send(0, { id: 'a', status: 403 }),
    send(1_000, { id: 'a', message: 'Bye', messageId: '1', lost: true }),
    send(2_000, { id: 'a', status: 400 }),
    send(dayMs + 9_000, { id: 'a', message: 'Bye', messageId: '2' }),
  ];
  expect(verdicts(lines).broken).toContain('CLIENT-7');
});

test('CLIENT-2 in a part, another message under a known id may be a correction', () => {
  const lines = [
    send(0, { id: 'a', lost: true }),
    send(1_000, { id: 'b', message: 'Other', status: 429, after: 30 }),
    send(9_000, { id: 'a', message: 'Bye' }),
  ];
  expect(verdicts(lines, { isPartial: true }).of('CLIENT-2').findings).toEqual([]);
});

test('CLIENT-9 a caller that had an account is not a stranger whose retry another key makes', () => {
  const unknown = { ...send(0, { id: 'a', status: 401 }), caller: unknownCaller('one') };
  const lost = send(1_000, { id: 'a', lost: true, status: 503, account: 'one' });
  const { broken } = verdicts([unknown, lost, send(2_000, { id: 'a', account: 'two' })]);
  expect(broken).toContain('CLIENT-9');
});

test('CLIENT-3 the retry of a message is compared with its last attempt, not with a correction', () => {
  const lines = [
    send(0, { id: 'a', status: 400 }),
    send(1_000, { id: 'a', message: 'Bye', status: 503 }),
    send(2_000, { id: 'a' }),
    send(3_000, { id: 'b', message: 'Bye' }),
  ];
  const said = bothIds.map((one) => ({ ...one, message: 'Bye' }));
  expect(verdicts(lines, { reports: said }).broken).toContain('CLIENT-3');
});

/** They take a second at most; where the time grows with the square, twenty. */
const farTooLongMs = 15_000;

test.each<readonly [string, (n: number) => Line]>([
  ['429s under one id', () => ({ id: 'one', status: 429, after: 7 })],
  ['ids with 503', (n) => ({ id: `id-${n}`, status: 503 })],
  ['429s without an id', () => ({ status: 429, after: 7 })],
  ['messages under one id', (n) => ({ id: 'one', message: `m${n}` })],
])(
  '20,000 %s are judged in time that grows with the record',
  { timeout: farTooLongMs },
  (_, lineOf) => {
    const exchanges = Array.from({ length: 20_000 }, (_none, at) => ({
      ...send(at * 700, lineOf(at)),
      number: at + 1,
      openUntil: at + 1,
    }));
    expect(judge(exchanges).exchanges).toHaveLength(20_000);
  },
);

test('CLIENT-1 a message accepted under another id leaves the new id with its intent', () => {
  const lines = [
    send(0, { id: 'c', lost: true, messageId: '1' }),
    send(1_000, { id: 'b', status: 429, after: 60 }),
    send(2_000, { id: 'b', message: 'Bye', status: 429, after: 59 }),
  ];
  expect(verdicts(lines, { isPartial: true }).of('CLIENT-1').verdict).toBe('failed');
  expect(verdicts(lines).of('CLIENT-1').verdict).toBe('failed');
});

const inactive = { status: 503, code: 'device_inactive' } as const;

test.each([
  ['a 429', { status: 429, after: 1 }],
  ['a 503 device_inactive', inactive],
  ['a 400', { status: 400 }],
])('CLIENT-3 a new id after %s that was seen is not a mistake', (_, refusal) => {
  const lines = [send(0, { id: 'a', ...refusal }), send(9_000, { id: 'b' })];
  const named = verdicts(lines, { reports: bothIds, isStrict: true });
  expect(named.broken.filter((id) => id !== 'CLIENT-15')).toEqual([]);
  expect(verdicts(lines).broken.filter((id) => id !== 'CLIENT-15')).toEqual([]);
  const unseen = [send(0, { id: 'a', ...refusal, lost: true }), send(9_000, { id: 'b' })];
  expect(verdicts(unseen, { reports: bothIds }).broken).toContain('CLIENT-3');
});

test('CLIENT-3 a 503 that is not a documented refusal may have queued the message', () => {
  const lines = [send(0, { id: 'a', status: 503 }), send(9_000, { id: 'b' })];
  expect(verdicts(lines).broken).toEqual(['CLIENT-3']);
});

test('CLIENT-3 a 429 does not say what became of an unseen send before it', () => {
  const lines = [
    send(0, { id: 'a', lost: true }),
    send(1_000, { id: 'a', status: 429, after: 1 }),
    send(9_000, { id: 'b', messageId: '2' }),
  ];
  expect(verdicts(lines).broken).toEqual(['CLIENT-3', 'CLIENT-5']);
  const replayed = send(9_000, { id: 'a', status: 200 });
  expect(verdicts([...lines.slice(0, 2), replayed]).broken).toEqual([]);
});

test('CLIENT-3 an id that a refusal has burned leaves no way but a new one', () => {
  const lines = [
    send(0, { id: 'a', ...inactive }),
    send(60_000, { id: 'a', ...inactive }),
    send(120_000, { id: 'b' }),
  ];
  expect(verdicts(lines).broken).toEqual([]);
});

test('CLIENT-9 another SIM goes on with what a deactivated one refused', () => {
  const other = { id: 'b', from: '+12025550102' };
  const lines = [send(0, { id: 'a', ...inactive }), send(1_000, other)];
  expect(verdicts(lines).broken).toEqual([]);
  const busy = [send(0, { id: 'a', status: 503 }), send(1_000, other)];
  expect(verdicts(busy).broken).toEqual(['CLIENT-9']);
});

test.each([
  ['reworded', { message: 'Hello (2)' }],
  ['from another account', { account: 'globex', from: '+12025550199' }],
])('CLIENT-5 two ids of one name are one message: %s', (_, other) => {
  const again = send(1_000, { id: 'b', messageId: '2', ...other });
  const both = [send(0, { id: 'a', messageId: '1' }), again];
  expect(verdicts(both).broken).toEqual([]);
  expect(verdicts(both, { reports: bothIds }).broken).toEqual(['CLIENT-5']);
  const lost = [send(0, { id: 'a', messageId: '1', lost: true }), again];
  expect(verdicts(lost, { reports: bothIds }).broken).toEqual(['CLIENT-3', 'CLIENT-5']);
});

test('CLIENT-5 a message that goes out over two accounts under one id is sent twice', () => {
  const reports = [{ ...ofOrder, request_id: 'a', reported: 'accepted' }] as const;
  const other = { id: 'a', account: 'globex', from: '+12025550199', messageId: '2' };
  const lines = [send(0, { id: 'a', lost: true }), send(1_000, other)];
  expect(verdicts(lines).broken).toEqual(['CLIENT-9']);
  expect(verdicts(lines, { reports }).broken).toEqual(['CLIENT-5']);
});

test('two accounts may give equal ids to different messages', () => {
  const ofGlobex = { intent: 'bill-1', to: '+12025550123', from: '+12025550199', message: 'Pay' };
  const bill = { account: 'globex', from: ofGlobex.from, message: 'Pay', messageId: '2' } as const;
  const lines = [send(0, { id: 'a', messageId: '1' }), send(1_000, { id: 'a', ...bill })];
  const accepted = { request_id: 'a', reported: 'accepted' } as const;
  const listed = latestByIntent([
    { ...ofOrder, ...accepted },
    { ...ofGlobex, ...accepted },
  ]);
  for (const reports of [listed, listed.slice(0, 1)])
    expect(verdicts(lines, { reports }).broken).toEqual([]);
  const [first, second] = lines as [ClientExchange, ClientExchange];
  const refused = [first, { ...second, reply: replyOf(403, second.reply.json) }];
  expect(verdicts(refused, { reports: listed }).broken).toEqual(['CLIENT-10']);
});

const dateOf = (atMs: number) => new Date(startMs + atMs).toUTCString();

test.each([
  [429, 'CLIENT-1', dateOf(44_000)],
  [429, 'CLIENT-1', 'Saturday, 10-Jan-26 00:00:44 GMT'],
  [429, 'CLIENT-1', 'Sat Jan 10 00:00:44 2026'],
  [503, 'CLIENT-17', dateOf(44_000)],
] as const)('a %d with Retry-After as a date asks for a wait: %s, %s', (status, rule, header) => {
  const retryAfterMs = waitMs(header, 60, () => startMs);
  expect(retryAfterMs).toBe(44_000);
  const refused = { ...send(0, { id: 'a', status }), retryAfter: header, retryAfterMs };
  const early = verdicts([refused, send(43_999, { id: 'a' })]);
  expect(early.what(rule)[0]).toMatch(/: wait until that time \(request at /);
  expect(verdicts([refused, send(44_000, { id: 'a' })]).broken).toEqual([]);
});

test('a Retry-After that says nothing asks for no wait', () => {
  for (const header of ['', 'soon', '-1', 'Sat', 'Satan 7 GMT', 'NaN'])
    expect(waitMs(header, 1, () => startMs)).toBeUndefined();
  expect(waitMs(dateOf(-1_000), 1, () => startMs)).toBe(0);
});

test('CLIENT-10 delivered is what a read has shown as delivered', () => {
  const reports = [{ ...ofOrder, request_id: 'a', reported: 'delivered' }] as const;
  const sent = send(0, { id: 'a', messageId: 'm-1' });
  const read = (status: string) => get(60_000, 'read', { shows: status });
  expect(verdicts([sent, read('delivered')], { reports }).broken).toEqual([]);
  expect(verdicts([sent, read('sent')], { reports }).what('CLIENT-10')[0]).toMatch(
    /^order-17 was reported as delivered, but the client never read that \(last status: sent\)/,
  );
  expect(verdicts([sent], { reports }).what('CLIENT-10')[0]).toContain('(last status: never read)');
  const refused = [send(0, { id: 'a', status: 403 })];
  expect(verdicts(refused, { reports }).what('CLIENT-10')).toEqual([
    expect.stringMatching(/^order-17 was reported as delivered, but the service accepted no such/),
  ]);
});

test('CLIENT-12 a read an hour after the last one is a look-up, not a poll', () => {
  const final = get(0, 'read', { shows: 'delivered' });
  expect(verdicts([final, get(3_599_999, 'read')]).broken).toEqual(['CLIENT-12']);
  expect(verdicts([final, get(3_600_000, 'read'), get(dayMs, 'read')]).broken).toEqual([]);
});

test('CLIENT-9 names the places where a client says that it gave up', () => {
  const [what] = verdicts([send(0, { id: 'a', status: 503 })]).what('CLIENT-9');
  expect(what).toMatch(/--intents FILE.* toPassReferee\(\{ intents \}\)/);
});

const lineOf = (more: Partial<ReportedIntent>) =>
  latestByIntent([{ ...ofOrder, request_id: 'a', ...more }]);

test.each<[string, Partial<ReportedIntent>, RegExp]>([
  ['another recipient', { to: '+12025550124' }, /another to than/],
  ['another text', { message: 'Hello, and more' }, /another message than/],
  ['another sender', { from: '+12025550102' }, /another from than/],
  ['another time', { send_at: '2026-02-03T10:00:00Z' }, /another send_at than/],
  ['an id that was never sent', { request_id: 'b' }, /was never sent/],
])('CLIENT-10 a line that names %s than what was sent is found', (_, more, what) => {
  const { broken, of } = verdicts([send(0, { id: 'a' })], { reports: lineOf(more) });
  expect(broken).toEqual(['CLIENT-10']);
  expect(of('CLIENT-10').findings.map((one) => one.what)).toEqual([expect.stringMatching(what)]);
});

test('CLIENT-10 a line without an id may hold its numbers and its text as people write them', () => {
  const reports = latestByIntent([
    {
      intent: 'one',
      to: '+1 (202) 555-0123',
      from: '+1\u00a0202.555/0101',
      message: 'Cafe\u0301',
      reported: 'accepted',
    },
  ]);
  const sent = send(0, { id: 'a', message: 'Café' });
  expect(verdicts([sent], { reports }).broken).toEqual([]);
  const other = send(0, { id: 'a', message: 'Cafe' });
  expect(verdicts([other], { reports }).broken).toEqual(['CLIENT-10']);
});

test('a retry may write an accent as a character of its own: it is one message', () => {
  const [composed, apart] = ['Café', 'Cafe\u0301'];
  const lost = send(0, { id: 'a', message: composed, lost: true });
  const retry = (id: string, status: number) => send(1_000, { id, message: apart, status });
  expect(verdicts([lost, retry('a', 200)]).broken).toEqual([]);
  expect(verdicts([lost, retry('b', 202)]).broken).toEqual(['CLIENT-3', 'CLIENT-5']);
});

test('CLIENT-10 a line of what was not sent may say that it failed or that its end is unknown', () => {
  for (const reported of ['failed', 'unknown'] as const) {
    const reports = lineOf({ request_id: 'b', reported });
    expect(verdicts([send(0, { id: 'c', message: 'Bye' })], { reports }).broken).toEqual([]);
  }
});

test('CLIENT-9 unknown is an honest end after an unseen reply, and only then', () => {
  const reports = lineOf({ reported: 'unknown' });
  const unseen = [
    send(0, { id: 'a', lost: true }),
    send(9_000, { id: 'a', lost: true, status: 200 }),
  ];
  expect(verdicts(unseen).broken).toEqual(['CLIENT-9']);
  expect(verdicts(unseen, { reports }).broken).toEqual([]);
  const seen = [send(0, { id: 'a', status: 500 })];
  expect(verdicts(seen, { reports }).broken).toEqual(['CLIENT-9']);
  const what = verdicts(seen, { reports }).of('CLIENT-9').findings[0]?.what;
  expect(what).toContain('report it as failed (unknown is for a reply that it did not see)');
});

test('CLIENT-9 names a later send to the same recipient as one that may be the second copy', () => {
  const lines = [
    send(0, { id: 'a', lost: true }),
    send(9_000, { id: 'b', message: 'Hello (again)' }),
  ];
  expect(verdicts(lines).of('CLIENT-9').findings[0]?.what).toContain('it was sent twice');
});

test('CLIENT-5 a message that the client has read as failed may be sent again', () => {
  const read = { ...send(9_000, { status: 200, messageId: '1' }), endpoint: 'read', method: 'GET' };
  const failed = {
    ...read,
    body: '',
    fields: undefined,
    reply: replyOf(200, { message_id: '1', status: 'failed' }),
  };
  const [first, again] = [
    send(0, { id: 'a', messageId: '1' }),
    send(20_000, { id: 'b', messageId: '2' }),
  ];
  const named = { reports: bothIds };
  expect(verdicts([first, again], named).broken).toEqual(['CLIENT-5']);
  expect(verdicts([first, failed as never, again], named).broken).toEqual([]);
});

/** A send of which the record lacks the body. */
function unclearSend(atMs: number, line: Line = {}): ClientExchange {
  return { ...send(atMs, line), body: '', fields: undefined, lacksBody: true };
}

const early = [send(20_000, { id: 'a', status: 429, after: 30 }), send(30_000, { id: 'a' })];
const lost = { lost: true, status: 0 } as const;
const elsewhere = { ...unclearSend(25_000), endpoint: 'external_send' } as const;
const hundreds = Array.from({ length: 300 }, (_, at) =>
  send(100_000 + at * 1_000, { id: `n${at}`, message: `Text ${at}` }),
);
const sixTimes = [0, 1, 2, 3, 4, 5].map((at) => send(at * 5_000, { id: 'a', status: 500 }));
const dayLater = dayMs + 60_000;

test.each<[string, readonly ClientRuleId[], readonly ClientExchange[]]>([
  ['before an early retry', ['CLIENT-1'], [unclearSend(0), ...early]],
  ['after an early retry', ['CLIENT-1'], [...early, unclearSend(50_000)]],
  ['between a 429 and its retry', [], [...early, unclearSend(25_000)]],
  ['still open between a 429 and its retry', [], [unclearSend(0, { tookMs: 25_000 }), ...early]],
  ['of another caller', ['CLIENT-1'], [...early, unclearSend(25_000, { account: 'other' })]],
  ['of another endpoint', ['CLIENT-1'], [...early, elsewhere]],
  ['among hundreds', ['CLIENT-1'], [...early, ...hundreds, unclearSend(150_500)]],
  [
    'before a send that the wait of another covers',
    ['CLIENT-2'],
    [
      unclearSend(0),
      send(20_000, { id: 'a', status: 429, after: 30 }),
      send(25_000, { id: 'b', message: 'Ho' }),
      send(51_000, { id: 'a' }),
    ],
  ],
  [
    'itself in the wait of another',
    [],
    [send(0, { id: 'a', status: 429, after: 30 }), unclearSend(9_000), send(31_000, { id: 'a' })],
  ],
  [
    'before a retry under another id, which may be its own',
    [],
    [unclearSend(0), send(9_000, { id: 'a', ...lost }), send(12_000, { id: 'b' })],
  ],
  [
    'after a retry under another id, for the first may come back',
    [],
    [send(9_000, { id: 'a', ...lost }), send(12_000, { id: 'b' }), unclearSend(99_000)],
  ],
  [
    'between two messages of one id',
    ['CLIENT-6'],
    [send(0, { id: 'a' }), unclearSend(5_000), send(9_000, { id: 'a', message: 'Ho' })],
  ],
  [
    'more than a day before a late retry',
    ['CLIENT-7'],
    [unclearSend(0), send(dayLater, { id: 'a', ...lost }), send(3 * dayMs, { id: 'a' })],
  ],
  [
    'less than a day before a late retry',
    [],
    [unclearSend(0), send(60_000, { id: 'a', ...lost }), send(2 * dayMs, { id: 'a' })],
  ],
  [
    'before a repeated refusal',
    ['CLIENT-8'],
    [unclearSend(0), send(1_000, { id: 'a', status: 403 }), send(2_000, { id: 'a', status: 403 })],
  ],
  [
    'between two refusals',
    [],
    [
      send(1_000, { id: 'a', status: 403 }),
      unclearSend(1_500),
      send(2_000, { id: 'a', status: 403 }),
    ],
  ],
  [
    'a day before what is given up',
    ['CLIENT-9'],
    [unclearSend(0), send(dayLater, { id: 'a', ...lost })],
  ],
  ['after what may be given up', [], [send(0, { id: 'a', ...lost }), unclearSend(9_000)]],
  [
    'before another send of what may be given up',
    [],
    [
      unclearSend(0),
      send(dayLater, { id: 'a', status: 429, after: 1 }),
      send(2 * dayMs, { id: 'b' }),
    ],
  ],
  [
    'among six attempts',
    ['CLIENT-14'],
    [...sixTimes, unclearSend(7_000), send(60_000, { id: 'a' })],
  ],
])('a send without its body %s', (_, expected, lines) => {
  const ordered = lines.toSorted((one, other) => one.sentAt - other.sentAt);
  expect(verdicts(ordered).broken).toEqual(expected);
});

test('the notice of a send without its body says where it is, and how many more there are', () => {
  const { report } = verdicts([...early, unclearSend(50_000), unclearSend(51_000)]);
  expect(report.notices[0]?.what).toBe(
    'the body of exchange 3 was not recorded (nor that of 1 later send): what it could decide of the sends of acme to send is not judged',
  );
});

test('a body that the recorder cut is not the body that was sent', () => {
  const cut = { body: '{"to":"+12025550123","from":"+120', fields: undefined };
  const [refused, retry] = early.map((one) => ({ ...one, ...cut }));
  if (refused === undefined || retry === undefined) throw new Error('no sends');
  expect(verdicts([refused, retry]).broken).toEqual([]);
});

test('CLIENT-8 405 and 415 are final refusals', () => {
  for (const status of [405, 415]) {
    expect(
      verdicts([send(0, { id: 'a', status }), send(9_000, { id: 'a', status })]).broken,
    ).toContain('CLIENT-8');
  }
});

test('a run in which no send was accepted says so, and counts its intents', () => {
  const { report } = verdicts([
    send(0, { id: 'a', status: 415 }),
    send(1_000, { id: 'b', status: 500 }),
  ]);
  expect(report.notices.at(-1)?.what).toContain('none of 2 sends was accepted (status 415, 500)');
  expect(reportJson(report).intents).toEqual({ accepted: 0, refused: 1, open: 1 });
});

test('CLIENT-1 a send of the same id on another connection was on its way, within the grace alone', () => {
  const pair = (laterMs: number, connection: string | undefined) => [
    { ...send(0, { id: 'x', status: 429, after: 30 }), connection: 'one' },
    { ...send(laterMs, { id: 'x', status: 429, after: 30 }), connection },
    send(40_000, { id: 'x' }),
  ];
  expect(verdicts(pair(5, 'two')).of('CLIENT-1').verdict).toBe('passed');
  expect(verdicts(pair(5, 'one')).of('CLIENT-1').verdict).toBe('failed');
  expect(verdicts(pair(5, undefined)).of('CLIENT-1').verdict).toBe('failed');
  expect(verdicts(pair(1_001, 'two')).of('CLIENT-1').verdict).toBe('failed');
});

test('CLIENT-1 a loop that opens a connection for each retry is on its way but once', () => {
  const loop = [0, 400, 800, 1_200].map((atMs) => ({
    ...send(atMs, { id: 'x', status: atMs < 1_200 ? 429 : 202, after: 30 }),
    connection: String(atMs),
  }));
  const { of, report } = verdicts(loop.slice(0, 3));
  expect(of('CLIENT-1').findings).toEqual([]);
  expect(report.notices[0]?.what).toContain('2 sends of an id that got a 429 came on another conn');
  expect(verdicts(loop).what('CLIENT-1')).toEqual([expect.stringContaining('29.6 s before')]);
});

test.each([
  [
    'a wait that cannot be read',
    [{ ...send(0, { id: 'a', status: 429 }), retryAfter: 'soon' }, send(90_000, { id: 'a' })],
    'the Retry-After of 1 refusal says no wait that can be read (the first: soon)',
  ],
  [
    'a tight loop without a wait',
    [0, 200, 400, 600].map((atMs) => send(atMs, { id: 'a', status: atMs < 600 ? 429 : 202 })),
    '3 retries each came within a second of a 429 that names no wait: a tight loop',
  ],
  [
    'an early retry of a gateway’s error',
    [send(0, { id: 'a', status: 502, after: 30 }), send(2_000, { id: 'a' })],
    'the retry of a 502 came before its Retry-After (30) was over',
  ],
])('%s breaks no rule, and a notice says so', (_, exchanges, what) => {
  const { rules, notices } = verdicts(exchanges).report;
  expect(rules.filter(({ verdict }) => verdict === 'failed')).toEqual([]);
  expect(notices.map((notice) => notice.what)).toEqual([expect.stringContaining(what)]);
});

test('a 429 whose headers were not recorded is no loop', () => {
  const blind = (atMs: number) => {
    const refused = send(atMs, { id: 'a', status: 429 });
    return { ...refused, reply: { ...refused.reply, lacksHeaders: true } as Reply };
  };
  const { notices } = verdicts([blind(0), blind(200), blind(400), send(600, { id: 'a' })]).report;
  expect(notices).toEqual([]);
});

test('CLIENT-9 a garbled reply is called so', () => {
  const garbled = { ...send(0, { id: 'a', lost: true }), isGarbled: true };
  const { rules } = verdicts([garbled]).report;
  const [finding] = rules.find(({ id }) => id === 'CLIENT-9')?.findings ?? [];
  expect(finding?.what).toContain('given up after a reply whose body was garbled');
});

test.each([
  ['order-é', 'order-é'.normalize('NFD')],
  ['order-1', 'order-1 '],
])('CLIENT-3 ids that only look the same are said to: %s and %s', (id, other) => {
  const lines = [send(0, { id, status: 503 }), send(5_000, { id: other })];
  const [finding] = verdicts(lines).of('CLIENT-3').findings;
  expect(finding?.what).toContain(`instead of ${id}, which only looks the same: keep`);
});

test('a send under the id of a message that was read as failed sends nothing, which a notice says', () => {
  const first = send(0, { id: 'a', messageId: 'm-1' });
  const again = send(60_000, { id: 'a', messageId: 'm-1', status: 200 });
  const noticesAfter = (shows: string) =>
    verdicts([first, get(30_000, 'read', { shows }), again]).report.notices;
  expect(noticesAfter('failed')).toMatchObject([
    { what: expect.stringContaining('to send again, give a new id'), exchanges: [{ number: 3 }] },
  ]);
  expect(noticesAfter('sent')).toEqual([]);
  const bare = { ...again, lacksBody: true };
  const read = get(30_000, 'read', { shows: 'failed' });
  expect(verdicts([first, read, bare]).report.notices).toEqual([]);
});

test.each([
  [{ lost: true }, 'it was accepted, and exchange 3'],
  [{ status: 503 }, 'it may have been accepted, and exchange 3'],
] as const)(
  'CLIENT-9 a 429 does not show what became of the attempt %j before it',
  (first, text) => {
    const refused = send(5_000, { id: 'a', status: 429, after: 5 });
    const lines = [
      send(0, { id: 'a', ...first }),
      refused,
      send(10_000, { id: 'b', message: 'Bye' }),
    ];
    expect(verdicts(lines).what('CLIENT-9')[0]).toContain(text);
  },
);

test('CLIENT-9 a message that takes the place of a refused one is named, with what joins the two', () => {
  const refused = send(0, { id: 'a', message: 'Code 1', status: 429, after: 5 });
  const code = { id: 'b', message: 'Code 2' };
  const [finding] = verdicts([refused, send(6_000, code)]).of('CLIENT-9').findings;
  expect(finding?.what).toContain(
    'exchange 2 is a similar send to the same recipient: if both are one message, give both ids one name',
  );
  const line = { intent: 'code', to: '+12025550123', from: '+12025550101' };
  const reports = latestByIntent([
    { ...line, message: 'Code 1', request_id: 'a' },
    { ...line, message: 'Code 2', request_id: 'b', reported: 'accepted' },
  ]);
  expect(verdicts([refused, send(6_000, code)], { reports }).broken).toEqual([]);
});

test('a time in another spelling is the same time: CLIENT-6 and CLIENT-3', () => {
  const at = (ms: number, line: Line, sendAt: string | null) => {
    const one = send(ms, line);
    return { ...one, fields: { ...one.fields, send_at: sendAt } };
  };
  const first = at(0, { id: 'a' }, '2026-02-01T02:00:00+02:00');
  const again = at(9_000, { id: 'a', status: 200 }, '2026-02-01T00:00:00.000Z');
  expect(verdicts([first, again]).broken).toEqual([]);
  expect(verdicts([send(0, { id: 'a' }), at(9_000, { id: 'a' }, null)]).broken).toEqual([]);
  const renamed = at(9_000, { id: 'b' }, '2026-02-01T00:00:00Z');
  expect(verdicts([{ ...first, isSeen: false }, renamed]).broken).toContain('CLIENT-3');
});

test('CLIENT-7 counts from when the service may have accepted first', () => {
  const late = send(dayMs + 2_000, { id: 'a', messageId: 'm-2' });
  expect(verdicts([send(0, { id: 'a', status: 502 }), late]).broken).toEqual(['CLIENT-7']);
  // A 202 shows that the first attempt was not accepted.
  const accepted = send(5_000, { id: 'a', messageId: 'm-1', lost: true });
  const unseen = send(0, { id: 'a', status: 502 });
  expect(verdicts([unseen, accepted, late]).broken).toEqual([]);
  const slow = send(0, { id: 'a', lost: true, tookMs: 30_000 });
  const { broken, report } = verdicts([slow, late]);
  expect([broken, report.notices.length]).toEqual([[], 1]);
});

test('CLIENT-8 a request that says the same in other JSON is unchanged; another type is not', () => {
  const refused = {
    ...send(0, { id: 'a', status: 415 }),
    headers: { 'content-type': 'text/plain' },
  };
  const json = { 'content-type': 'application/json' };
  const corrected = { ...send(9_000, { id: 'a', status: 429, after: 1 }), headers: json };
  const last = { ...send(19_000, { id: 'a' }), headers: json };
  expect(verdicts([refused, corrected, last]).broken).toEqual([]);
  const fields = Object.fromEntries(Object.entries(refused.fields ?? {}).reverse());
  const respelled = { ...refused, sentAt: startMs + 9_000, body: JSON.stringify(fields), fields };
  expect(verdicts([refused, respelled]).broken).toContain('CLIENT-8');
});

test('CLIENT-9 names a second copy also where the record does not show an acceptance', () => {
  for (const status of [0, 500]) {
    const first = send(0, status === 0 ? { id: 'a', status, lost: true } : { id: 'a', status });
    const { what } = verdicts([first, send(9_000, { id: 'b', message: 'Hello again' })]);
    expect(what('CLIENT-9')[0]).toContain('it may have been accepted, and exchange 2');
  }
});

test('CLIENT-4 an id that is a number is an id, and a form shows none', () => {
  const numbered = send(0);
  const fields = { ...numbered.fields, request_id: 5 };
  const form = { ...send(0), body: 'to=1&request_id=a', fields: undefined };
  expect(verdicts([{ ...numbered, fields }]).of('CLIENT-4').verdict).toBe('passed');
  expect(verdicts([form]).of('CLIENT-4').verdict).toBe('not_exercised');
});

test('a send without its body leaves judged what each later send shows alone', () => {
  const unclear = { ...send(0), body: '', fields: undefined, lacksBody: true };
  const { broken } = verdicts([unclear, send(9_000, { status: 400 })]);
  expect(broken).toEqual(['CLIENT-4', 'CLIENT-15']);
});
