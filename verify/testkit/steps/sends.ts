/**
 * Sends of every kind: valid, odd in some field, raw bytes, and repeated. A value that
 * `fc.constantFrom` names twice is drawn twice as often.
 */
import fc from 'fast-check';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { dayMs, hourMs } from '#contract/time.ts';
import { itemAt, poolNumbers } from '../twin/callers.ts';
import type { ComparedRun } from '../twin/compared-run.ts';
import { requestText, type SendPath, sendPaths } from '../twin/request.ts';
import { caller, mostly, position, stepKind, weighted } from './step.ts';
import * as values from './values.ts';
import { type TimeChoice, writtenTime } from './written-time.ts';

const via = fc.constantFrom<SendPath>('send', 'send', 'dashboard_send', 'external_send');
const notText = fc.constantFrom(...values.notTexts);

/** Who sends: a caller with the key at this position, to one of the send endpoints. */
interface SendOrigin {
  readonly who: number;
  readonly key: number;
  readonly via: SendPath;
}

/** A number of the account, of another account, of the pool or of no SIM, or any value. */
type Sender = { own: number } | { foreign: number } | { pool: number } | { value: unknown };

const oddSender = fc.oneof(fc.constantFrom<unknown>('+12025550199', '12025550101', '+1'), notText);
const sender = weighted<Sender>(
  [14, fc.record({ own: position })],
  [2, fc.record({ foreign: position })],
  [3, fc.record({ pool: position })],
  [2, fc.record({ value: oddSender })],
);

/** The fields that name the sender; with `both`, `from` names it and `from_number` another one. */
const senderFields = mostly(
  fc.constantFrom<'from' | 'from_number' | 'both' | 'neither'>('from', 'from_number'),
  fc.constantFrom('both', 'neither'),
);

const oddRequestId = fc.oneof(notText, fc.constantFrom(...values.oddIds));
const requestId = weighted<unknown>(
  [8, fc.constantFrom('a', 'b', 'c', 'dd', ...values.alikeIds)],
  [6, fc.constant(undefined)],
  [2, oddRequestId],
);

/** A time relative to now; each of its parts is drawn from a list. */
function timeChoice(choices: {
  readonly aheadMs: readonly number[];
  readonly zones: readonly string[];
  readonly digits: readonly number[];
  readonly forms?: readonly TimeChoice['form'][];
}) {
  return fc.record({
    aheadMs: fc.constantFrom(...choices.aheadMs),
    zone: fc.constantFrom(...choices.zones),
    digits: fc.constantFrom(...choices.digits),
    form: fc.constantFrom(...(choices.forms ?? [undefined])),
  });
}

/** Mostly a time that is accepted, sometimes one at the edge or in a rare form, or any value. */
const acceptedTime = timeChoice({
  aheadMs: [1, 1000, 5000, 20_000, 59_999, hourMs, dayMs, dayMs + 1],
  zones: ['Z', 'Z', '+00:00'],
  digits: [3, 3, 6, 7],
});
const edgeTime = timeChoice({
  aheadMs: [-dayMs, -1, 0, 1, 999, 1000, 30 * dayMs, 30 * dayMs + 1],
  zones: values.zones,
  digits: [0, 1, 3, 6, 7],
  forms: [undefined, undefined, 'basic', 'week', 'ordinal'],
});
const anyTime = fc.record({ value: fc.oneof(notText, fc.constantFrom(...values.oddTimes)) });
const sendAt = weighted<TimeChoice | { readonly value: unknown }>(
  [5, acceptedTime],
  [2, edgeTime],
  [1, anyTime],
);

/** The fields that every drawn record has; the others may be absent. */
const requiredKeys = [
  'to',
  'sender',
  'senderFields',
  'secondSender',
  'message',
  'requestId',
] as const;

/** Fields that are mostly valid; each may be odd. */
const anyFields = fc.record(
  {
    to: mostly<unknown>(
      fc.constantFrom(...values.recipients),
      fc.oneof(notText, fc.constant(undefined), fc.constantFrom(...values.oddNumbers)),
    ),
    sender,
    senderFields,
    secondSender: sender,
    message: mostly<unknown>(
      fc.constantFrom(...values.messages),
      fc.oneof(notText, fc.constant(undefined), fc.constantFrom(...values.oddMessages)),
    ),
    requestId,
    sendAt,
    extra: fc.constantFrom<object>({ note: 1 }, { From: 'x', to_number: null }, { constructor: 1 }),
  },
  { requiredKeys: [...requiredKeys] },
);

/** Fields that are mostly accepted, so that runs make progress. */
const usualFields: typeof anyFields = fc.record(
  {
    to: fc.constantFrom<unknown>(
      '+12025550150',
      '+12025550160',
      '+12025550166',
      '+12025550161',
      '+12025550150',
      '+12025550173',
      '+12025550174',
    ),
    sender: weighted<Sender>([5, fc.record({ own: position })], [1, fc.record({ pool: position })]),
    senderFields: fc.constantFrom('from', 'from_number'),
    secondSender: fc.constant({ own: 0 }),
    message: fc.constantFrom<unknown>('hello', "it's grüße", 'x'.repeat(161)),
    requestId: fc.constantFrom<unknown>(undefined, undefined, 'a', 'b', 'c', ...values.alikeIds),
    sendAt: timeChoice({ aheadMs: [1, 20_000, 60_000, hourMs], zones: ['Z'], digits: [3] }),
  },
  { requiredKeys: [...requiredKeys] },
);

type SendFields = typeof anyFields extends fc.Arbitrary<infer Fields> ? Fields : never;

const sendOf = (fields: typeof anyFields) =>
  stepKind('send', fc.record({ who: caller, key: position, via, fields }), (run, step) => {
    const body = JSON.stringify(bodyOf(run, step.who, step.fields));
    return send(run, step, body);
  });

export const anySend = sendOf(anyFields);
export const usualSend = sendOf(usualFields);

/** Sends bytes that may not be JSON, with any content type. */
export const rawSend = stepKind(
  'send_raw',
  fc.record({
    who: caller,
    key: position,
    via,
    type: fc.constantFrom(...values.contentTypes),
    encoding: fc.constantFrom('', 'identity', 'Identity', '', '', 'gzip', 'identity, gzip'),
    body: fc.constantFrom(...values.oddBodies),
  }),
  (run, step) => {
    const { type: contentType, encoding: contentEncoding } = step;
    const request = { ...post(run, step, step.body), contentType, contentEncoding };
    return `${requestText(request)} -> ${run.exchange(step.who, request).status}`;
  },
);

/** Repeats an earlier send of the caller, by the same endpoint or another one. */
export const replay = stepKind(
  'replay',
  fc.record(
    { who: caller, key: position, of: position, via },
    { requiredKeys: ['who', 'key', 'of'] },
  ),
  (run, { who, key, of: sendPosition, via }) => {
    const first = itemAt(run.callers.of(who).sends, sendPosition);
    if (first === undefined) return 'nothing to replay';
    return send(run, { who, key, via: via ?? first.via }, first.body);
  },
);

export function post(
  run: ComparedRun,
  { who, key, via }: SendOrigin,
  body: string | Uint8Array,
): ApiRequest {
  const contentType = 'application/json';
  return { ...run.getBy(who, sendPaths[via], key), method: 'POST', contentType, body };
}

/** Sends, and notes the send and a refusal by the limit for later steps. */
function send(run: ComparedRun, origin: SendOrigin, body: string): string {
  const request = post(run, origin, body);
  const reply = run.exchange(origin.who, request);
  const sender = run.callers.of(origin.who);
  sender.sends.push({ via: origin.via, body });
  if (reply.status === 429) {
    const retryAfterSeconds = Number(reply.headers?.['retry-after']);
    sender.lastRefusal = { atMs: run.model.nowMs, retryAfterSeconds };
  }
  return `${requestText(request)} -> ${reply.status}`;
}

function bodyOf(run: ComparedRun, who: number, fields: SendFields): object {
  const { senderFields, sendAt } = fields;
  const from = numberOf(run, who, fields.sender);
  const second = numberOf(run, who, fields.secondSender);
  return {
    ...fields.extra,
    to: fields.to,
    ...(senderFields === 'from' && { from }),
    ...(senderFields === 'from_number' && { from_number: from }),
    ...(senderFields === 'both' && { from, from_number: second }),
    message: fields.message,
    request_id: fields.requestId,
    send_at: sendAt && ('value' in sendAt ? sendAt.value : writtenTime(sendAt, run.model.nowMs)),
  };
}

/** The number, or other value, that stands for the chosen sender. */
function numberOf(run: ComparedRun, who: number, choice: Sender): unknown {
  if ('value' in choice) return choice.value;
  if ('pool' in choice) return itemAt(poolNumbers, choice.pool);
  const { accountId } = run.callers.of(who);
  if ('foreign' in choice) {
    const others = run.model.sims.filter(
      (sim) => sim.accountId !== undefined && sim.accountId !== accountId,
    );
    return itemAt(others, choice.foreign)?.number;
  }
  return itemAt(run.callers.simsOf(who), choice.own)?.number ?? itemAt(poolNumbers, choice.own);
}
