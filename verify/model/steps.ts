/**
 * The steps of a random run as data: requests of users and control operations. A step names its
 * targets by position, so it keeps a meaning in any run, also when fast-check removes other steps.
 */
import fc from 'fast-check';
import type { Outcome } from '../../conformance/model/reference-model.ts';
import type { AssumptionName } from '../../src/sim/assumptions.ts';
import { answers } from './answers.ts';

export type SendPath = 'send' | 'dashboard_send' | 'external_send';

/**
 * A sender: a number of the account, of another account, of the pool or of no SIM, or any value.
 */
export type SenderChoice =
  | { readonly own: number }
  | { readonly foreign: number }
  | { readonly pool: number }
  | { readonly value: unknown };

/** `send_at`: relative to now, in some zone, with up to 7 fraction digits; or any value. */
export type SendAtChoice =
  | {
      readonly aheadMs: number;
      readonly zone: string;
      readonly digits: number;
      readonly form?: 'basic' | 'week' | 'ordinal' | undefined;
    }
  | { readonly value: unknown };

export interface SendFields {
  readonly to: unknown;
  readonly sender: SenderChoice;
  readonly senderAs: 'from' | 'from_number' | 'both' | 'neither';
  readonly alias: SenderChoice;
  readonly message: unknown;
  readonly requestId?: unknown;
  readonly sendAt?: SendAtChoice;
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The spelling of an id in a path, if changed. */
export type Spelling = 'upper' | 'bare' | 'upper_bare' | 'half';

export type Moment = 'poll' | 'hold' | 'window' | 'limit' | 'minute' | 'month' | 'thirty_days';

export type Step =
  | { kind: 'send'; who: number; key: number; via: SendPath; fields: SendFields }
  | {
      kind: 'send_raw';
      who: number;
      key: number;
      via: SendPath;
      type?: string;
      encoding?: string;
      body: string | Uint8Array;
    }
  | { kind: 'replay'; who: number; key: number; of: number; via?: SendPath }
  | {
      kind: 'read';
      who: number;
      key: number;
      whose: number;
      message: number;
      method: string;
      id?: string;
      spelt?: Spelling;
    }
  | { kind: 'advance'; byMs: number }
  | { kind: 'advance_to'; what: Moment; who: number; index: number; offsetMs: number }
  | { kind: 'create_key'; who: number }
  | { kind: 'revoke_key'; who: number; key: number }
  | { kind: 'patch_sim'; who: number; sim: number; changes: SimPatch }
  | {
      kind: 'tasks';
      who: number;
      key: number;
      whose: number;
      sim: number;
      id?: string;
      spelt?: Spelling;
    }
  | { kind: 'poll_now'; who: number; sim: number }
  | { kind: 'inject'; who: number; sim: number; text: string }
  | { kind: 'received'; who: number; key: number; query: string }
  | { kind: 'stats'; who: number; key: number }
  | { kind: 'assume'; name: AssumptionName; answer: unknown }
  | { kind: 'quota'; who: number; quota: number | 'unlimited' }
  | { kind: 'limit'; endpoint: LimitName; limit: number | null }
  | { kind: 'outcomes'; outcomes: readonly Outcome[] }
  | {
      kind: 'burst';
      who: number;
      key: number;
      endpoint: LimitName | 'read' | 'stats';
      extra: number;
    }
  | {
      kind: 'stranger';
      ip: number;
      endpoint: number;
      /** In both texts, names in braces stand for a key of the first account, or a part of one. */
      authorization?: string;
      query: string;
      /** 0: until the address is refused; then another address and the account itself call. */
      times: number;
    }
  | { kind: 'lost'; who: number; method: string; path: string; query: string };

export interface SimPatch {
  readonly active?: boolean;
  readonly connected?: boolean;
  readonly allowed?: boolean;
  readonly polling?: 'simulated' | 'external';
}

export type LimitName = SendPath | 'received' | 'tasks';

export const accountCount = 3;

/** The first in nine of ten cases, so that most requests fail in at most one place. */
function mostly<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 11, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

const position = fc.nat({ max: 7 });
const who = fc.nat({ max: accountCount - 1 });
const sendPath = fc.constantFrom<SendPath>('send', 'send', 'dashboard_send', 'external_send');
const limitName = fc.constantFrom<LimitName>(
  'send',
  'dashboard_send',
  'external_send',
  'received',
  'tasks',
);

const spelt = fc.constantFrom<Spelling>('upper', 'bare', 'upper_bare', 'half');

const notText = fc.constantFrom<unknown>(null, 0, 1.5, true, false, [], ['+12025550150'], {}, '');

const recipient = mostly<unknown>(
  fc.constantFrom(
    ...['+12025550150', '+12025550151', '+447400123456', '+12025550160', '+12025550161'],
    ...['+12025550162', '+12025550163', '+12025550164', '+12025550165', '+12025550166'],
  ),
  fc.oneof(
    notText,
    fc.constant(undefined),
    fc.constantFrom(
      ...['12025550150', '+1', '+0123456789', '+999123456789', '+12025550150 ', '+1202555015'],
      ...[
        '+1 202 555 0150',
        '+120255501500',
        '+1234567890123456',
        '+15555555555',
        '+٣',
        '+44740012345',
      ],
    ),
  ),
);

const senderChoice: fc.Arbitrary<SenderChoice> = fc.oneof(
  { weight: 14, arbitrary: fc.record({ own: position }) },
  { weight: 2, arbitrary: fc.record({ foreign: position }) },
  { weight: 3, arbitrary: fc.record({ pool: position }) },
  {
    weight: 2,
    arbitrary: fc.record({
      value: fc.oneof(fc.constantFrom<unknown>('+12025550199', '12025550101', '+1'), notText),
    }),
  },
);

const text = mostly<unknown>(
  fc.constantFrom('hello', 'grüße €', 'schöne Grüße 👋', 'x'.repeat(1600), 'a{}b'.repeat(40)),
  fc.oneof(
    notText,
    fc.constant(undefined),
    fc.constantFrom(
      ...['', ' ', '\t\n\u00a0', '\u200b', 'x'.repeat(1601), '👋'.repeat(800), '👋'.repeat(801)],
      ...[
        '👋'.repeat(1600),
        '👋'.repeat(1601),
        '👨‍👩‍👧'.repeat(400),
        'e\u0301'.repeat(1601),
        '\ud800',
        '\u0000',
      ],
    ),
  ),
);

/** Ids that a careless comparison would treat as equal. */
const alikeIds = ['A', ' a', 'ä', 'Ä', `${'x'.repeat(254)}y`, `${'x'.repeat(254)}z`];

const requestId = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom<unknown>('a', 'b', 'c', 'dd', ...alikeIds) },
  { weight: 6, arbitrary: fc.constant<unknown>(undefined) },
  {
    weight: 2,
    arbitrary: fc.oneof(
      notText,
      fc.constantFrom<unknown>(
        'x'.repeat(255),
        'x'.repeat(256),
        'x'.repeat(257),
        'ä',
        '__proto__',
        '👋👋',
        ...[7, '7', 1e21, 'true'],
      ),
    ),
  },
);

const sendAt: fc.Arbitrary<SendAtChoice> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      aheadMs: fc.constantFrom(1, 1000, 5000, 20_000, 59_999, 3_600_000, 86_400_000, 86_400_001),
      zone: fc.constantFrom('Z', 'Z', '+00:00'),
      digits: fc.constantFrom(3, 3, 6, 7),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      aheadMs: fc.constantFrom(
        -86_400_000,
        -1,
        0,
        1,
        999,
        1000,
        30 * 86_400_000,
        30 * 86_400_000 + 1,
      ),
      zone: fc.constantFrom(
        'Z',
        '+00:00',
        '+02:00',
        '-09:30',
        '',
        '-00:00',
        '+24:00',
        '+0000',
        '+00',
        '-0930',
        '-00',
        'z',
      ),
      digits: fc.constantFrom(0, 1, 3, 6, 7),
      form: fc.constantFrom(undefined, undefined, 'basic', 'week', 'ordinal'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      value: fc.oneof(
        notText,
        fc.constantFrom<unknown>(
          ...['tomorrow', '2026-02-30T00:00:00Z', '2027-02-29T10:00:00Z', '2028-02-29T10:00:00Z'],
          ...['2026-13-01T00:00:00Z', '2027-01-01T24:00:00Z', '2027-01-01T00:60:00Z'],
          ...['2026-12-31T23:59:60Z', '2027-01-01', '9999-12-31T23:59:59.999Z', '1799999999'],
          ...['2026-W53-7T23:59:59.9999Z', '2027-W53-1T00:00Z', '2027W011T000000Z', '2026-366T10Z'],
          ...[
            '2028-366T10:30,25Z',
            '2028366T103000.123456Z',
            '20270101T00:00Z',
            '2027-01-01T24:00Z',
          ],
          ...[
            '2027-01-01T24:00:00.0001Z',
            '2027-W01-8T00:00Z',
            '2027-000T00:00Z',
            '2027-01-01t10:00z',
          ],
        ),
      ),
    }),
  },
);

const fields: fc.Arbitrary<SendFields> = fc.record(
  {
    to: recipient,
    sender: senderChoice,
    senderAs: mostly<SendFields['senderAs']>(
      fc.constantFrom('from', 'from_number'),
      fc.constantFrom('both', 'neither'),
    ),
    alias: senderChoice,
    message: text,
    requestId,
    sendAt,
    extra: fc.constantFrom({ note: 1 }, { From: 'x', to_number: null }, { constructor: 1 }),
  },
  { requiredKeys: ['to', 'sender', 'senderAs', 'alias', 'message', 'requestId'] },
);

/** Fields that are mostly accepted, so that runs make progress. */
const plainFields: fc.Arbitrary<SendFields> = fc.record(
  {
    to: fc.constantFrom<unknown>('+12025550150', '+12025550160', '+12025550166', '+12025550161'),
    sender: fc.oneof(
      { weight: 5, arbitrary: fc.record({ own: position }) },
      { weight: 1, arbitrary: fc.record({ pool: position }) },
    ),
    senderAs: fc.constantFrom<SendFields['senderAs']>('from', 'from_number'),
    alias: fc.constant<SenderChoice>({ own: 0 }),
    message: fc.constantFrom<unknown>('hello', "it's grüße", 'x'.repeat(161)),
    requestId: fc.constantFrom<unknown>(undefined, undefined, 'a', 'b', 'c', ...alikeIds),
    sendAt: fc.record({
      aheadMs: fc.constantFrom(1, 20_000, 60_000, 3_600_000),
      zone: fc.constant('Z'),
      digits: fc.constant(3),
    }),
  },
  { requiredKeys: ['to', 'sender', 'senderAs', 'alias', 'message', 'requestId'] },
);

export const sendStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('send' as const),
  who,
  key: position,
  via: sendPath,
  fields,
});

export const plainSendStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('send' as const),
  who,
  key: position,
  via: sendPath,
  fields: plainFields,
});

export const rawSendStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('send_raw' as const),
  who,
  key: position,
  via: sendPath,
  type: fc.constantFrom(
    ...['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON;x=y'],
    ...['text/plain', 'application/jsonp', 'application/vnd.api+json', ''],
  ),
  encoding: fc.constantFrom('', 'identity', 'Identity', '', '', 'gzip', 'identity, gzip'),
  body: fc.constantFrom<string | Uint8Array>(
    ...['', '{', '[]', 'null', '"text"', '42', '{}', '{"to":1,"to":"+12025550150"}', '{"a":1}x'],
    new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    new Uint8Array(Buffer.from('{"to":"+12025550150"}')),
    `{"message":"${'x'.repeat(65_521)}"}`,
    `{"message":"${'x'.repeat(65_522)}"}`,
    `{"message":"${'é'.repeat(32_761)}"}`,
  ),
});

export const replayStep: fc.Arbitrary<Step> = fc.record(
  { kind: fc.constant('replay' as const), who, key: position, of: position, via: sendPath },
  { requiredKeys: ['kind', 'who', 'key', 'of'] },
);

export const readStep: fc.Arbitrary<Step> = fc
  .record(
    {
      kind: fc.constant('read' as const),
      who,
      key: position,
      whose: fc.option(who, { nil: undefined, freq: 4 }),
      message: fc.nat({ max: 30 }),
      method: mostly(fc.constant('GET'), fc.constant('HEAD')),
      spelt,
      id: fc.constantFrom(
        ...['00000000-0000-4000-8000-000000000000', 'nonsense', '__proto__', 'send%2f', '..', 'é'],
      ),
    },
    { requiredKeys: ['kind', 'who', 'key', 'whose', 'message', 'method'] },
  )
  .map(({ whose, ...step }) => ({ ...step, whose: whose ?? step.who }));

const amounts = [
  ...[1, 7, 999, 1000, 3333, 5000, 10_000, 19_999, 20_000, 20_001, 59_999, 60_000, 60_001],
  ...[90_500, 600_000, 3_599_999, 43_200_000, 86_399_999, 86_400_000, 86_400_001],
];

export const advanceStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('advance' as const),
  byMs: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...amounts) },
    { weight: 3, arbitrary: fc.nat({ max: 120_000 }) },
    { weight: 1, arbitrary: fc.constantFrom(30 * 86_400_000, 31 * 86_400_000 + 1) },
  ),
});

export const advanceToStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('advance_to' as const),
  what: fc.constantFrom<Moment>(
    ...(['poll', 'poll', 'hold', 'window', 'limit', 'limit', 'minute', 'month'] as const),
    'thirty_days',
  ),
  who,
  index: position,
  offsetMs: fc.constantFrom(-1000, -1, 0, 0, 1),
});

export const keySteps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('create_key' as const), who }),
  fc.record({ kind: fc.constant('revoke_key' as const), who, key: position }),
);

const patch = fc.oneof<fc.Arbitrary<SimPatch>[]>(
  fc.record({ active: fc.boolean() }),
  fc.record({ allowed: fc.boolean() }),
  fc.record({ connected: fc.boolean() }),
  fc.record({ polling: fc.constantFrom('simulated' as const, 'external' as const) }),
  fc.record({ active: fc.boolean(), connected: fc.boolean() }),
);

export const patchSimStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: patchOf(who, patch) },
  // Pool SIMs have no account, so they are only deactivated.
  { weight: 1, arbitrary: patchOf(fc.constant(accountCount), fc.record({ active: fc.boolean() })) },
);

function patchOf(whose: fc.Arbitrary<number>, changes: fc.Arbitrary<SimPatch>): fc.Arbitrary<Step> {
  return fc.record({ kind: fc.constant('patch_sim' as const), who: whose, sim: position, changes });
}

export const tasksStep: fc.Arbitrary<Step> = fc
  .record(
    {
      kind: fc.constant('tasks' as const),
      who,
      key: position,
      whose: fc.option(fc.nat({ max: accountCount }), { nil: undefined, freq: 5 }),
      sim: position,
      spelt,
      id: fc.constantFrom('00000000-0000-4000-8000-000000000000', 'x', '__proto__'),
    },
    { requiredKeys: ['kind', 'who', 'key', 'whose', 'sim'] },
  )
  .map(({ whose, ...step }) => ({ ...step, whose: whose ?? step.who }));

export const pollNowStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('poll_now' as const),
  who: fc.nat({ max: accountCount }),
  sim: position,
});

export const receivedSteps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('inject' as const),
    who,
    sim: position,
    text: fc.constantFrom('in', 'ü\u0000"', ''),
  }),
  fc.record({
    kind: fc.constant('received' as const),
    who,
    key: position,
    query: fc.constantFrom(
      ...['', '', 'page=1', 'page=2', 'page_size=1', 'page=2&page_size=1', 'page_size=200'],
      ...[
        'page=0',
        'page=-1',
        'page=x',
        'page_size=0',
        'page_size=201',
        'page=',
        'page=0&page_size=0',
      ],
      ...[
        'page=3&page_size=1',
        'other=1',
        'page=1.0',
        'page=1e0',
        'page_size=1&page=2&x=y',
        'page=%31',
      ],
    ),
  }),
);

export const statsStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('stats' as const),
  who,
  key: position,
});

export const assumeStep: fc.Arbitrary<Step> = fc
  .constantFrom(...(Object.keys(answers) as AssumptionName[]))
  .chain((name) =>
    fc.record({
      kind: fc.constant('assume' as const),
      name: fc.constant(name),
      answer: fc.constantFrom(...answers[name]),
    }),
  );

export const quotaStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('quota' as const),
  who,
  quota: fc.constantFrom<number | 'unlimited'>(0, 1, 2, 5, 30, 10_000, 'unlimited'),
});

export const limitStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('limit' as const),
  endpoint: limitName,
  limit: fc.constantFrom(1, 2, 3, 7, 60, 120, null),
});

export const outcomesStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('outcomes' as const),
  outcomes: fc.constantFrom<readonly Outcome[]>(
    [],
    [{ to: '+12025550150', ends: 'failed', in: 'queued', polls: 2 }],
    [
      { to: '+12025550151', ends: 'stuck', in: 'sent', polls: 1 },
      { to: '+1202555015*', ends: 'failed', in: 'sent', polls: 3 },
    ],
    [{ to: '+1*0', ends: 'delivered', polls: 2 }],
  ),
});

export const burstStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('burst' as const),
  who,
  key: position,
  endpoint: fc.oneof(
    { weight: 5, arbitrary: limitName },
    { weight: 1, arbitrary: fc.constantFrom('read' as const, 'stats' as const) },
  ),
  extra: fc.constantFrom(-1, 0, 1, 2),
});

export const strangerStep: fc.Arbitrary<Step> = fc.record(
  {
    kind: fc.constant('stranger' as const),
    ip: fc.nat({ max: 2 }),
    endpoint: fc.nat({ max: 6 }),
    authorization: fc.constantFrom(
      ...[
        'Bearer nonsense',
        'bearer',
        'Basic abc',
        '',
        'Bearer ',
        'Bearer a b',
        'x',
        'Bearer {cut}',
      ],
      ...[
        'Bearer {revoked}',
        'Bearer {swapped}',
        '{key}',
        'Basic {key}',
        'Token {key}',
        'Bearer {key}x',
      ],
      ...['Bearer {key} ', 'bEaReR {key}', 'Bearer {key},Bearer {key}', 'Bearer {revoked}'],
    ),
    query: fc.constantFrom('', '', 'api_key={key}', 'key={key}', 'access_token={key}'),
    times: fc.constantFrom(1, 1, 1, 2, 5, 0),
  },
  { requiredKeys: ['kind', 'ip', 'endpoint', 'query', 'times'] },
);

export const lostStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('lost' as const),
  who,
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'),
  path: fc.constantFrom(
    ...['/', '', '/api/v1/sms/send', '/api/sms/send', '/api/external/send', '/api/v1/sms/received'],
    ...[
      '/api/v1/sms/send/',
      '/api/v1/sms/received/',
      '/api/v1/account/stats/',
      '/api/v1/account/stats',
    ],
    ...[
      '/api/v1/sms/x/',
      '/api/v1/sms/x',
      '/api/v1/sms//',
      '/api/devices/x/tasks',
      '/api/devices/x/tasks/',
    ],
    ...['/api/devices//tasks/', '/api/v2/sms/send/', '/API/v1/sms/send/', '/api//v1/sms/send/'],
    ...[
      '/api/v1/sms/x/y/',
      '/api/v1/sms/',
      '/api/v1/sms/../sms/send/',
      '/api/v1/sms/send//',
      '/api/sms/x/',
    ],
    ...[
      '/api/v1/devices/x/tasks/',
      '/api/sms/received/',
      '/api/account/stats/',
      '/api/v1/external/send/',
    ],
  ),
  query: fc.constantFrom('', 'a=b'),
});

/** Every step; common ones are more frequent. */
export const anyStep: readonly fc.Arbitrary<Step>[] = [
  ...Array<fc.Arbitrary<Step>>(4).fill(sendStep),
  ...Array<fc.Arbitrary<Step>>(5).fill(plainSendStep),
  rawSendStep,
  ...Array<fc.Arbitrary<Step>>(4).fill(replayStep),
  ...Array<fc.Arbitrary<Step>>(4).fill(readStep),
  ...Array<fc.Arbitrary<Step>>(4).fill(advanceStep),
  ...Array<fc.Arbitrary<Step>>(4).fill(advanceToStep),
  keySteps,
  ...Array<fc.Arbitrary<Step>>(2).fill(patchSimStep),
  ...Array<fc.Arbitrary<Step>>(2).fill(tasksStep),
  pollNowStep,
  ...Array<fc.Arbitrary<Step>>(2).fill(receivedSteps),
  statsStep,
  ...Array<fc.Arbitrary<Step>>(4).fill(assumeStep),
  quotaStep,
  outcomesStep,
  ...Array<fc.Arbitrary<Step>>(2).fill(limitStep),
  burstStep,
  strangerStep,
  lostStep,
];
