/** Judges on exchanges that no case made: what they find, and what they must leave alone. */
import { expect, test } from 'vitest';
import type { RuleId } from '#contract/rules.ts';
import type { Caller, Exchange } from '../evidence/exchange.ts';
import { judges } from './all.ts';
import { Findings, type Trace } from './judge.ts';

const id = '7b0f7f3e-2c44-4a7e-9a39-0d6f4a1f6a01';
const body = {
  status: 'queued',
  message_id: id,
  request_id: '',
  device_id: '7b0f7f3e-2c44-4a7e-9a39-0d6f4a1f6a02',
  from_number: '+12025550101',
  to: '+12125550150',
  created_at: '2026-03-01T10:00:00.070Z',
};
const start = Date.parse('2026-03-01T10:00:00.000Z');
const fields = { from: body.from_number, to: body.to, message: 'conformance' };
const caller: Caller = { account: 'acme', key: 'valid', isNew: true };

interface Plan {
  readonly at?: number;
  readonly tookMs?: number;
  readonly more?: Partial<Exchange>;
}

/** One exchange, sent so many milliseconds after the start. */
function exchange(
  status: number,
  json: object,
  { at = 0, tookMs = 20, more = {} }: Plan,
): Exchange {
  const text = JSON.stringify(json);
  const sentAt = start + at;
  return {
    method: 'GET',
    path: '',
    query: '',
    headers: { authorization: 'Bearer one' },
    caller,
    sentAt,
    answeredAt: sentAt + tookMs,
    isRetried: false,
    reply: {
      status,
      json,
      text,
      digest: text,
      headers: { 'content-type': 'application/json' },
      interruptions: more.isRetried ? 1 : 0,
      sentAt,
      answeredAt: sentAt + tookMs,
      exchange: {} as Exchange['reply']['exchange'],
    },
    ...more,
  };
}

function send(status: number, json: object, sent: object = {}, plan: Plan = {}): Exchange {
  const all = { ...fields, ...sent };
  const more = {
    method: 'POST',
    path: '/api/v1/sms/send/',
    endpoint: 'send',
    body: JSON.stringify(all),
    fields: all,
    sender: { is: 'own' },
    ...plan.more,
  } as const;
  const reply = status < 300 ? { ...body, ...json } : json;
  return exchange(status, reply, { ...plan, more });
}

function throttled(at: number, waitS: number): Exchange {
  const one = send(429, {}, {}, { at });
  const headers = { ...one.reply.headers, 'retry-after': `${waitS}` };
  return { ...one, reply: { ...one.reply, headers } };
}

function read(json: object, plan: Plan = {}): Exchange {
  const path = `/api/v1/sms/${id}/`;
  return exchange(200, { ...body, ...json }, { ...plan, more: { path, endpoint: 'read', id } });
}

function judge(
  rule: RuleId,
  exchanges: readonly Exchange[],
  log: readonly Exchange[] = exchanges,
  more: Partial<Trace> = {},
): Findings {
  const findings = new Findings();
  const trace: Trace = {
    exchanges,
    log,
    listings: [],
    createdKeys: [],
    knownSince: Number.NEGATIVE_INFINITY,
    hasExactTimes: false,
    assumption: () => undefined,
    ...more,
  };
  judges[rule](trace, findings);
  return findings;
}

/** The target's clock is ahead of ours by about so much. */
function clockAhead(ms: number): Plan {
  return { more: { ahead: { least: ms - 1_000, most: ms + 1_000 } } };
}

const { reply: whole, ...sentRead } = read({ request_id: '"to":' });
const nameTwice = whole.text.replace('{', '{"status":"sent",');

const byDashboard = { endpoint: 'dashboard_send', path: '/api/sms/send/' } as const;
const foreign = { ...byDashboard, sender: { is: 'foreign' } } as const;

const inMicroseconds = { send_at: '2026-03-01T10:01:00.123456Z' };
const smallLetters = { send_at: '2026-03-01t10:01:00z' };
const sendingSoon = read({ status: 'sending' }, { at: 5_000 });
const answered402 = exchange(
  402,
  {},
  { more: { endpoint: 'read', caller: { ...caller, quota: 0 } } },
);

/** A message that the dashboard accepts under a quota of so many. */
function dashboardSend(quota: number): Exchange {
  return send(202, {}, {}, { more: { ...byDashboard, caller: { ...caller, quota } } });
}

/** Five messages that are sent when the first one is overdue, and picked up before `at` 75 s. */
function laterMessages(device_id = body.device_id): Exchange[] {
  return [1, 2, 3, 4, 5].flatMap((n) => {
    const message_id = `${id.slice(0, -1)}${n + 1}`;
    const seen = read({ message_id, device_id, status: 'sending' }, { at: 70_000 + n });
    return [
      send(202, { message_id, device_id }, {}, { at: 40_000 + n }),
      { ...seen, id: message_id },
    ];
  });
}

function withOddKey(status: number): Exchange {
  const headers = { authorization: `Bearer one'` };
  const unknown = { key: 'wrong', isNew: false } as const;
  return exchange(status, {}, { at: 50, more: { endpoint: 'read', headers, caller: unknown } });
}

/** The page of a gateway. */
function pageOf(status: number, asked: string): Exchange {
  const one = exchange(status, {}, { at: 100, more: { endpoint: 'read', id: asked } });
  const headers = { 'content-type': 'text/html' };
  return { ...one, reply: { ...one.reply, headers, json: undefined, text: '<h1>Bad</h1>' } };
}

const elsewhere = { ...byDashboard, sender: { is: 'unknown' } } as const;
const notFound = { code: 'from_number_not_found' };
const fromUnknown = send(403, notFound, {}, { more: { sender: { is: 'unknown' } } });

/** A request without a key, by a method or path that the document does not name. */
function keyless(status: number, json: object, more: Partial<Exchange>): Exchange {
  const unknown = { key: 'missing', isNew: false } as const;
  return exchange(status, json, { at: 50, more: { headers: {}, caller: unknown, ...more } });
}

const wrongKey = { code: 'auth_invalid_keyy' };
const oddPath = keyless(404, {}, { endpoint: 'read', id: `${id};a=b` });

/** Two messages, the second of which was created so much later by its own time. */
function createdApart(created_at: string): Exchange[] {
  return [send(202, {}), send(202, { message_id: body.device_id, created_at }, {}, { at: 100 })];
}

/** Reads of an own message, of many unknown ids, and of another account's message. */
function readsOfOthers(headers: Readonly<Record<string, string>>): Exchange[] {
  const notFoundOf = (asked: string, at: number, more: Readonly<Record<string, string>>) => {
    const one = exchange(404, {}, { at, more: { endpoint: 'read', id: asked } });
    return { ...one, reply: { ...one.reply, headers: { ...one.reply.headers, ...more } } };
  };
  const theirs = body.device_id;
  const other: Caller = { account: 'other', key: 'valid', isNew: true };
  const unknown = Array.from({ length: 16 }, (_, i) => notFoundOf(`unknown-${i}`, 200 + i, {}));
  const sends = [send(202, {}), send(202, { message_id: theirs }, {}, { more: { caller: other } })];
  return [...sends, read({}, { at: 100 }), ...unknown, notFoundOf(theirs, 300, headers)];
}

const moved = exchange(308, {}, { at: 50, more: { ...byDashboard, method: 'POST' } });

const brokenBy: [RuleId, string, Exchange[]][] = [
  ['AUTH-1', 'a message by another path', [read({}), keyless(200, body, {})]],
  [
    'AUTH-1',
    'a HEAD that needs no key',
    [read({}), keyless(200, {}, { method: 'HEAD', endpoint: 'read' })],
  ],
  [
    'AUTH-4',
    'an unknown number elsewhere',
    [send(202, {}), fromUnknown, send(202, {}, {}, { more: elsewhere })],
  ],
  ['RES-4', 'the times of two clocks', createdApart('2026-03-01T10:00:45.070Z')],
  ['RES-4', 'a time that stands still', createdApart('2026-03-01T09:59:30.000Z')],
  ['AUTH-5', 'a foreign number elsewhere', [send(202, {}), send(202, {}, {}, { more: foreign })]],
  ['RES-1', 'a field twice', [{ ...sentRead, reply: { ...whole, text: nameTwice } }]],
  ['ERR-3', 'a 429 after the wait', [throttled(0, 1), throttled(2_000, 16)]],
  ['RES-4', 'a malformed time', [send(202, { created_at: '2026-03-01T10:00:00.7Z' })]],
  ['RES-4', 'another time', [send(202, {}), read({ created_at: '2026-03-01T10:00:01.000Z' })]],
  ['RES-2', 'a number that was not named', [send(202, { from_number: '+12025550102' })]],
  ['RES-2', 'a value that is not text', [send(202, { message_id: { toString: null } })]],
  ['SEND-2', 'a recipient without a plus', [send(202, {}, { to: '12125550150' })]],
  ['SEND-3', 'a new message that is answered 200', [send(200, {})]],
  ['SEND-5', 'a 500 to a leap second', [send(500, {}, { send_at: '2040-06-30T23:59:60Z' })]],
  ['SEND-7', 'a hold in small letters', [send(202, {}, smallLetters), sendingSoon]],
  ['SEND-7', 'refused microseconds', [send(400, { code: 'send_at' }, inMicroseconds)]],
  ['ERR-1', 'a read that a spent quota refuses', [read({}), answered402]],
  ['ERR-1', 'a message of the dashboard beyond the quota', [dashboardSend(0)]],
  ['AUTH-3', 'a key with a quote that is answered 500', [read({}), withOddKey(500)]],
  [
    'SEND-4',
    'a replay with another body',
    [
      send(202, {}, { request_id: 'a' }),
      send(200, { status: 'sent' }, { request_id: 'a' }, { at: 100 }),
    ],
  ],
  [
    'SEND-4',
    'a second message within 24 hours',
    [send(202, {}, { request_id: 'a' }), send(202, {}, { request_id: 'a' }, { at: 86_000_000 })],
  ],
  [
    'STATE-3',
    'a status that goes back',
    [
      send(202, {}),
      read({ status: 'sent' }, { at: 100 }),
      read({ status: 'sending' }, { at: 200 }),
    ],
  ],
  [
    'SVC-3',
    'a message that is still queued after a minute',
    [send(202, {}), read({}, { at: 60_000 })],
  ],
  [
    'SVC-3',
    'a message that later ones of its SIM have passed',
    [send(202, {}), ...laterMessages(), read({}, { at: 80_000 })],
  ],
  [
    'ERR-1',
    'a message beyond the quota to a number that might have been refused',
    [send(202, {}, { to: '+447700900123' }, { more: { caller: { ...caller, quota: 0 } } })],
  ],
  [
    'AUTH-4',
    'a message from an unknown number to one that might have been refused',
    [
      send(202, {}),
      send(202, {}, { to: '+447700900123' }, { at: 50, more: { sender: { is: 'unknown' } } }),
    ],
  ],
  [
    'SVC-3',
    'a held message that is still queued a minute after its time by a slow clock',
    [
      send(202, {}, { send_at: '2026-03-01T10:00:12.000Z' }, clockAhead(-40_000)),
      read({}, { at: 113_000 }),
    ],
  ],
  [
    'SEND-7',
    'a message that leaves before its time',
    [
      send(202, {}, { send_at: '2026-03-01T11:00:00.000Z' }),
      read({ status: 'sending' }, { at: 60_000 }),
    ],
  ],
  ['READ-2', 'a connection that ends', readsOfOthers({ connection: 'close' })],
  ['VER-1', 'a path that has moved', [send(202, {}), moved]],
  [
    'READ-1',
    'an own message that is not found',
    [send(202, {}), { ...read({}), reply: { ...read({}).reply, status: 404 } }],
  ],
];

test.each(brokenBy)('%s is broken by %s', (rule, _, exchanges) => {
  expect(judge(rule, exchanges).broken).toBeDefined();
});

/** The connection broke, and the send was repeated. */
const lost: Plan = { more: { isRetried: true } };

const inTwelveSeconds = { send_at: '2026-03-01T10:00:12.000Z' };
const inOneMinute = { send_at: '2026-03-01T10:01:00.000Z' };

const leftAlone: [RuleId, string, Exchange[]][] = [
  ['ERR-1', 'a message of the dashboard within the quota', [dashboardSend(1)]],
  ['RES-4', 'times of clocks that nearly agree', createdApart('2026-03-01T10:00:02.070Z')],
  ['AUTH-1', 'the page of another path', [read({}), keyless(200, {}, {})]],
  ['AUTH-1', 'a router that refuses an odd id before the key', [read({}), oddPath]],
  [
    'AUTH-3',
    'a router that refuses an odd id before the key',
    [read({}), keyless(401, wrongKey, { endpoint: 'read' }), oddPath],
  ],
  [
    'AUTH-1',
    'a preflight that needs no key',
    [read({}), keyless(204, {}, { method: 'OPTIONS', endpoint: 'read' })],
  ],
  [
    'AUTH-3',
    'a method that is refused before the key',
    [
      read({}),
      keyless(401, { code: 'auth_invalid_keyy' }, { endpoint: 'read' }),
      keyless(405, {}, { method: 'DELETE', endpoint: 'read' }),
    ],
  ],
  [
    'SEND-5',
    'a 400 that names an open field before an invalid one',
    [send(400, { code: 'message' }, { message: ' ', send_at: 'soon' })],
  ],
  [
    'SEND-5',
    'half of an emoji',
    [send(202, {}, { message: 'x\ud83d' }), send(400, { code: 'to' }, { to: 'x' })],
  ],
  [
    'SVC-3',
    'a message that later ones of another SIM have passed',
    [send(202, {}), ...laterMessages('another SIM'), read({}, { at: 80_000 })],
  ],
  ...[{ message_id: id }, { id: 17, text: fields.message }].map(
    (task): [RuleId, string, Exchange[]] => [
      'SVC-3',
      `a message that a poll was handed as ${Object.keys(task)} before others passed it`,
      [
        send(202, {}),
        exchange(200, { tasks: [task] }, { at: 100, more: { endpoint: 'tasks' } }),
        ...laterMessages(),
        read({}, { at: 80_000 }),
      ],
    ],
  ),
  ...['2040-01-01T00:00:00.123456789Z', '2040-01-01T01:00:00+01:00', '20400101T000000Z', 17].map(
    (send_at): [RuleId, string, Exchange[]] => [
      'SVC-3',
      `a message that is held until ${send_at}, which later ones of its SIM have passed`,
      [send(202, {}, { send_at }), ...laterMessages(), read({}, { at: 80_000 })],
    ],
  ),
  [
    'SVC-3',
    'a hold that ends later by a clock that is 40 s behind',
    [send(202, {}, inTwelveSeconds, clockAhead(-40_000)), read({}, { at: 60_000 })],
  ],
  [
    'SEND-7',
    'a hold that ends earlier by a clock that is 40 s ahead',
    [send(202, {}, inOneMinute, clockAhead(40_000)), read({ status: 'sending' }, { at: 30_000 })],
  ],
  ...['20260302T100000Z', '2026-W10-1T10Z', '2026-03-02 10:00:00Z', '2026-03-02'].map(
    (send_at): [RuleId, string, Exchange[]] => [
      'SEND-7',
      `the time ${send_at}, which some services read`,
      [send(202, {}, { send_at })],
    ],
  ),
  [
    'RES-2',
    'either number after a send with both sender fields',
    [send(202, { from_number: '+12025550102' }, { from_number: '+12025550102' })],
  ],
  [
    'RES-5',
    'another name for the status of a held message',
    [send(202, {}, { send_at: '2026-03-02T10:00:00.000Z' }), read({ status: 'scheduled' })],
  ],
  ['RES-1', 'the name of a field in a text', [{ ...sentRead, reply: whole }]],
  [
    'RES-1',
    'a list of received messages',
    [exchange(200, { results: [] }, { more: { endpoint: 'received' } })],
  ],
  [
    'SEND-3',
    'a 200 to a send that was retried',
    [send(200, {}, {}, { more: { isRetried: true } })],
  ],
  [
    'SEND-4',
    'a replay of a send whose 202 was lost',
    [send(200, {}, { request_id: 'a' }, lost), send(200, {}, { request_id: 'a' }, { at: 100 })],
  ],
  [
    'SEND-4',
    'a replay of a send that was never answered',
    [{ ...send(0, {}, { request_id: 'a' }) }, send(200, {}, { request_id: 'a' }, { at: 100 })],
  ],
  ['READ-2', 'a date that goes on', readsOfOthers({ date: 'Sun, 01 Mar 2026 10:00:01 GMT' })],
  ['READ-2', 'a page of a gateway', [send(202, {}), read({}, { at: 50 }), pageOf(400, '%00')]],
  ['AUTH-3', 'a malformed header that is answered 400', [read({}), withOddKey(400)]],
  [
    'SEND-7',
    'nanoseconds',
    [send(400, { code: 'send_at' }, { send_at: '2026-03-01T10:01:00.123456789Z' })],
  ],
  [
    'READ-2',
    'a message that a repeated send created',
    [send(200, {}, { request_id: 'a' }, lost), read({}, { at: 100 })],
  ],
  [
    'LIMIT-1',
    'a task for a send that was throttled when it was repeated',
    [
      // The first try may have spent the last token.
      ...Array.from({ length: 119 }, (_, i) => send(202, {}, {}, { at: i - 200 })),
      send(429, {}, { request_id: 'a', message: 'conformance a' }, lost),
      exchange(
        200,
        { tasks: [{ message: 'conformance a' }] },
        { at: 100, more: { endpoint: 'tasks' } },
      ),
    ],
  ],
  ['VER-1', 'a repeated send that is answered 200', [send(200, {}, { request_id: 'a' }, lost)]],
  ['SEND-3', 'a 429', [send(429, {})]],
  [
    'ERR-3',
    'a send from a deactivated SIM after the wait',
    [
      throttled(0, 2),
      send(
        503,
        { code: 'device_inactive' },
        {},
        { at: 3_000, more: { sender: { is: 'inactive' } } },
      ),
    ],
  ],
  ['SEND-2', 'a number that only some services take', [send(400, { code: 'to' }, { to: '+12' })]],
  [
    'SEND-4',
    'a 409 to another text',
    [
      send(202, {}, { request_id: 'a' }),
      send(409, {}, { request_id: 'a', message: 'another' }, { at: 100 }),
    ],
  ],
  [
    'SEND-4',
    'a new message a day later',
    [
      send(202, {}, { request_id: 'a' }),
      send(202, { message_id: 'another' }, { request_id: 'a' }, { at: 86_500_000 }),
    ],
  ],
  [
    'SVC-3',
    'a read that came late, and shows another status',
    [send(202, {}), read({}, { at: 700 }), read({ status: 'sent' }, { at: 48_700 })],
  ],
  [
    'ERR-3',
    'a 429 after the wait, if a request that was long on its way passed meanwhile',
    [throttled(0, 1), send(202, {}, {}, { tookMs: 1_500 }), throttled(2_000, 16)],
  ],
  [
    'STATE-3',
    'reads that overlap',
    [
      send(202, {}),
      read({ status: 'sending' }, { at: 100, tookMs: 500 }),
      read({ status: 'queued' }, { at: 200 }),
    ],
  ],
];

test.each(leftAlone)('%s leaves %s alone', (rule, _, exchanges) => {
  expect(judge(rule, exchanges).broken).toBeUndefined();
});

const long = `conformance a ${'x'.repeat(300)}`;
const stranger = { account: 'other', key: 'valid', isNew: true } as const;

function tasks(message: string, at: number, more: Partial<Exchange> = {}): Exchange {
  const json = { tasks: [{ message_id: id, message }] };
  return exchange(200, json, { at, more: { endpoint: 'tasks', id: body.device_id, ...more } });
}

const heard: [RuleId, string, Exchange[]][] = [
  [
    'STATE-2',
    "another account's key",
    [send(202, {}, { message: long }), tasks(long, 100, { caller: stranger })],
  ],
  ['STATE-2', 'twice', [send(202, {}, { message: long }), tasks(long, 100), tasks(long, 200)]],
  [
    'STATE-2',
    'shows 160 of them',
    [send(202, {}, { message: long }), tasks(long.slice(0, 160), 100)],
  ],
  [
    'SEND-6',
    'external_send takes',
    [send(202, {}, { message: 'x'.repeat(1_601) }, { more: { endpoint: 'external_send' } })],
  ],
];

test.each(heard)('%s: a notice says "%s"', (rule, text, exchanges) => {
  const { firstNotice: said, broken } = judge(rule, exchanges);
  expect([said?.text, broken]).toEqual([expect.stringContaining(text), undefined]);
});

test('STATE-2 a whole text that is handed out once is not a notice', () => {
  expect(judge('STATE-2', [send(202, {}, { message: long }), tasks(long, 100)]).firstNotice).toBe(
    undefined,
  );
});

test('LIMIT-4 a limit that breaks only when requests arrive at once is named as such', () => {
  const received = (status: number, at: number, tookMs: number) =>
    exchange(
      status,
      {},
      { at, tookMs, more: { endpoint: 'received', ahead: { least: 0, most: 0 } } },
    );
  const atOnce = Array.from({ length: 130 }, (_, i) => received(200, 10_000 + i, 500));
  const inTurn = Array.from({ length: 124 }, (_, i) =>
    received(i < 120 ? 200 : 429, 200_000 + i * 10, 5),
  );
  const actual = (all: Exchange[]) => judge('LIMIT-4', all).broken?.actual;
  expect(actual([...atOnce, received(429, 10_600, 5), ...inTurn])).toContain('arrive at once');
  expect(actual([...atOnce, received(429, 10_600, 5)])).not.toContain('arrive at once');
});

test('the other sends: a read of their message is judged, and an id that version 1 does not know is open', () => {
  const sender = { is: 'own', deviceId: body.device_id } as const;
  const sent = send(202, {}, {}, { more: { ...byDashboard, sender } });
  const brokenBy = (rule: RuleId, json: object) =>
    judge(rule, [sent, read(json, { at: 5_000 })]).broken?.expected;
  for (const rule of ['RES-2', 'RES-4', 'RES-6', 'READ-1'] as const)
    expect(brokenBy(rule, {}), rule).toBe(undefined);
  expect(brokenBy('RES-2', { to: '+12125550151' })).toContain('to of a read');
  expect(brokenBy('RES-4', { created_at: '2026-03-01T11:00:00.070Z' })).toContain('created_at');
  const otherDevice = { device_id: id };
  expect(brokenBy('RES-6', otherDevice)).toContain('device_id of a read');
  // Its Send page may send from another number of the account.
  expect(brokenBy('RES-6', { ...otherDevice, from_number: '+12025550102' })).toBe(undefined);
  const unknown = exchange(404, {}, { at: 5_000, more: { endpoint: 'read', id } });
  expect(judge('READ-1', [sent, unknown]).broken).toBe(undefined);
});

test('READ-3 too few reads are no slow target if a send was refused before them', () => {
  const missing = (...all: Exchange[]) => judge('READ-3', all).missing?.message;
  expect(missing(send(503, { code: 'busy' }), read({}))).toContain(
    '/api/v1/sms/send/ was answered 503 {"code":"busy"}',
  );
  expect(missing(send(202, {}), read({}))).toContain('too slow to show a limit');
});

test('SEND-2 a 400 that names more than the wrong field says which names it has', () => {
  const refused = send(400, { from: [], to: ['invalid'] }, { to: 'x' });
  const { expected, actual } = judge('SEND-2', [refused]).broken ?? {};
  expect([expected, actual]).toEqual([
    'a 400 that names `to` alone',
    'it names to, from: 400 {"from":[],"to":["invalid"]}',
  ]);
});

test('LIMIT-4 a 429 that comes too soon names the calls with a revoked key before it', () => {
  const received = (status: number, at: number, by: Caller) =>
    exchange(status, {}, { at, more: { endpoint: 'received', caller: by } });
  const revoked = Array.from({ length: 105 }, (_, i) =>
    received(401, i * 10, { key: 'revoked', isNew: false, address: 'peer' }),
  );
  const users = Array.from({ length: 20 }, (_, i) =>
    received(i < 15 ? 200 : 429, 2_000 + i * 100, caller),
  );
  const actual = (all: Exchange[]) => judge('LIMIT-4', all).broken?.actual;
  expect(actual([...revoked, ...users])).toContain('after 105 with a revoked key');
  expect(actual(users)).not.toContain('revoked');
  // Had the limit counted them, it would have been met sooner.
  const more = revoked.map((one) => ({ ...one, sentAt: one.sentAt + 5 }));
  expect(actual([...revoked, ...more, ...users])).not.toContain('revoked');
});

const otherId = id.replace('6a01', '6a09');

function ofOtherMessage(one: Exchange): Exchange {
  const json = { ...(one.reply.json as object), message_id: otherId };
  return { ...one, ...(one.id !== undefined && { id: otherId }), reply: { ...one.reply, json } };
}

test('STATE-3 a status that was first read late does not seem too short to be seen', () => {
  const skipping = [
    send(202, {}),
    read({}, { at: 8_000 }),
    read({ status: 'sent' }, { at: 8_500 }),
    read({ status: 'sent' }, { at: 12_000 }),
    read({ status: 'delivered' }, { at: 12_500 }),
  ];
  const readLate = [
    send(202, {}),
    read({ status: 'sent' }, { at: 12_000 }),
    read({ status: 'delivered' }, { at: 12_300 }),
  ].map(ofOtherMessage);
  const { broken } = judge('STATE-3', [...skipping, ...readLate]);
  expect(broken?.expected).toContain('queued followed by sending');
});

test('STATE-3 a message that was polled for may be sending for a moment only', () => {
  const watched = [
    send(202, {}),
    read({}, { at: 8_000 }),
    read({ status: 'sent' }, { at: 9_000 }),
    read({ status: 'sent' }, { at: 24_000 }),
    read({ status: 'delivered' }, { at: 25_000 }),
  ];
  expect(judge('STATE-3', watched).broken?.expected).toContain('queued followed by sending');
  const polledFor = (handedOut: object[]) =>
    judge('STATE-3', watched, [
      ...watched,
      exchange(200, { tasks: handedOut }, { at: 8_100, more: { endpoint: 'tasks' } }),
    ]);
  expect(polledFor([]).broken).toBeDefined();
  const { broken, missing } = polledFor([{ message_id: id }]);
  expect(broken).toBeUndefined();
  expect(missing?.message).toContain('no other case polls');

  const other = watched.map(ofOtherMessage);
  const handedOut = [{ message_id: id }, { message_id: otherId }];
  const poll = exchange(200, { tasks: handedOut }, { at: 8_100, more: { endpoint: 'tasks' } });
  expect(judge('STATE-3', watched, [...watched, ...other, poll]).broken).toBeDefined();
});

test('AUTH-6 a counter that weighs the minute before explains a refusal, though the case began later', () => {
  const passed = (from: number, times: number) =>
    Array.from({ length: times }, (_, i) => send(202, {}, {}, { at: from + i * 20 }));
  // 5.5 s after the minute, 109 of the 120 still weigh.
  const flood = [...passed(5_000, 120), ...passed(65_500, 11), send(429, {}, {}, { at: 66_000 })];
  const later = send(202, {}, {}, { at: 150_000 });
  expect(judge('AUTH-6', [later], [...flood, later]).broken).toBeUndefined();
});

test('AUTH-6 a flood that is too long ago to be looked at explains the refusal that followed it', () => {
  const received = (at: number, status: number) =>
    exchange(
      status,
      {},
      { at, more: { endpoint: 'received', caller: { ...caller, isNew: false } } },
    );
  const flood = Array.from({ length: 120 }, (_, i) => received(100_000 + i * 10, 200));
  const log = [...flood, received(101_300, 429), received(155_000, 429)];
  for (const at of [200, 225, 250, 270, 290, 340]) {
    const later = received(at * 1_000, 200);
    expect(judge('AUTH-6', [later], [...log, later]).broken).toBeUndefined();
  }
});

test('LIMIT-1 a limit that a late machine left unjudged does not pass by what was not queued', () => {
  const sent = (i: number, status: number, at: number, isLate: boolean) => {
    const fields = { request_id: `id-${i}`, message: `text ${i}` };
    const more = { method: 'POST', endpoint: 'send', fields } as const;
    const made = exchange(status, {}, { at, more });
    return { ...made, reply: { ...made.reply, isLate } };
  };
  const exercisedBy = (isLate: boolean) => {
    const flood = Array.from({ length: 124 }, (_, i) =>
      sent(i, i < 120 ? 202 : 429, i, isLate && i === 60),
    );
    const exchanges = [...flood, sent(123, 202, 70_000, false)];
    const { broken, exercised } = judge('LIMIT-1', exchanges, exchanges);
    expect(broken).toBeUndefined();
    return exercised;
  };
  expect(exercisedBy(true)).toBe(0);
  expect(exercisedBy(false)).toBeGreaterThan(1);
});

test('LIMIT-4 a limit that is too small does not pass because an unknown minute may explain it', () => {
  const more = {
    endpoint: 'received',
    caller: { ...caller, isNew: false },
    ahead: { least: 0, most: 0 },
  } as const;
  const exercisedBy = (passed: number) => {
    const flood = Array.from({ length: passed + 4 }, (_, i) =>
      exchange(i < passed ? 200 : 429, {}, { at: 85_000 + i * 150, tookMs: 100, more }),
    );
    const { broken, exercised } = judge('LIMIT-4', flood, flood, { knownSince: start });
    expect(broken).toBeUndefined();
    return exercised;
  };
  expect([exercisedBy(60), exercisedBy(120)]).toEqual([0, 1]);
});

const recorded = {
  recorded: {
    ahead: { least: 0, most: 0 },
    isComplete: false,
    isOneAccount: false,
    spanErrorMs: 0,
  },
};

const shownOrNot: [RuleId, string, Exchange[], shown: number, Partial<Trace>?][] = [
  ['SEND-2', 'an accepted send', [send(202, {})], 0],
  ['SEND-2', 'a refused send', [send(400, { code: 'to' }, { to: '1' })], 2],
  ['SEND-5', 'an accepted send', [send(202, {})], 0],
  ['SEND-5', 'a refused send', [send(400, { code: 'to' }, { to: '1' })], 2],
  ['SEND-7', 'a send without a send_at', [send(202, {})], 0],
  ['SEND-7', 'a held send', [send(202, {}, { send_at: '2026-03-01T10:01:00.000Z' })], 1],
  ['READ-2', 'a recorded read of a message', [read({})], 0, recorded],
  [
    'READ-2',
    'a recorded 404',
    [exchange(404, {}, { more: { endpoint: 'read', id } })],
    1,
    recorded,
  ],
  ['STATE-3', 'a pickup', [send(202, {}), read({ status: 'sending' }, { at: 100 })], 0],
  [
    'STATE-3',
    'a message that is sent',
    [
      send(202, {}),
      read({ status: 'sending' }, { at: 100 }),
      read({ status: 'sent' }, { at: 200 }),
    ],
    1,
  ],
];

test.each(shownOrNot)('%s is shown or not by %s', (rule, _, exchanges, shown, more) => {
  const findings = judge(rule, exchanges, exchanges, more);
  expect(findings.broken).toBeUndefined();
  expect(findings.exercised).toBe(shown);
});

test.each([
  ['own_delay', false],
  ['per_poll', true],
])(
  'STATE-3 with polls each second, a message may take longer where its pace is %s',
  (pace, fails) => {
    const answers: Readonly<Record<string, unknown>> = {
      pollIntervalSeconds: 1,
      progressPace: pace,
    };
    const watched = [
      send(202, {}),
      read({ status: 'sending' }, { at: 400 }),
      read({ status: 'sent' }, { at: 9_000 }),
    ];
    const assumption: Trace['assumption'] = (name) => answers[name] as never;
    expect(
      judge('STATE-3', watched, watched, { assumption, hasExactTimes: true }).broken !== undefined,
    ).toBe(fails);
  },
);

test.each([
  ['in their order', [0, 1, 2, 3, 4], true],
  ['in another order', [3, 0, 4, 1, 2], false],
])('later messages that a device takes %s', (_, places, isProof) => {
  const later = places.flatMap((place, i) => {
    const messageId = id.replace(/.$/, `${i + 2}`);
    const readOf = (status: string, at: number) => {
      const { reply, ...one } = read({ status, message_id: messageId }, { at });
      return { ...one, reply, id: messageId };
    };
    const pickedUpAt = 40_000 + place * 1_000;
    return [
      send(202, { message_id: messageId }, {}, { at: 30_000 + i * 100 }),
      readOf('queued', pickedUpAt - 500),
      readOf('sending', pickedUpAt),
    ];
  });
  const own = [send(202, {}), read({}, { at: 27_000 }), read({}, { at: 50_000 })];
  const log = [...own, ...later].sort((a, b) => a.sentAt - b.sentAt);
  const { broken, missing } = judge('READ-1', own, log);
  expect(broken?.expected).toBe(isProof ? 'another status after a few polls' : undefined);
  expect(missing?.message).toEqual(isProof ? undefined : expect.stringContaining('sendsPerPoll'));
});
