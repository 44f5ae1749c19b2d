/**
 * CLIENT-1 and CLIENT-17: retries of a refused request during the wait that a 429 or a 503 asks for,
 * and notices about retries that no rule judges. `client-2-hold-back.ts` has the other requests.
 */
import { grouped } from '#io/grouped.ts';
import { counted } from '#io/terminal.ts';
import { asksForWait, requestIdOf } from '../evidence/exchange.ts';
import { areWithin, type ClientExchange, wasKnownTo } from './exchange.ts';
import {
  attributableAttempts,
  type ClientRecord,
  type Finding,
  finding,
  type Judgement,
  type Judges,
  judgement,
  type Notice,
  notExercised,
  onceOf,
  spanText,
} from './record.ts';

export const retryAfter = {
  'CLIENT-1': (record) => ({ ...judgeRetries(record, 429), notices: noticesOn(record) }),
  'CLIENT-17': (record) => judgeRetries(record, 503),
} satisfies Judges;

/** A request after a refusal that its client had seen. */
interface Retry {
  readonly request: ClientExchange;
  /** The latest of these refusals. */
  readonly refused: ClientExchange;
  /** The first of them since the last answer of another kind. */
  readonly firstRefused: ClientExchange;
}

/** True for a refusal with this status whose `Retry-After` the client saw and could read. */
export function hasSeenWait(
  { reply, retryAfterMs, isSeen }: ClientExchange,
  status: number,
): boolean {
  return reply.status === status && retryAfterMs !== undefined && isSeen;
}

/** The refusals that may ask for a wait. */
export const refusalsOf = onceOf(({ exchanges }) =>
  exchanges.filter(({ reply }) => asksForWait(reply.status)),
);

function judgeRetries(record: ClientRecord, status: 429 | 503): Judgement {
  if (!refusalsOf(record).some((refusal) => hasSeenWait(refusal, status))) return notExercised;
  const retries = seriesOf(record)
    .flatMap((requests) => retriesOf(requests, status))
    .filter((retry) => !wasOnItsWay(retry, record.graceMs))
    .filter(({ refused, request }) => !record.unclear.mayDecide(refused, request));
  return judgement(retries, isEarly, earlyFinding);
}

/** Series of requests of which each retries those before it: attempts at an intent, or equal GETs. */
type Series = readonly (readonly ClientExchange[])[];

const seriesOf = onceOf((record): Series => {
  const { exchanges, intents } = record;
  // Most targets are never refused: their requests retry nothing.
  const refused = new Set(refusalsOf(record).map(({ target }) => target));
  const gets = exchanges.filter(({ method, target }) => method === 'GET' && refused.has(target));
  const equalGets = grouped(gets, ({ caller, target }) =>
    [caller.name, caller.credential, target].join('\n'),
  );
  // A request alone retries nothing.
  return [...intents.all.map(attributableAttempts), ...equalGets.values()].filter(
    ({ length }) => length > 1,
  );
});

/** True if the request certainly came before the wait was over, even one counted from `refused`. */
export function isEarly({ refused, request }: Pick<Retry, 'refused' | 'request'>): boolean {
  return areWithin(refused.retryAfterMs ?? 0, refused, request);
}

/**
 * True for a send of the same id that another worker of the client had sent already. One that makes
 * a connection for each of its retries is found at the first that comes after the grace.
 */
function wasOnItsWay({ request, refused, firstRefused }: Retry, graceMs: number): boolean {
  const id = requestIdOf(refused);
  return (
    refused.reply.status === 429 &&
    id !== undefined &&
    requestIdOf(request) === id &&
    request.connection !== undefined &&
    [firstRefused, refused].every(
      ({ connection, answeredAt }) =>
        connection !== undefined &&
        connection !== request.connection &&
        request.sentAt <= answeredAt + graceMs,
    )
  );
}

/** The finding on a request that came before the wait of `refused` was over. */
export function earlyFinding({ refused, request }: Pick<Retry, 'refused' | 'request'>): Finding {
  const { reply, retryAfter: header, retryAfterMs = 0 } = refused;
  const early = spanText(refused.sentAt + retryAfterMs - request.sentAt);
  return finding(
    `the retry arrived ${early} before the ${reply.status} allowed it (Retry-After: ${header}): ${adviceOn(refused)}`,
    [refused, request],
  );
}

function adviceOn({ retryAfter: header = '' }: ClientExchange): string {
  return Number.isNaN(Number(header))
    ? 'wait until that time'
    : 'wait that many seconds, counted from the reply';
}

/** The requests of a series that follow refusals of this status. */
function retriesOf(series: readonly ClientExchange[], status: number): Retry[] {
  const retries: Retry[] = [];
  let refused: ClientExchange | undefined;
  let firstRefused: ClientExchange | undefined;
  let notSeenYet: ClientExchange[] = [];
  for (const request of series) {
    refused = notSeenYet.findLast((earlier) => wasKnownTo(request, earlier)) ?? refused;
    notSeenYet = notSeenYet.filter((earlier) => !wasKnownTo(request, earlier));
    firstRefused ??= refused;
    if (refused !== undefined && firstRefused !== undefined)
      retries.push({ request, refused, firstRefused });
    // An answer that is neither a 429 nor an error of the service ends the wait.
    if (request.reply.status !== 429 && request.reply.status < 500 && request.isSeen) {
      refused = undefined;
      firstRefused = undefined;
    }
    if (hasSeenWait(request, status)) notSeenYet.push(request);
  }
  return retries;
}

/** Errors whose `Retry-After` is not a demand of the document; a client does well to heed it. */
const otherErrors = [500, 502, 504];
const tightMs = 1_000;
const fewestTight = 3;
/** A notice lists this many exchanges at most. */
const shownExchanges = 20;

/** What the rules do not judge: waits that cannot be read, that are missing, or of other errors. */
function noticesOn(record: ClientRecord): readonly Notice[] {
  const refusals = refusalsOf(record);
  if (refusals.length === 0) return [];
  const series = seriesOf(record);
  return [
    ...unreadableWaits(refusals),
    ...tightLoops(series),
    ...hurriedRetries(series),
    ...excusedRetries(series, record.graceMs),
  ];
}

/** True for a refusal that the client saw, with its headers in the record. */
function isSeenRefusal({ reply, isSeen }: ClientExchange): boolean {
  return (reply.status === 429 || reply.status === 503) && isSeen && !reply.lacksHeaders;
}

function noticeOf(what: string, exchanges: readonly ClientExchange[]): Notice {
  return { what, exchanges: exchanges.slice(0, shownExchanges) };
}

function unreadableWaits(refusals: readonly ClientExchange[]): readonly Notice[] {
  const unread = refusals.filter(
    (one) => isSeenRefusal(one) && one.retryAfter !== undefined && one.retryAfterMs === undefined,
  );
  const [first] = unread;
  if (first === undefined) return [];
  const what = `the Retry-After of ${counted(unread.length, 'refusal')} says no wait that can be read (the first: ${first.retryAfter}): whether the client waits is not judged`;
  return [noticeOf(what, unread)];
}

/** Retries that hardly wait, after refusals that name no wait. */
function tightLoops(series: Series): readonly Notice[] {
  return series.flatMap((requests) => {
    const tight = requests.filter((later, index) => {
      const refused = requests[index - 1];
      if (refused?.reply.status !== 429 || refused.retryAfterMs !== undefined) return false;
      return isSeenRefusal(refused) && areWithin(tightMs, refused, later);
    });
    if (tight.length < fewestTight) return [];
    const what = `${tight.length} retries each came within a second of a 429 that names no wait: a tight loop; make growing pauses`;
    return [noticeOf(what, tight)];
  });
}

/** Retries that came before the wait which another error than a 429 had named. */
function hurriedRetries(series: Series): readonly Notice[] {
  const retries = series.flatMap((requests) =>
    otherErrors.flatMap((status) => retriesOf(requests, status)),
  );
  const hurried = retries.filter(isEarly);
  return hurried.slice(0, shownExchanges).map(({ refused, request }) => {
    const what = `the retry of a ${refused.reply.status} came before its Retry-After (${refused.retryAfter}) was over`;
    return noticeOf(what, [refused, request]);
  });
}

/** Early retries that CLIENT-1 takes for sends that were on their way. */
function excusedRetries(series: Series, graceMs: number): readonly Notice[] {
  const excused = series
    .flatMap((requests) => retriesOf(requests, 429))
    .filter((retry) => wasOnItsWay(retry, graceMs) && isEarly(retry));
  const [first] = excused;
  if (first === undefined) return [];
  const what = `${counted(excused.length, 'send')} of an id that got a 429 came on another connection within ${spanText(graceMs)} of it: on the way already, or too early a retry on a connection of its own (--grace 0s judges that)`;
  return [noticeOf(what, [first.refused, ...excused.map(({ request }) => request)])];
}
