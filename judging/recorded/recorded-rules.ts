/**
 * The rules that recorded traffic can show: for each rule, the exchanges that its judge looks at,
 * and which of them are judged together. Exchanges that may mislead a judge are left out: a reply
 * that a gateway may have made, a `request_id` that may have been used before the recording.
 */
import { isLimited } from '#contract/limits.ts';
import { conflictStatuses } from '#contract/refusals.ts';
import { isObject } from '#contract/request-and-reply.ts';
import type { RuleId } from '#contract/rules.ts';
import { eachOf, onceInTurn } from '#io/grouped.ts';
import { type Exchange, isMessageSend, isRead, isSend, methodOf } from '../evidence/exchange.ts';
import { isSuccess } from '../evidence/reply.ts';
import { documentedNames } from '../service/validity.ts';
import { isOfService } from './knowledge.ts';

/**
 * The exchanges that are judged together. `message`: the send and the reads of one message, or one
 * exchange that names no message; `request_id`: the sends of one key under one id; `bucket`: the
 * requests that one limit counts; `long`: the sends of long messages.
 */
export type GroupKind = 'message' | 'request_id' | 'bucket' | 'long';

/** How recorded traffic is judged by a rule. */
export interface RecordedRule {
  readonly group: GroupKind;
  /** True if the rule is judged only with `--traffic-complete`. */
  readonly needsAll?: true;
  /** True for the exchanges that the judge of the rule looks at. */
  readonly fits: (one: Exchange) => boolean;
}

const documentedErrors = [400, 401, 402, 403, 404, 429];

/** True for the statuses that refuse a sender number. */
function refusesSender({ reply }: Exchange): boolean {
  return reply.status === 403 || reply.status === 503;
}

/** True for a send that is certainly not a replay: a correct service never replays this reply. */
const isFirstUse = (one: Exchange) => isMessageSend(one) && isFirstUseOfSend(one);

const isFirstUseOfSend = onceInTurn((one: Exchange): boolean => {
  if (one.caller.key !== 'valid' || repeatsFields(one)) return false;
  const { status } = one.reply;
  if (isSuccess(one.reply)) return status !== replayed || !hasRequestId(one);
  // Under an id, a 400 or 403 may repeat the refusal of an earlier send (`failedRequestId`).
  const isRefused = [400, 403].includes(status) ? !hasRequestId(one) : status === unprocessable;
  return isRefused && isObject(one.reply.json) && isDeclaredJson(one);
});

const replayed = 200;
/** Not documented, but many frameworks refuse a field with it. */
const unprocessable = 422;

export function isDeclaredJson({ headers }: Exchange): boolean {
  return /^application\/json\b/i.test(headers['content-type'] ?? '');
}

export function hasRequestId({ fields }: Exchange): boolean {
  const { request_id: id } = fields ?? {};
  return id !== undefined && id !== '';
}

const quotedNames = documentedNames.map((name) => `"${name}"`);
const memberName = new RegExp(`(${quotedNames.join('|')})\\s*:`, 'g');

/** True if a name occurs twice in the body: services differ in which of the two counts. */
function repeatsFields({ body = '' }: Exchange): boolean {
  const isTwice = (name: string) => {
    const at = body.indexOf(name);
    return at >= 0 && body.includes(name, at + 1);
  };
  if (!quotedNames.some(isTwice)) return false;
  const names = [...body.matchAll(memberName)];
  return new Set(names.map(([, name]) => name)).size < names.length;
}

/** A send that is not a replay, or whose body is not a JSON object; its body was recorded. */
function isMalformed(one: Exchange): boolean {
  if (one.body === undefined) return false;
  if (one.fields !== undefined) return isFirstUse(one);
  const { status } = one.reply;
  return isMessageSend(one) && one.caller.key === 'valid' && status >= 200 && status < 500;
}

/** A documented request: its method, and its path to the last slash. */
function isDocumented({ method, endpoint, path }: Exchange): boolean {
  if (endpoint === undefined) return false;
  return method === methodOf(endpoint) && path.endsWith('/');
}

const isMessageBody = (one: Exchange) =>
  (isMessageSend(one) || isRead(one)) && isSuccess(one.reply) && one.caller.key === 'valid';
const isRead200 = (one: Exchange) => isRead(one) && one.reply.status === 200;
const isAcceptedSend = (one: Exchange) => isSend(one) && one.reply.status === 202;
const isTasks = ({ endpoint, reply }: Exchange) => endpoint === 'tasks' && reply.status === 200;
const isHistory = (one: Exchange) => isAcceptedSend(one) || isRead200(one) || isTasks(one);
const isOfLimit = ({ endpoint }: Exchange) => endpoint !== undefined && isLimited(endpoint);
const isOfAccount = (one: Exchange) => isOfLimit(one) && one.caller.account !== undefined;

/** True if the reply says whether its path exists. A 404 of `tasks` may be about the device. */
function showsPath({ endpoint, reply }: Exchange): boolean {
  const mayLackPath = endpoint !== 'tasks' && [404, 405].includes(reply.status);
  return mayLackPath || (endpoint === 'send' ? reply.status === 202 : isSuccess(reply));
}

const message = (fits: RecordedRule['fits']): RecordedRule => ({ group: 'message', fits });
const limit: RecordedRule = { group: 'bucket', needsAll: true, fits: isOfAccount };
const unlimited: RecordedRule = {
  group: 'bucket',
  fits: ({ endpoint, caller, reply }) =>
    endpoint !== undefined &&
    !isLimited(endpoint) &&
    caller.account !== undefined &&
    [200, 404, 429].includes(reply.status),
};

/** Sorted by what their judges look at: rules with one filter share a trace. */
export const recordedRules: Readonly<Partial<Record<RuleId, RecordedRule>>> = {
  ...eachOf(['SVC-2', 'STATE-1', 'STATE-2', 'STATE-3', 'STATE-4', 'STATE-5'], message(isHistory)),
  ...eachOf(['RES-1', 'RES-2', 'RES-3', 'RES-4', 'RES-5'], message(isMessageBody)),
  ...eachOf(['SEND-1', 'SEND-2', 'SEND-3'], message(isFirstUse)),
  ...eachOf(['AUTH-4', 'AUTH-5', 'ERR-2'], message(refusesSender)),
  ...eachOf(['AUTH-6', 'LIMIT-1', 'LIMIT-2', 'LIMIT-3', 'LIMIT-4', 'LIMIT-5', 'LIMIT-7'], limit),
  ...eachOf(['READ-3', 'LIMIT-6'], unlimited),
  'SVC-4': message(
    (one) =>
      isDocumented(one) && (isSuccess(one.reply) || documentedErrors.includes(one.reply.status)),
  ),
  'SEND-4': {
    group: 'request_id',
    fits: (one) =>
      isMessageSend(one) &&
      one.caller.key === 'valid' &&
      (isSuccess(one.reply) ||
        [0, 400, 402, 403, 503, ...conflictStatuses].includes(one.reply.status)) &&
      isOfService(one),
  },
  'SEND-5': message(isMalformed),
  'SEND-6': { group: 'long', fits: isFirstUse },
  'SEND-7': message((one) => isFirstUse(one) || isHistory(one)),
  'READ-1': message((one) => isHistory(one) || (isRead(one) && one.reply.status === 404)),
  'READ-2': message(
    (one) =>
      isRead(one) &&
      one.caller.key === 'valid' &&
      [200, 400, 403, 404].includes(one.reply.status) &&
      isObject(one.reply.json),
  ),
  'AUTH-1': message(
    (one) =>
      one.caller.key === 'missing' &&
      isDocumented(one) &&
      // The dashboard may have sessions of its own.
      one.endpoint !== 'dashboard_send' &&
      (isSuccess(one.reply) ||
        one.reply.status === 401 ||
        (isRead(one) && one.reply.status === 404)),
  ),
  'AUTH-3': message(
    (one) =>
      isDocumented(one) &&
      (one.reply.status === 401 ||
        (one.reply.status === 403 && one.caller.key === 'missing' && isObject(one.reply.json))),
  ),
  'ERR-1': message((one) => one.reply.status === 402),
  'ERR-3': { group: 'bucket', fits: (one) => isOfLimit(one) && !one.reply.lacksHeaders },
  'ERR-4': message((one) => isOfLimit(one) && isDocumented(one) && one.reply.status === 429),
  'VER-1': message(
    (one) =>
      isDocumented(one) && one.endpoint !== 'read' && one.caller.key === 'valid' && showsPath(one),
  ),
};

/** Why recorded traffic cannot show the other rules. */
export const unrecordedRules: Readonly<Partial<Record<RuleId, string>>> = {
  'SVC-1': 'traffic does not say which SIMs an account has',
  'SVC-3': 'traffic does not say whether a SIM was connected, nor how fast it reports',
  'RES-6': 'traffic does not say which SIM has a number',
  'AUTH-2': 'keys are created in the dashboard',
};
