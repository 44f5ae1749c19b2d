/**
 * The replies that each assumption may change, according to its row in `docs/rules.md`. Given two
 * replies to the same request under two answers, a function decides whether the row covers them.
 * Only the first difference of two runs is checked; later ones are its consequences.
 */
import type { AssumptionName } from '../../src/sim/assumptions.ts';
import type { TraceLine } from './session.ts';

type Reach = (a: TraceLine, b: TraceLine) => boolean;

const isSend = (line: TraceLine) => line.request.path.endsWith('/send/');
const isRead = (line: TraceLine) => /^\/api\/v1\/sms\/[^/]+\/$/.test(line.request.path);
const isReceived = (line: TraceLine) => line.request.path === '/api/v1/sms/received/';
const isTasks = (line: TraceLine) => line.request.path.endsWith('/tasks/');
const isStats = (line: TraceLine) => line.request.path === '/api/v1/account/stats/';
const isStranger = (line: TraceLine) => line.who === -1;

function bodyOf(line: TraceLine): Readonly<Record<string, unknown>> {
  try {
    const text = Buffer.from(line.request.body).toString();
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** One of the two replies has the status. */
function one(status: number): Reach {
  return (a, b) => a.reply.status === status || b.reply.status === status;
}

/** The two replies have these two statuses, in either order. */
function either(x: number, y: number): Reach {
  return (a, b) =>
    `${a.reply.status} ${b.reply.status}` === `${x} ${y}` ||
    `${a.reply.status} ${b.reply.status}` === `${y} ${x}`;
}

function both(...conditions: readonly Reach[]): Reach {
  return (a, b) => conditions.every((each) => each(a, b));
}

function any(...conditions: readonly Reach[]): Reach {
  return (a, b) => conditions.some((each) => each(a, b));
}

const throttled = one(429);
const invalid: Reach = both(isSend, one(400));
const names =
  (field: string): Reach =>
  (a) =>
    isSend(a) && Object.hasOwn(bodyOf(a), field);
const namesRequestId: Reach = (a) => isSend(a) && typeof bodyOf(a)['request_id'] === 'string';
/** Progress of messages: shown by reads, counted by stats, and refunded to the quota. */
const progress: Reach = any(isRead, isStats, isTasks, both(isSend, one(402)));
const quota: Reach = any(isStats, both(isSend, one(402)));

export const speaksOf: Readonly<Record<AssumptionName, Reach>> = {
  limiterRefill: throttled,
  refusedSpendsToken: throttled,
  errorsSpendToken: throttled,
  failedRequestId: namesRequestId,
  gateOrder: any(namesRequestId, both(isSend, one(402))),
  bothSenderFields: both(names('from'), names('from_number')),
  replayScope: namesRequestId,
  replayDifferentBody: both(namesRequestId, one(409)),
  replayAcrossEndpoints: namesRequestId,
  replaySpends: throttled,
  errorBody: (a, b) =>
    a.reply.status === b.reply.status && a.reply.status >= 400 && a.reply.status !== 429,
  notFoundBody: (a, b) => a.reply.status === 404 && b.reply.status === 404,
  malformedJson: (a, b) => isSend(a) && a.reply.status === 400 && b.reply.status === 400,
  contentType: both(isSend, one(415)),
  trailingSlash: either(404, 301),
  methodNotAllowed: either(405, 404),
  unknownFields: (a) =>
    isSend(a) &&
    Object.keys(bodyOf(a)).some(
      (name) => !/^(to|from|from_number|message|request_id|send_at)$/.test(name),
    ),
  nullFields: (a) => isSend(a) && Object.values(bodyOf(a)).includes(null),
  typeCoercion: (a) =>
    isSend(a) &&
    Object.values(bodyOf(a)).some((value) => ['number', 'boolean'].includes(typeof value)),
  validationScope: (a, b) => a.reply.status === 400 && b.reply.status === 400,
  sendAtFormats: both(invalid, names('send_at')),
  pathIdForm: both(any(isRead, isTasks), one(404)),
  emptyRequestId: (a) => isSend(a) && bodyOf(a)['request_id'] === '',
  requestIdMaxLength: namesRequestId,
  characterUnit: both(invalid, names('message')),
  blankMessage: (a, b) => invalid(a, b) && String(bodyOf(a)['message']).trim() === '',
  numberCheck: invalid,
  sendAtZone: both(invalid, names('send_at')),
  sendAtMaxAheadDays: both(invalid, names('send_at')),
  heldStatus: (a, b) => isRead(a) && `${a.reply.body}${b.reply.body}`.includes('"scheduled"'),
  progressPace: progress,
  pollIntervalSeconds: progress,
  sendsPerPoll: progress,
  failsFrom: progress,
  failureRate: progress,
  deactivation: progress,
  disconnectedSim: both(isSend, any(one(202), one(402), either(403, 503))),
  foreignNumber: (a, b) => isSend(a) && a.reply.status === 403 && b.reply.status === 403,
  poolBesideOwnSim: both(isSend, one(403)),
  monthlyQuota: quota,
  quotaUnit: quota,
  quotaMonth: quota,
  quotaRefund: quota,
  keyFormat: () => false,
  dashboardSendShape: () => false,
  externalSendShape: () => false,
  receivedShape: isReceived,
  tasksShape: isTasks,
  tasksAccess: () => false,
  statsShape: () => false,
  unauthenticatedThrottle: both(isStranger, throttled),
  clientIp: both(isStranger, throttled),
  replyTemplates: () => true,
};
