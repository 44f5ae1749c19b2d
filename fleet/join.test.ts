/**
 * The reply that one process would give, from the replies of two shards, by what each operation
 * declares.
 */
import { expect, test } from 'vitest';
import { type OperationName, operations } from '#src/operations/table.ts';
import { joinBodies } from './join.ts';
import type { Shard } from './shard.ts';

const shards = [{ index: 0 }, { index: 1 }] as unknown as readonly [Shard, Shard];
/** `a0` is served by shard 0, `a1` by shard 1. */
const ownerOf = (accountId: string) => shards[accountId.endsWith('1') ? 1 : 0];

function joined(name: OperationName, bodies: readonly unknown[], bounds = {}): unknown {
  const how = operations.find((each) => each.name === name)?.fleet.joined;
  if (how === undefined) throw new Error(`${name} has no join`);
  return joinBodies(bodies, how, { shards, ownerOf, ...bounds });
}

const early = '2026-01-01T00:00:00.000Z';
const late = '2026-01-01T00:00:05.000Z';
const clockOf = (now: string, nextAt: string | null, pending: number) => ({
  now,
  mode: 'manual',
  rate: 7,
  pending,
  next_at: nextAt,
});

test.each(['clock.state', 'clock.setMode', 'simulator.reset'] as const)(
  '%s: the latest time, the first deadline, all timers, and one rate',
  (name) => {
    expect(joined(name, [clockOf(late, null, 2), clockOf(early, late, 3)])).toEqual(
      clockOf(late, late, 5),
    );
    expect(joined(name, [clockOf(early, late, 2), clockOf(early, early, 3)])).toEqual(
      clockOf(early, early, 5),
    );
  },
);

test('the state: counts add up; seed, accounts, SIMs and faults are those of each shard', () => {
  const counts = { queued: 1, sending: 2, sent: 3, delivered: 4, failed: 5 };
  const state = (maxMessages: number | 'unlimited') => ({
    base_url: 'http://x',
    clock: clockOf(early, late, 2),
    seed: 42,
    accounts: 3,
    sims: 4,
    messages: { total: 15, ...counts },
    actors: { running: 4, awake: 2 },
    timers: 2,
    retention: {
      max_messages: maxMessages,
      held: 6,
      forgotten_messages: 7,
      forgotten_request_ids: 8,
    },
    requests: 9,
    throttled: 10,
    faults: 11,
    memory: { rss_bytes: 12, heap_used_bytes: 13 },
  });
  expect(joined('simulator.state', [state(50), state(50)])).toEqual({
    base_url: 'http://x',
    clock: clockOf(early, late, 4),
    seed: 42,
    accounts: 3,
    sims: 4,
    messages: { total: 30, queued: 2, sending: 4, sent: 6, delivered: 8, failed: 10 },
    actors: { running: 4, awake: 4 },
    timers: 4,
    retention: {
      max_messages: 100,
      held: 12,
      forgotten_messages: 14,
      forgotten_request_ids: 16,
    },
    requests: 18,
    throttled: 20,
    faults: 11,
    memory: { rss_bytes: 24, heap_used_bytes: 26 },
  });
  expect(joined('simulator.state', [state('unlimited'), state('unlimited')])).toMatchObject({
    retention: { max_messages: 'unlimited' },
  });
});

test('the invariants hold if they do on every shard; what each shard has is counted once', () => {
  const of = (sound: boolean, broken: readonly string[]) => ({
    sound,
    checked: { accounts: 3, keys: 5, devices: 4, messages: 6, replays: 7, buckets: 8, timers: 9 },
    broken,
  });
  expect(joined('simulator.invariants', [of(true, []), of(false, ['SEND-4 x'])])).toEqual({
    sound: false,
    checked: {
      accounts: 3,
      keys: 5,
      devices: 4,
      messages: 12,
      replays: 14,
      buckets: 16,
      timers: 18,
    },
    broken: ['SEND-4 x'],
  });
});

test('an entry of an account comes from its owner, with its limits and its next time', () => {
  const bucket = (id: string, available: number) => ({
    account_id: id,
    endpoint: 'send',
    limit: 120,
    available,
    next_at: available === 0 ? late : null,
  });
  const buckets = [
    [bucket('a0', 0), bucket('a1', 120)],
    [bucket('a0', 120), bucket('a1', 1)],
  ];
  expect(
    joined(
      'limits.buckets',
      buckets.map((list) => ({ buckets: list })),
    ),
  ).toEqual({ buckets: [bucket('a0', 0), bucket('a1', 1)] });
  const account = (id: string, used: number) => ({ account_id: id, quota_used: used });
  expect(
    joined('accounts.list', [
      { accounts: [account('a0', 3), account('a1', 0)] },
      { accounts: [account('a0', 0), account('a1', 4)] },
    ]),
  ).toEqual({ accounts: [account('a0', 3), account('a1', 4)] });
});

test('a key that only the owner has is listed with its account', () => {
  const key = (id: string, account: string) => ({ key_id: id, account_id: account });
  const start = [key('k0', 'a0'), key('k1', 'a1')];
  const atOwner = [key('k0', 'a0'), key('k2', 'a0'), key('k1', 'a1')];
  expect(joined('accounts.allKeys', [{ keys: atOwner }, { keys: start }])).toEqual({
    keys: atOwner,
  });
});

const simOf = (account: string | null, queueLength: number) => ({
  device_id: `d-${account}`,
  number: '+12025550101',
  account_id: account,
  connected: true,
  active: true,
  polling: 'simulated',
  allowed: true,
  queue_length: queueLength,
});

test('a SIM comes from the owner of its account; the queue of a number of the pool adds up', () => {
  const [one, other] = [
    [simOf('a0', 5), simOf(null, 2), simOf('a1', 0)],
    [simOf('a0', 0), simOf(null, 3), simOf('a1', 6)],
  ];
  expect(joined('sims.all', [{ sims: one }, { sims: other }])).toEqual({
    sims: [simOf('a0', 5), simOf(null, 5), simOf('a1', 6)],
  });
  for (const name of ['sims.get', 'sims.patch', 'sims.addToPool'] as const)
    expect(joined(name, [simOf(null, 2), simOf(null, 3)])).toEqual(simOf(null, 5));
  expect(joined('sims.poll', [{ picked_up: ['x'] }, { picked_up: ['y'] }])).toEqual({
    picked_up: ['x', 'y'],
  });
});

test('inbound messages: the newest of all accounts first, and as many as asked for', () => {
  const received = (account: string, at: string) => ({ account_id: account, received_at: at });
  const both = { received: [received('a0', early), received('a1', late)] };
  expect(joined('sims.allReceived', [both, both])).toEqual({
    received: [received('a1', late), received('a0', early)],
  });
  expect(joined('sims.allReceived', [both, both], { limit: 1 })).toEqual({
    received: [received('a1', late)],
  });
});

test('a fault has one condition, and counts what it did on every shard', () => {
  const fault = (seen: number, hits: number) => ({
    match: { endpoint: 'send' },
    when: { every: 1 },
    times: 3,
    fault: { kind: 'delay', ms: 40 },
    fault_id: 'f1',
    seen,
    hits,
  });
  expect(joined('faults.list', [{ faults: [fault(1, 2)] }, { faults: [fault(10, 20)] }])).toEqual({
    faults: [fault(11, 22)],
  });
  expect(joined('faults.add', [fault(0, 0), fault(0, 0)])).toEqual(fault(0, 0));
});

test('hits of outcomes add up by position', () => {
  expect(joined('outcomes.hits', [{ hits: [1, 0, 2] }, { hits: [0, 4, 1] }])).toEqual({
    hits: [1, 4, 3],
  });
});

test.each([
  ['limits.patch', { send: 120, read: null }],
  ['limits.reset', { status: 'ok' }],
  ['outcomes.put', { outcomes: [{ to: '+*', ends: 'stuck', in: 'sent', polls: 2 }] }],
  ['assumptions.patch', { monthlyQuota: 7, failsFrom: ['queued'] }],
] as const)('%s: every shard answers the same', (name, body) => {
  expect(joined(name, [body, body])).toEqual(body);
});

test('requests: numbers of the fleet, the newest first, and as many as asked for', () => {
  const request = (number: number, at: string, repeats: number | null = null) => ({
    number,
    at,
    status: 202,
    duration_ms: 3,
    repeats,
  });
  const bodies = [
    { requests: [request(2, late, 1), request(1, early)] },
    { requests: [request(1, early)] },
  ];
  expect(joined('requests.list', bodies)).toEqual({
    requests: [request(4, late, 2), request(2, early), request(3, early)],
  });
  expect(joined('requests.list', bodies, { limit: 1 })).toEqual({
    requests: [request(4, late, 2)],
  });
});

test('an entry of the HAR file has the number of the request in the list of requests', () => {
  const entry = (number: number, at: string, repeats: number | null = null) => ({
    startedDateTime: at,
    time: 5,
    _number: number,
    _smstwin: { repeats },
    timings: { send: 0, wait: 5, receive: 0 },
  });
  const har = (...entries: readonly unknown[]) => ({
    log: { version: '1.2', creator: { name: 'smstwin', version: '1' }, entries },
  });
  expect(joined('requests.har', [har(entry(1, late)), har(entry(2, early, 1))])).toEqual(
    har(entry(5, early, 3), entry(2, late)),
  );
});

const chart = (from: string, widthMs: number, ...counts: readonly number[]) => ({
  width_ms: widthMs,
  from,
  bars: counts.map((count) => ({ count, throttled: count === 0 ? 0 : 1, spent: count })),
});

test('counts over time: the bars of all shards add up where they meet', () => {
  expect(
    joined('requests.counts', [chart(early, 1_000, 1, 2, 0, 0, 0), chart(late, 5_000, 4)]),
  ).toEqual({
    width_ms: 5_000,
    from: early,
    bars: [
      { count: 3, throttled: 2, spent: 3 },
      { count: 4, throttled: 1, spent: 4 },
    ],
  });
});

test('counts over time: a shard without requests adds no bars, and hours apart are few bars', () => {
  const empty = chart('2026-01-01T09:00:00.000Z', 1_000, 0, 0, 0);
  expect(joined('requests.counts', [empty, chart(early, 1_000, 1)])).toEqual(
    chart(early, 1_000, 1),
  );
  const apart = joined('requests.counts', [
    chart(early, 1_000, 1),
    chart('2026-01-01T10:00:00.000Z', 1_000, 2),
  ]) as ReturnType<typeof chart>;
  expect(apart.bars.length).toBeLessThan(60);
  expect(apart.bars.reduce((sum, { count }) => sum + count, 0)).toBe(3);
});

test('the referee: the worst verdict, all findings, and numbers of the fleet everywhere', () => {
  const report = (verdict: string, exercised: number) => ({
    notices: [{ what: 'a', exchanges: [1] }],
    intents: { accepted: 1, refused: 0, open: 0 },
    rules: [
      {
        id: 'CLIENT-2',
        level: 'must',
        verdict,
        exercised,
        findings: [{ account_id: 'a0', endpoint: 'send', what: 'x', exchanges: [1, 2] }],
      },
    ],
    unattributable: 1,
    exchanges: 5,
    details: {
      exchanges: [{ number: 1, at: early, status: 429, retry_after_ms: 30 }],
      intents: [{ account_id: null, accepted: 1, exchanges: [1] }],
    },
  });
  for (const name of ['referee.report', 'referee.judge'] as const) {
    expect(joined(name, [report('passed', 3), report('failed', 4)])).toEqual({
      rules: [
        {
          id: 'CLIENT-2',
          level: 'must',
          verdict: 'failed',
          exercised: 7,
          findings: [
            { account_id: 'a0', endpoint: 'send', what: 'x', exchanges: [2, 4] },
            { account_id: 'a0', endpoint: 'send', what: 'x', exchanges: [3, 5] },
          ],
        },
      ],
      unattributable: 2,
      exchanges: 10,
      details: {
        exchanges: [
          { number: 2, at: early, status: 429, retry_after_ms: 30 },
          { number: 3, at: early, status: 429, retry_after_ms: 30 },
        ],
        intents: [
          { account_id: null, accepted: 1, exchanges: [2] },
          { account_id: null, accepted: 1, exchanges: [3] },
        ],
      },
      notices: [
        { what: 'a', exchanges: [2] },
        { what: 'a', exchanges: [3] },
      ],
      intents: { accepted: 2, refused: 0, open: 0 },
    });
  }
});

test('the referee: `most` bounds the findings of all shards, not the notices', () => {
  const finding = { what: 'x', exchanges: [1] };
  const report = {
    notices: [{ what: 'a', exchanges: [1] }],
    rules: [{ id: 'CLIENT-2', verdict: 'failed', found: 2, findings: [finding] }],
  };
  expect(joined('referee.report', [report, report], { most: 1 })).toEqual({
    notices: [
      { what: 'a', exchanges: [2] },
      { what: 'a', exchanges: [3] },
    ],
    rules: [
      { id: 'CLIENT-2', verdict: 'failed', found: 4, findings: [{ what: 'x', exchanges: [2] }] },
    ],
  });
});

test('the referee: the time until a new report is that of one shard', () => {
  const [outdated, recent] = [{ exchanges: 1, again_in_ms: 2_000 }, { exchanges: 1 }];
  for (const second of [outdated, recent])
    expect(joined('referee.report', [outdated, second])).toEqual({
      exchanges: 2,
      again_in_ms: 2_000,
    });
  expect(joined('referee.report', [recent, recent])).toEqual({ exchanges: 2 });
});

test('a world: its keys and numbers are those of each shard, its messages add up', () => {
  const world = (messages: number) => ({
    world_id: 'default',
    name: 'default',
    base_url: 'http://x',
    host_url: 'http://x',
    control_url: 'http://y',
    expires_at: null,
    messages,
    accounts: [{ name: 'acme', account_id: 'a0', api_key: 'k', sims: [{ number: '+1' }] }],
    pool: [{ number: '+12025550190', device_id: 'p' }],
  });
  expect(joined('worlds.get', [world(3), world(4)])).toEqual(world(7));
});

test('the reply of a shard that made the change before it ended is left out', () => {
  expect(joined('simulator.reset', [{}, clockOf(early, late, 3)])).toEqual(clockOf(early, late, 3));
});
