/**
 * What is asked of the control port: every row, with bodies that it takes and bodies that it must refuse.
 * Left out is what would make a later failure legitimate: a fault that strikes, and polls without number.
 * `GET /control/events` and `/` answer later or for ever: they stand at the end of a connection alone.
 */
import fc from 'fast-check';
import { answers } from '../model/answers.ts';
import { spoilt } from './bodies.ts';
import { type Facts, numbers } from './facts.ts';
import { type Bytes, utf8, weighted } from './piece.ts';
import { ids } from './targets.ts';

export interface Row {
  readonly method: string;
  readonly target: Bytes;
  readonly body: Bytes;
}

type Json = Readonly<Record<string, unknown>>;

const amounts = ['1ms', '999ms', '5s', '20s', '61s', '1h', '24h', '31d', '-1s', '1y', '', 0];
const states = [{ connected: false }, { connected: true }, { active: false }, { active: true }];
const sims = [...states, { polling: 'external' }, { polling: 'simulated' }, { allowed: false }, {}];
const outcomes = [
  { to: numbers[0], ends: 'failed', in: 'sent' },
  { to: '+1202555016*', ends: 'stuck', in: 'sending' },
  { to: '*', ends: 'delivered' },
];

/** What moves the world between requests; understood as it stands. */
export function moves({ deviceIds }: Facts): fc.Arbitrary<Row> {
  const deviceId = fc.constantFrom(...deviceIds);
  const advance = fc.constantFrom('1ms', '5s', '20s', '61s', '61s', '1h', '25h', '31d');
  return weighted<Row>(
    [6, advance.map((by) => row('POST', '/control/clock/advance', { by }))],
    [2, fc.constant(row('POST', '/control/clock/advance', { until_idle: true }))],
    [
      6,
      fc
        .tuple(deviceId, fc.constantFrom(...sims))
        .map(([id, change]) => row('PATCH', `/control/sims/${id}`, change)),
    ],
    [2, deviceId.map((id) => row('POST', `/control/sims/${id}/poll`))],
  );
}

export function controlRows(facts: Facts): fc.Arbitrary<Row> {
  const right = fc.oneof(reading(facts), changing(facts), switching());
  return weighted<Row>(
    [8, right],
    [
      2,
      right.chain(({ method, target, body }) =>
        spoilt(fc.constant(Buffer.from(body, 'latin1').toString())).map((bytes) => ({
          method,
          target,
          body: bytes,
        })),
      ),
    ],
    [1, snapshots(facts)],
    [
      1,
      fc
        .constantFrom(
          '/control/',
          '/control/state/',
          '/control/accounts//keys',
          '/control/__proto__',
          '/control/%73tate',
        )
        .map((target) => row('GET', target)),
    ],
  );
}

function row(method: string, target: string, body?: Json): Row {
  return { method, target, body: body === undefined ? '' : utf8(JSON.stringify(body)) };
}

function reading({ accountIds, messageIds }: Facts): fc.Arbitrary<Row> {
  const fixed = [
    ...[
      'health',
      'state',
      'invariants?snapshot=false',
      'clock',
      'accounts',
      'pool',
      'outcomes',
      'faults',
    ],
    ...[
      'outcomes/hits',
      'assumptions',
      'assumptions/ledger',
      'limits',
      'limits/buckets',
      'snapshot',
    ],
    ...[
      'requests?limit=3',
      'requests?limit=0',
      'requests?limit=a&limit=b',
      'messages?limit=2&status=sent',
    ],
    ...[
      'messages?cursor=%00',
      'messages?text=%ff',
      'messages?status=none',
      'openapi.json',
      'journal?x=1',
    ],
  ];
  const account = ids(accountIds);
  return weighted<Row>(
    [3, fc.constantFrom(...fixed).map((path) => row('GET', `/control/${path}`))],
    [1, ids(messageIds).map((id) => row('GET', `/control/messages/${id}`))],
    [
      1,
      fc
        .tuple(account, fc.constantFrom('', '/keys', '/sims', '/received'))
        .map(([id, rest]) => row('GET', `/control/accounts/${id}${rest}`)),
    ],
  );
}

function changing(facts: Facts): fc.Arbitrary<Row> {
  const account = ids(facts.accountIds);
  const device = ids(facts.deviceIds);
  const message = ids(facts.messageIds);
  const of = (id: fc.Arbitrary<string>, make: (id: string) => Row) => id.map(make);
  const step = (name: string, body?: Json) =>
    of(message, (id) => row('POST', `/control/messages/${id}/${name}`, body));
  const inbound = { from: '+12025550199', to: numbers[0], message: 'hi \u{1F600}' };
  const exchange = { method: 'GET', path: '/api/v1/account/stats/' };
  return fc.oneof(
    fc.constantFrom(...amounts).map((by) => row('POST', '/control/clock/advance', { by })),
    device.chain((id) =>
      fc.constantFrom(...sims).map((change) => row('PATCH', `/control/sims/${id}`, change)),
    ),
    of(device, (id) => row('POST', `/control/sims/${id}/poll`)),
    step('progress'),
    step('fail', { reason: 'fuzzed' }),
    of(account, (id) => row('POST', `/control/accounts/${id}/keys`, { name: 'n' })),
    of(account, (id) => row('POST', `/control/accounts/${id}/received`, inbound)),
    of(account, (id) => row('POST', `/control/accounts/${id}/requests`, exchange)),
    of(account, (id) => row('POST', `/control/accounts/${id}/sims`, { number: '+12025550177' })),
    of(account, (id) => row('PATCH', `/control/accounts/${id}`, { monthly_quota: 3 })),
    fc.nat(9).map((n) => row('POST', '/control/accounts', { name: `n${n}`, monthly_quota: n })),
    of(ids(facts.keyIds.slice(1)), (id) => row('DELETE', `/control/keys/${id}`)),
    of(ids(facts.accountIds.slice(1)), (id) => row('DELETE', `/control/accounts/${id}`)),
  );
}

function switching(): fc.Arbitrary<Row> {
  const assumed = fc
    .constantFrom(...(Object.entries(answers) as [string, readonly unknown[]][]))
    .chain(([name, all]) => fc.constantFrom(...all).map((answer) => ({ [name]: answer })));
  const never = { when: { nth: [999_999_999] }, fault: { kind: 'delay', ms: 0 } };
  return fc.oneof(
    assumed.map((change) => row('PATCH', '/control/assumptions', change)),
    fc
      .constantFrom(1, 3, 120, null, 0, 1.5)
      .map((send) => row('PATCH', '/control/limits', { send })),
    fc
      .constantFrom(...outcomes)
      .map((each) => row('PUT', '/control/outcomes', { outcomes: [each] })),
    fc.constant(row('POST', '/control/limits/reset')),
    fc.constant(row('POST', '/control/faults', never)),
    fc.constant(row('DELETE', '/control/faults')),
    fc
      .constantFrom({ mode: 'manual' }, { mode: 'real' }, { mode: 'scaled', rate: 60 })
      .map((mode) => row('PUT', '/control/clock', mode)),
    fc.constant(row('POST', '/control/shutdown')),
  );
}

/** The state after a reset comes back whole, or with a digit or an id changed. */
function snapshots({ snapshot }: Facts): fc.Arbitrary<Row> {
  const numbersIn = [...snapshot.matchAll(/:-?\d+/g)].map(({ index }) => index + 1);
  const changes = fc.option(
    fc.tuple(fc.constantFrom(...numbersIn), fc.constantFrom('0', '-', '9', '1', 'null', '"x"')),
    { freq: 4, nil: undefined },
  );
  return changes.map((change) => {
    if (change === undefined)
      return { method: 'PUT', target: '/control/snapshot', body: utf8(snapshot) };
    const [at, instead] = change;
    const body = snapshot.slice(0, at) + instead + snapshot.slice(at).replace(/^-?\d+/, '');
    return { method: 'PUT', target: '/control/snapshot', body: utf8(body) };
  });
}
