/**
 * Which replies an assumption may change, by its row in `docs/rules.md`: given two replies to the
 * same request under two answers, a function decides whether the row covers their difference. Only
 * the first difference of two runs is checked; later ones are its consequences.
 */
import type { AssumptionName } from '../../../src/ledger/assumptions.ts';
import type { TraceLine } from '../session.ts';

type Reach = (a: TraceLine, b: TraceLine) => boolean;

/** The path as the document writes it: other answers serve it without the slash, or in any case. */
const pathOf = ({ request }: TraceLine) => request.path.toLowerCase().replace(/\/?$/, '/');
const isSend = (line: TraceLine) => pathOf(line).endsWith('/send/');
const isRead = (line: TraceLine) => /^\/api\/v1\/sms\/[^/]+\/$/.test(pathOf(line));
const isReceived = (line: TraceLine) => pathOf(line) === '/api/v1/sms/received/';
const isTasks = (line: TraceLine) => pathOf(line).endsWith('/tasks/');
const isStats = (line: TraceLine) => pathOf(line) === '/api/v1/account/stats/';
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
function oneStatusIs(status: number): Reach {
  return (a, b) => a.reply.status === status || b.reply.status === status;
}

/** The two replies have these two statuses, in either order. */
function statusesAre(x: number, y: number): Reach {
  return (a, b) =>
    `${a.reply.status} ${b.reply.status}` === `${x} ${y}` ||
    `${a.reply.status} ${b.reply.status}` === `${y} ${x}`;
}

function allOf(...conditions: readonly Reach[]): Reach {
  return (a, b) => conditions.every((each) => each(a, b));
}

function anyOf(...conditions: readonly Reach[]): Reach {
  return (a, b) => conditions.some((each) => each(a, b));
}

const isThrottled = oneStatusIs(429);
const isInvalidSend: Reach = allOf(isSend, oneStatusIs(400));
const sendsField =
  (field: string): Reach =>
  (a) =>
    isSend(a) && Object.hasOwn(bodyOf(a), field);
const sendsRequestId: Reach = (a) => isSend(a) && typeof bodyOf(a)['request_id'] === 'string';
const showsQuota: Reach = anyOf(isStats, allOf(isSend, oneStatusIs(402)));
/** Progress of messages: shown by reads, counted by stats, and refunded to the quota. */
const showsProgress: Reach = anyOf(isRead, isTasks, showsQuota);

export const reaches: Readonly<Record<AssumptionName, Reach>> = {
  limiterRefill: isThrottled,
  refusedSpendsToken: isThrottled,
  errorsSpendToken: isThrottled,
  replaySpends: isThrottled,
  unauthenticatedThrottle: allOf(isStranger, isThrottled),
  clientIp: allOf(isStranger, isThrottled),
  monthlyQuota: showsQuota,
  quotaUnit: showsQuota,
  quotaMonth: showsQuota,
  quotaRefund: showsQuota,
  messageRetention: allOf(isRead, statusesAre(200, 404)),
  failedRequestId: sendsRequestId,
  gateOrder: anyOf(sendsRequestId, allOf(isSend, oneStatusIs(402))),
  replayScope: sendsRequestId,
  replayDifferentBody: allOf(sendsRequestId, oneStatusIs(409)),
  replayAcrossEndpoints: sendsRequestId,
  emptyRequestId: (a) => isSend(a) && bodyOf(a)['request_id'] === '',
  requestIdMaxLength: sendsRequestId,
  bothSenderFields: allOf(sendsField('from'), sendsField('from_number')),
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
  sendAtFormats: allOf(isInvalidSend, sendsField('send_at')),
  characterUnit: allOf(isInvalidSend, sendsField('message')),
  numberCheck: isInvalidSend,
  sendAtZone: allOf(isInvalidSend, sendsField('send_at')),
  sendAtMaxAheadDays: allOf(isInvalidSend, sendsField('send_at')),
  foreignNumber: (a, b) => isSend(a) && a.reply.status === 403 && b.reply.status === 403,
  poolBesideOwnSim: allOf(isSend, oneStatusIs(403)),
  disconnectedSim: allOf(isSend, anyOf(oneStatusIs(202), oneStatusIs(402), statusesAre(403, 503))),
  errorBody: (a, b) =>
    a.reply.status === b.reply.status && a.reply.status >= 400 && a.reply.status !== 429,
  notFoundBody: (a, b) => a.reply.status === 404 && b.reply.status === 404,
  malformedJson: (a, b) => isSend(a) && a.reply.status === 400 && b.reply.status === 400,
  contentType: allOf(isSend, oneStatusIs(415)),
  trailingSlash: (a) => !a.request.path.endsWith('/'),
  methodNotAllowed: statusesAre(405, 404),
  pathIdForm: allOf(anyOf(isRead, isTasks), oneStatusIs(404)),
  keyFormat: () => false,
  receivedShape: isReceived,
  tasksShape: isTasks,
  replyTemplates: () => true,
  emptyBody: (a, b) => isSend(a) && a.reply.status === 400 && b.reply.status === 400,
  pathCase: (a) => /[A-Z]/.test(a.request.path),
  bearerSpace: (a) => /^bearer(?! \S)/i.test(a.request.authorization ?? ''),
  headMethod: anyOf((a) => a.request.method === 'HEAD', oneStatusIs(405)),
  keyCheck: anyOf(
    statusesAre(401, 404),
    statusesAre(401, 405),
    statusesAre(429, 405),
    statusesAre(429, 404),
  ),
  emptySendAt: allOf(isSend, sendsField('send_at')),
  blankMessage: (a, b) => isInvalidSend(a, b) && String(bodyOf(a)['message']).trim() === '',
  receivedQuery: isReceived,
  heldStatus: (a, b) => isRead(a) && `${a.reply.body}${b.reply.body}`.includes('"scheduled"'),
  progressPace: showsProgress,
  taskPickup: showsProgress,
  pollIntervalSeconds: showsProgress,
  sendsPerPoll: showsProgress,
  failsFrom: showsProgress,
  failureRate: showsProgress,
  deactivation: showsProgress,
};
