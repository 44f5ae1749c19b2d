import { expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '#contract/time.ts';
import {
  acmeNumber,
  acmeOtherNumber,
  type Fields,
  globexNumber,
  poolNumber,
  recipient,
  Twin,
  unknownNumber,
} from '#verify/testkit/twin/twin.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import { mostScriptedWaits } from '../../sim/devices/outcomes.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const isoAt = (ms: number) => new Date(ms).toISOString();

/** Status and code of a refusal, or the status alone. */
function outcome(reply: { status: number; json: Fields }): string {
  const code = reply.json['code'];
  return code === undefined ? `${reply.status}` : `${reply.status} ${String(code)}`;
}

test('SEND-3 RES-1 RES-2 RES-3 RES-4 RES-6 a new message is 202 with its seven fields, status queued', () => {
  const twin = new Twin();
  const reply = twin.send();
  expect(reply.status).toBe(202);
  expect(reply.json).toEqual({
    status: 'queued',
    message_id: expect.stringMatching(uuid),
    request_id: '',
    device_id: twin.device().deviceId,
    from_number: acmeNumber,
    to: recipient,
    created_at: '2026-01-01T00:00:00.000Z',
  });
  expect(twin.device().deviceId).toMatch(uuid);
});

test('STATE-1 SVC-2 the answer comes when the message is queued, before anything is sent', () => {
  const twin = new Twin();
  const message = twin.accepted();
  expect(message.status).toBe('queued');
  expect(twin.read(message.messageId).json['status']).toBe('queued');
});

test('RES-6 device_id is the SIM behind the sender number', () => {
  const twin = new Twin();
  expect(twin.send({ from: acmeOtherNumber }).json['device_id']).toBe(
    twin.device(acmeOtherNumber).deviceId,
  );
  const pooled = twin.sendAs('initech', { from: poolNumber });
  expect(pooled.json['device_id']).toBe(twin.device(poolNumber).deviceId);
});

test('SEND-1 from_number is an equivalent alias of from', () => {
  const reply = new Twin().send({ from: undefined, from_number: acmeOtherNumber });
  expect(reply.status).toBe(202);
  expect(reply.json['from_number']).toBe(acmeOtherNumber);
});

test('SEND-4 a replay answers 200 with the first body, byte for byte, for any later status of the message', () => {
  const twin = new Twin();
  const first = twin.send({ request_id: 'ä "1"\n' });
  for (const wait of [0, 30_000, 30_000, hourMs, 22 * hourMs]) {
    twin.advance(wait);
    const again = twin.send({ request_id: 'ä "1"\n' });
    expect([again.status, again.body]).toEqual([200, first.body]);
  }
  expect(twin.account().messages).toHaveLength(1);
  expect(twin.read(first.json['message_id']).json['status']).toBe('delivered');
});

test.each([
  [dayMs - 1, 200],
  [dayMs, 200],
  [dayMs + 1, 202],
])('SEND-4 the same request_id %i ms later is %i', (laterMs, status) => {
  const twin = new Twin();
  twin.send({ request_id: 'a' });
  twin.advance(laterMs);
  expect(twin.send({ request_id: 'a' }).status).toBe(status);
});

test('SEND-4 a replay is answered when its send_at has passed, its SIM is off and its quota is spent', () => {
  const twin = new Twin({ assumptions: { monthlyQuota: 1 } });
  const fields = { request_id: 'a', send_at: '2026-01-01T00:01:00Z' };
  const first = twin.send(fields);
  twin.advance(hourMs);
  twin.simulation.world.patchDevice(twin.device(), { active: false, allowed: false });
  expect(twin.send({ request_id: 'b' }).status).not.toBe(202);
  const again = twin.send(fields);
  expect([again.status, again.body]).toEqual([200, first.body]);
});

test('SEND-4 without a request_id, or with an empty one, every send is a new message', () => {
  const twin = new Twin();
  const ids = [{}, {}, { request_id: '' }, { request_id: '' }].map(
    (f) => twin.accepted(f).messageId,
  );
  expect(new Set(ids).size).toBe(4);
});

test('SEND-4 another account may use the same request_id', () => {
  const twin = new Twin();
  const first = twin.send({ request_id: 'a' });
  const other = twin.sendAs('globex', { request_id: 'a', from: globexNumber });
  expect(other.status).toBe(202);
  expect(other.json['message_id']).not.toBe(first.json['message_id']);
});

test.each([
  ['account', 200],
  ['api_key', 202],
] as const)(
  'SEND-4 replayScope %s: the same request_id by another key of the account is %i',
  (replayScope, status) => {
    const twin = Twin.assuming({ replayScope });
    const second = twin.simulation.world.createKey(twin.account(), 'second');
    const first = twin.send({ request_id: 'a' });
    const more = { authorization: `Bearer ${second.key}` };
    expect(twin.send({ request_id: 'a' }, more).status).toBe(status);
    expect(twin.send({ request_id: 'a' }, more).status).toBe(200);
    expect(twin.send({ request_id: 'a' }).body).toBe(first.body);
  },
);

test.each([
  ['shared', 200],
  ['separate', 202],
] as const)(
  'SEND-4 replayAcrossEndpoints %s: the same request_id on other sends is %i',
  (replayAcrossEndpoints, status) => {
    const twin = Twin.assuming({ replayAcrossEndpoints });
    const fields = { to: recipient, from: acmeNumber, message: 'hello', request_id: 'a' };
    const first = twin.send(fields);
    for (const path of ['/api/sms/send/', '/api/external/send/']) {
      expect(twin.post(path, fields).status).toBe(status);
      expect(twin.post(path, fields).status).toBe(200);
    }
    expect(twin.send(fields).body).toBe(first.body);
  },
);

test.each([
  ['return_original', { message: 'other' }, '200'],
  ['conflict', { message: 'other' }, '409 request_id_conflict'],
  ['conflict', { to: '+12025550124' }, '409 request_id_conflict'],
  ['conflict', { from: acmeOtherNumber }, '409 request_id_conflict'],
  ['conflict', { send_at: '2026-06-01T00:00:01Z' }, '409 request_id_conflict'],
  ['conflict', { send_at: undefined }, '409 request_id_conflict'],
  ['conflict', {}, '200'],
  ['conflict', { from: undefined, from_number: acmeNumber }, '200'],
  ['conflict', { send_at: '2026-06-01T00:00:00.000+00:00' }, '200'],
  ['conflict', { unknown: 1 }, '200'],
] as const)(
  'SEND-4 replayDifferentBody %s: a second body with %j is %s',
  (replayDifferentBody, fields, expected) => {
    const twin = Twin.assuming({ replayDifferentBody });
    const first = { request_id: 'a', send_at: '2026-06-01T00:00:00Z' };
    twin.send(first);
    expect(outcome(twin.send({ ...first, ...fields }))).toBe(expected);
    expect(twin.account().messages).toHaveLength(1);
  },
);

test.each([
  ['throttle', '429'],
  ['nothing', '200'],
] as const)(
  'SEND-4 replaySpends %s: with an empty bucket a replay is %s, and costs no quota',
  (replaySpends, expected) => {
    const twin = new Twin({ limits: { send: 2 }, assumptions: { replaySpends, monthlyQuota: 2 } });
    twin.send({ request_id: 'a' });
    twin.send({ request_id: 'a' });
    expect(outcome(twin.send())).toBe(replaySpends === 'throttle' ? '429' : '202');
    expect(outcome(twin.send({ request_id: 'a' }))).toBe(expected);
    twin.advance(minuteMs);
    expect(outcome(twin.send())).toBe(replaySpends === 'throttle' ? '202' : '402 quota_exceeded');
  },
);

test.each([
  ['replay_first', '200'],
  ['validate_first', '400 message'],
] as const)(
  'SEND-4 gateOrder %s: a replay whose message is missing is %s',
  (gateOrder, expected) => {
    const twin = Twin.assuming({ gateOrder });
    twin.send({ request_id: 'a' });
    expect(outcome(twin.send({ request_id: 'a', message: undefined }))).toBe(expected);
    const free = Twin.assuming({ gateOrder, replaySpends: 'nothing' });
    free.send({ request_id: 'a' });
    expect(outcome(free.send({ request_id: 'a', message: undefined }))).toBe(expected);
  },
);

test.each([
  ['free', '202'],
  ['burned', '403 from_number_not_found'],
] as const)(
  'SEND-4 failedRequestId %s: the request_id of a refusal, mended, is %s',
  (failedRequestId, expected) => {
    const twin = Twin.assuming({ failedRequestId });
    const refused = twin.send({ request_id: 'a', from: unknownNumber });
    expect(outcome(refused)).toBe('403 from_number_not_found');
    const again = twin.send({ request_id: 'a' });
    expect(outcome(again)).toBe(expected);
    if (failedRequestId === 'burned') expect(again.body).toBe(refused.body);
    twin.advance(dayMs + 1);
    expect(twin.send({ request_id: 'a' }).status).toBe(202);
  },
);

test.each([
  ['400 message', { message: '' }],
  ['403 from_number_access_deniedd', { from: globexNumber }],
  ['503 device_inactive', { from: acmeOtherNumber }],
] as const)('SEND-4 failedRequestId burned: %s is kept for 24 h', (expected, fields) => {
  const twin = Twin.assuming({ failedRequestId: 'burned' });
  twin.simulation.world.patchDevice(twin.device(acmeOtherNumber), { active: false });
  expect(outcome(twin.send({ request_id: 'a', ...fields }))).toBe(expected);
  twin.advance(dayMs);
  expect(outcome(twin.send({ request_id: 'a' }))).toBe(expected);
});

test('SEND-4 failedRequestId burned: an invalid request_id, a throttled and an unparsable send burn nothing', () => {
  const twin = new Twin({
    limits: { send: 3 },
    assumptions: { failedRequestId: 'burned', requestIdMaxLength: 2 },
  });
  expect(outcome(twin.send({ request_id: 'abc' }))).toBe('400 request_id');
  twin.simulation.assume({ requestIdMaxLength: 3 });
  expect(outcome(twin.send({ request_id: 'abc' }))).toBe('202');
  twin.send({ request_id: 'b', message: undefined }, { contentType: 'text/plain' });
  expect(outcome(twin.send({ request_id: 'c' }))).toBe('429');
  twin.advance(minuteMs);
  expect([twin.send({ request_id: 'b' }), twin.send({ request_id: 'c' })].map(outcome)).toEqual([
    '202',
    '202',
  ]);
});

test.each([
  { failedRequestId: 'burned', gateOrder: 'validate_first' },
  { failedRequestId: 'burned', gateOrder: 'validate_first', replaySpends: 'nothing' },
  { failedRequestId: 'burned', gateOrder: 'replay_first' },
] as const)(
  'SEND-4 %j: a broken replay never displaces the message',
  (assumptions: Partial<Assumptions>) => {
    const twin = Twin.assuming(assumptions);
    const first = twin.send({ request_id: 'a' });
    twin.send({ request_id: 'a', message: undefined });
    const again = twin.send({ request_id: 'a' });
    expect([again.status, again.body]).toEqual([200, first.body]);
  },
);

test('SEND-5 a field that fails validation is 400, and the code names it', () => {
  const twin = new Twin();
  for (const [fields, field] of [
    [{ to: 'x' }, 'to'],
    [{ from: undefined }, 'from'],
    [{ from: undefined, from_number: 'x' }, 'from_number'],
    [{ message: undefined }, 'message'],
    [{ request_id: 1 }, 'request_id'],
    [{ send_at: isoAt(twin.now()) }, 'send_at'],
  ] as const) {
    const reply = twin.send(fields);
    expect(outcome(reply)).toBe(`400 ${field}`);
    expect(reply.json['detail']).toContain(`${field}: `);
  }
  expect(twin.account().messages).toHaveLength(0);
});

test.each([
  ['a', ' a'],
  ['a', 'a '],
  ['a', 'A'],
  ['a', 'a\u0000'],
  ['\u00e4', 'a\u0308'],
  ['\ud800', '\udfff'],
])('RES-3 SEND-4 request_id %j and %j are two, each echoed as it came', (one, other) => {
  const twin = new Twin();
  for (const request_id of [one, other]) {
    const reply = twin.send({ request_id });
    expect([reply.status, reply.json['request_id']]).toEqual([202, request_id]);
    expect(twin.send({ request_id }).body).toBe(reply.body);
  }
});

test('SEND-6 NUL and a lone surrogate are characters of a message, and reach the device as they came', () => {
  const twin = new Twin();
  const message = '\u0000\ud800'.repeat(800);
  twin.simulation.world.patchDevice(twin.device(), { polling: 'external' });
  expect(outcome(twin.send({ message: `${message}x` }))).toBe('400 message');
  expect(outcome(twin.send({ message }))).toBe('202');
  const { json } = twin.request('GET', `/api/devices/${twin.device().deviceId}/tasks/`);
  expect(json['tasks']).toMatchObject([{ message }]);
});

test('ERR-1 a held message counts in the month of its acceptance, not in that of its release', () => {
  const twin = new Twin({
    startTime: '2026-01-31T23:59:59.000Z',
    assumptions: { monthlyQuota: 1 },
  });
  twin.accepted({ send_at: '2026-02-15T00:00:00Z' });
  expect(outcome(twin.send())).toBe('402 quota_exceeded');
  twin.advance(20 * dayMs);
  expect(twin.request('GET', '/api/v1/account/stats/').json['quota']).toEqual({
    used: 0,
    limit: 1,
  });
});

test.each([
  [1_600, '202'],
  [1_601, '400 message'],
])('SEND-6 a message of %i characters is %s', (length, expected) => {
  expect(outcome(new Twin().send({ message: '€'.repeat(length) }))).toBe(expected);
});

test.each([
  [1, '202'],
  [0, '400 send_at'],
  [-1, '400 send_at'],
])('SEND-7 send_at %i ms from now is %s', (aheadMs, expected) => {
  const twin = new Twin();
  expect(outcome(twin.send({ send_at: isoAt(twin.now() + aheadMs) }))).toBe(expected);
});

test('SEND-7 a fraction below the millisecond is kept: no message is released before its time', () => {
  const twin = Twin.assuming({ heldStatus: 'scheduled' });
  const send_at = isoAt(twin.now() + 1_001).replace('Z', '9Z');
  const { json } = twin.send({ send_at });
  const status = () => twin.read(String(json['message_id'])).json['status'];
  twin.advance(1_001);
  expect(status()).toBe('scheduled');
  twin.advance(1);
  expect(status()).toBe('queued');
});

test('SEND-7 a send_at that is not in the future is answered with the simulated time', () => {
  const twin = new Twin();
  twin.advance(hourMs);
  const { json } = twin.send({ send_at: isoAt(twin.now()) });
  expect(json['detail']).toBe(
    'send_at: Must be in the future: it is 2026-01-01T01:00:00.000Z now.',
  );
});

test.each(['queued', 'scheduled'] as const)(
  'SEND-7 heldStatus %s: read during the hold, and 202 says queued',
  (heldStatus) => {
    const twin = Twin.assuming({ heldStatus });
    const first = twin.send({ send_at: isoAt(twin.now() + hourMs) });
    expect(first.json['status']).toBe('queued');
    twin.advance(hourMs - 1);
    expect(twin.read(first.json['message_id']).json['status']).toBe(heldStatus);
    twin.advance(1);
    expect(twin.read(first.json['message_id']).json['status']).toBe('queued');
    twin.advance(20_000);
    expect(twin.read(first.json['message_id']).json['status']).toBe('sending');
  },
);

test.each([
  ['AUTH-4', unknownNumber, {}, '403 from_number_not_found'],
  ['AUTH-5', globexNumber, {}, '403 from_number_access_deniedd'],
  ['AUTH-4', globexNumber, { foreignNumber: 'not_found' }, '403 from_number_not_found'],
  ['AUTH-5', poolNumber, {}, '403 from_number_access_deniedd'],
  ['SVC-1', poolNumber, { poolBesideOwnSim: 'allow' }, '202'],
] as const)('%s from %s, with %j, is %s', (_, from, assumptions, expected) => {
  expect(outcome(Twin.assuming(assumptions).send({ from }))).toBe(expected);
});

test.each([
  ['initech', '202'],
  ['globex', '403 from_number_access_deniedd'],
])('SVC-1 the pool number, by %s, is %s', (name, expected) => {
  expect(outcome(new Twin().sendAs(name, { from: poolNumber }))).toBe(expected);
});

test.each([
  [{ connected: false }, '202'],
  [{ connected: false, active: false }, '202'],
  [{ active: false }, '202'],
  [{ allowed: false }, '403 from_number_access_deniedd'],
])('SVC-1 the pool number, while the own SIM is %j, is %s', (state, expected) => {
  const twin = new Twin();
  twin.simulation.world.patchDevice(twin.device(globexNumber), state);
  expect(outcome(twin.sendAs('globex', { from: poolNumber }))).toBe(expected);
});

test.each([
  [{ allowed: false }, {}, '403 from_number_access_deniedd'],
  [{ allowed: false, active: false }, {}, '403 from_number_access_deniedd'],
  [{ active: false }, {}, '503 device_inactive'],
  [{ active: false, connected: false }, {}, '503 device_inactive'],
  [{ connected: false }, {}, '202'],
  [{ connected: false }, { disconnectedSim: 'device_inactive' }, '503 device_inactive'],
  [{ connected: false }, { disconnectedSim: 'access_denied' }, '403 from_number_access_deniedd'],
  [
    { connected: false, active: false },
    { disconnectedSim: 'access_denied' },
    '503 device_inactive',
  ],
  [{ connected: false, active: false }, { disconnectedSim: 'pool' }, '503 device_inactive'],
  [{ polling: 'external' }, {}, '202'],
] as const)(
  'ERR-2 AUTH-5 from an own SIM that is %j, with %j, is %s',
  (state, assumptions, expected) => {
    const twin = Twin.assuming(assumptions);
    twin.simulation.world.patchDevice(twin.device(), state);
    expect(outcome(twin.send())).toBe(expected);
  },
);

test('SVC-1 the pool stays closed to an account while another of its SIMs works', () => {
  const twin = new Twin();
  twin.simulation.world.patchDevice(twin.device(acmeNumber), { active: false });
  expect(outcome(twin.send({ from: poolNumber }))).toBe('403 from_number_access_deniedd');
  twin.simulation.world.patchDevice(twin.device(acmeOtherNumber), { active: false });
  expect(outcome(twin.send({ from: poolNumber }))).toBe('202');
});

test('SVC-1 RES-6 disconnectedSim pool: a message goes out through the pool, and says so', () => {
  const twin = Twin.assuming({ disconnectedSim: 'pool', replayDifferentBody: 'conflict' });
  const { world } = twin.simulation;
  const pool = twin.device(poolNumber);
  world.patchDevice(twin.device(globexNumber), { connected: false });
  const fields = { from: globexNumber, request_id: 'a' };
  const first = twin.sendAs('globex', fields);
  expect(first.json).toMatchObject({ device_id: pool.deviceId, from_number: poolNumber });
  // The replay is compared by the number that was asked for.
  expect(outcome(twin.sendAs('globex', fields))).toBe('200');
  const other = { ...fields, from: poolNumber };
  expect(outcome(twin.sendAs('globex', other))).toBe('409 request_id_conflict');
  twin.advance(20_000);
  expect(world.messages.get(String(first.json['message_id']))?.status).toBe('sending');
  world.patchDevice(pool, { active: false });
  expect(twin.sendAs('globex', { from: globexNumber }).json['from_number']).toBe(globexNumber);
});

test('SVC-1 disconnectedSim pool: if another SIM is connected, a message waits for its own SIM', () => {
  const twin = Twin.assuming({ disconnectedSim: 'pool' });
  twin.simulation.world.patchDevice(twin.device(), { connected: false });
  expect(twin.send().json['from_number']).toBe(acmeNumber);
  twin.simulation.world.patchDevice(twin.device(acmeOtherNumber), { connected: false });
  expect(twin.send().json['from_number']).toBe(poolNumber);
});

test("SVC-1 a pool number is not an account's own SIM: disconnectedSim does not apply to it", () => {
  const twin = Twin.assuming({ disconnectedSim: 'device_inactive' });
  twin.simulation.world.patchDevice(twin.device(poolNumber), { connected: false });
  expect(outcome(twin.sendAs('initech', { from: poolNumber }))).toBe('202');
});

test.each([
  ['replay_first', '403 from_number_not_found', '503 device_inactive'],
  ['quota_before_sender', '402 quota_exceeded', '402 quota_exceeded'],
] as const)(
  'ERR-1 gateOrder %s: with a spent quota an unknown sender is %s, an inactive SIM %s',
  (gateOrder, unknown, inactive) => {
    const twin = Twin.assuming({ gateOrder, monthlyQuota: 1 });
    expect(outcome(twin.send({ request_id: 'a' }))).toBe('202');
    twin.simulation.world.patchDevice(twin.device(), { active: false });
    expect(outcome(twin.send({ from: unknownNumber }))).toBe(unknown);
    expect(outcome(twin.send())).toBe(inactive);
    expect(outcome(twin.send({ request_id: 'a' }))).toBe('200');
    expect(outcome(twin.send({ to: 'x' }))).toBe('400 to');
  },
);

test('SEND-4 typeCoercion coerce: a request_id of 42 is "42", and a message of true is "true"', () => {
  const twin = new Twin({
    assumptions: { typeCoercion: 'coerce', replayDifferentBody: 'conflict' },
  });
  const first = twin.send({ request_id: 42, message: true });
  expect([first.status, first.json['request_id']]).toEqual([202, '42']);
  expect(twin.account().messages.at(0)?.text).toBe('true');
  expect(outcome(twin.send({ request_id: '42', message: 'true' }))).toBe('200');
  expect(outcome(twin.send({ request_id: 42, message: false }))).toBe('409 request_id_conflict');
  expect(outcome(twin.send({ to: 12025550123 }))).toBe('400 to');
  expect(outcome(twin.send({ message: {} }))).toBe('400 message');
});

test('SEND-4 replayDifferentBody conflict: a send_at of 0 differs from an absent one', () => {
  const twin = Twin.assuming({ replayDifferentBody: 'conflict' });
  twin.send({ request_id: 'a' });
  expect(outcome(twin.send({ request_id: 'a', send_at: 0 }))).toBe('409 request_id_conflict');
});

test.each([
  [0, ['402 quota_exceeded', '402 quota_exceeded']],
  [1, ['202', '402 quota_exceeded']],
  [2, ['202', '202']],
  ['unlimited', ['202', '202']],
] as const)('ERR-1 monthlyQuota %s: two sends are %j', (monthlyQuota, expected) => {
  const twin = Twin.assuming({ monthlyQuota });
  expect([twin.send(), twin.send()].map(outcome)).toEqual(expected);
});

test('ERR-1 the account’s own quota wins over the plan’s, and noLimits over both', () => {
  const world = { accounts: [{ name: 'acme', monthly_quota: 1, sims: [{ number: acmeNumber }] }] };
  const twin = new Twin({ world });
  expect([twin.send(), twin.send()].map(outcome)).toEqual(['202', '402 quota_exceeded']);
  const free = new Twin({ world, noLimits: true });
  expect([free.send(), free.send()].map(outcome)).toEqual(['202', '202']);
});

test('ERR-1 refusals and replays cost no quota, and a new month starts it again', () => {
  const twin = new Twin({
    startTime: '2026-01-31T23:59:59.998Z',
    assumptions: { monthlyQuota: 2 },
  });
  twin.send({ message: '' });
  twin.send({ from: unknownNumber });
  twin.send({ request_id: 'a' });
  twin.send({ request_id: 'a' });
  expect([twin.send(), twin.send()].map(outcome)).toEqual(['202', '402 quota_exceeded']);
  twin.advance(1);
  expect(outcome(twin.send())).toBe('402 quota_exceeded');
  twin.advance(1);
  expect(outcome(twin.send())).toBe('202');
});

test.each([
  ['messages', 'a'.repeat(161), '202'],
  ['segments', 'a'.repeat(160), '202'],
  ['segments', 'a'.repeat(161), '402 quota_exceeded'],
] as const)(
  'ERR-1 quotaUnit %s: of two left over one, the second message is accepted or not',
  (quotaUnit, message, expected) => {
    const twin = Twin.assuming({ quotaUnit, monthlyQuota: 2 });
    twin.send();
    expect(outcome(twin.send({ message }))).toBe(expected);
  },
);

/** Each of these is refused by one gate more than the next. */
test('SEND-5 the order of the gates: validate, sender, device, quota', () => {
  const twin = new Twin({ assumptions: { monthlyQuota: 0 } });
  twin.simulation.world.patchDevice(twin.device(acmeOtherNumber), { active: false });
  expect(outcome(twin.send({ message: '', from: unknownNumber }))).toBe('400 message');
  expect(outcome(twin.send({ from: unknownNumber }))).toBe('403 from_number_not_found');
  expect(outcome(twin.send({ from: acmeOtherNumber }))).toBe('503 device_inactive');
  expect(outcome(twin.send())).toBe('402 quota_exceeded');
});

test.each(['/api/sms/send/', '/api/external/send/'])(
  'VER-1 the dashboard and the external send: %s takes and answers the same',
  (path) => {
    const twin = new Twin();
    const fields = { to: recipient, from: acmeNumber, message: 'hello', request_id: 'x' };
    const reply = twin.post(path, fields);
    expect(reply.status).toBe(202);
    expect(twin.read(reply.json['message_id']).body).toBe(reply.body);
    expect(outcome(twin.post(path, { ...fields, request_id: 'y', to: 'x' }))).toBe('400 to');
  },
);

const scripted = [
  ['+12025550170', '402 quota_exceeded'],
  ['+12025550171', '403 from_number_not_found'],
  ['+12025550172', '403 from_number_access_deniedd'],
  ['+12025550173', '503 device_inactive'],
] as const;

test.each(scripted)(
  '%s is refused with %s, after all other checks, without a message',
  (to, refusal) => {
    const twin = new Twin();
    expect(outcome(twin.send({ to }))).toBe(refusal);
    expect(outcome(twin.send({ to, request_id: 'a' }))).toBe(refusal);
    expect(outcome(twin.send({ to, message: '' }))).toMatch(/^400/);
    expect(outcome(twin.send({ to, from: unknownNumber }))).toBe('403 from_number_not_found');
    // Nothing was queued or counted, and the id is free.
    expect(twin.simulation.world.messages.size).toBe(0);
    expect(twin.account().quota.used(twin.now(), twin.simulation.world.assumptions)).toBe(0);
    expect(twin.send({ request_id: 'a' }).status).toBe(202);
  },
);

const throttled = '+12025550174';

test.each([
  ['a request_id', { request_id: 'a' }, { request_id: 'b' }],
  ['its content', { message: 'One' }, { message: 'Two' }],
])(
  'ERR-3 %s is throttled at its first attempt, and accepted five seconds later',
  (_, one, other) => {
    const twin = new Twin();
    const send = (fields: Fields) => twin.send({ to: throttled, ...fields });
    const waitOf = (fields: Fields) => {
      const { status, headers } = send(fields);
      return [status, headers['retry-after']];
    };
    expect(waitOf(one)).toEqual([429, '5']);
    twin.advance(3_000);
    expect(waitOf(one)).toEqual([429, '2']);
    expect(waitOf(other)).toEqual([429, '5']);
    twin.advance(1_999);
    expect(waitOf(one)).toEqual([429, '1']);
    twin.advance(1);
    expect(send(one).status).toBe(202);
    // The same id is a replay; the same content is another message, which is throttled first.
    expect(send(one).status).toBe('request_id' in one ? 200 : 429);
  },
);

test('a message to a throttled recipient is delivered once it is accepted', () => {
  const twin = new Twin();
  twin.send({ to: throttled });
  twin.advance(5_000);
  const { message_id: id } = twin.send({ to: throttled }).json;
  twin.advance(minuteMs * 5);
  expect(twin.read(id).json['status']).toBe('delivered');
});

test('failedRequestId: a scripted refusal uses an id up as any other, a scripted 429 does not', () => {
  const twin = new Twin({ assumptions: { failedRequestId: 'burned' } });
  const [[quota, spent]] = scripted;
  expect(outcome(twin.send({ to: quota, request_id: 'a' }))).toBe(spent);
  expect(outcome(twin.send({ request_id: 'a' }))).toBe(spent);
  expect(twin.send({ to: throttled, request_id: 'b' }).status).toBe(429);
  expect(twin.send({ request_id: 'b' }).status).toBe(202);
});

test("a world's own outcomes refuse other recipients, and deliver the fixed ones", () => {
  const twin = new Twin();
  twin.simulator.outcomes.put({
    outcomes: [
      { to: '+1202555017*', ends: 'delivered' },
      { to: '+1202555018*', refuse: 'device_inactive' },
    ],
  });
  expect(twin.send({ to: '+12025550170' }).status).toBe(202);
  expect(outcome(twin.send({ to: '+12025550185' }))).toBe('503 device_inactive');
  const { outcomes } = twin.simulator.outcomes.get();
  expect(twin.simulator.outcomes.put({ outcomes: [...outcomes] }).outcomes).toEqual(outcomes);
});

test('the sends that wait after a scripted 429 survive a snapshot, and are bounded', () => {
  const twin = new Twin({ noLimits: true });
  twin.send({ to: throttled, request_id: 'first' });
  twin.advance(4_000);
  const snapshot = twin.simulator.snapshots.take();
  twin.simulator.reset();
  twin.simulator.snapshots.restore(snapshot);
  expect(twin.send({ to: throttled, request_id: 'first' }).headers['retry-after']).toBe('1');
  for (let n = 0; n < mostScriptedWaits; n++) twin.send({ to: throttled, request_id: `id ${n}` });
  expect(twin.simulation.world.outcomes.waiting).toHaveLength(mostScriptedWaits);
  expect(twin.send({ to: throttled, request_id: 'first' }).headers['retry-after']).toBe('5');
});
