/** CLIENT-5, CLIENT-9: each intent is sent once, and is not given up while its outcome is open. */
import { requestIdOf } from '../evidence/exchange.ts';
import { ReportedIntents } from './client-10-reports.ts';
import {
  areADayApart,
  type ClientExchange,
  isAcceptedOrReplayed,
  isUnresolved,
  mayBeAccepted,
  mayBeStatus,
  messageIdIfAny,
  readIdOf,
  recipientAndTextOf,
  statusIn,
  wasKnownTo,
} from './exchange.ts';
import {
  attributableAttempts,
  type ClientRecord,
  type Finding,
  finding,
  firstAcceptances,
  type Intent,
  isAttributable,
  type Judgement,
  type Judges,
  judgement,
  lastAttempt,
  type Notice,
  notExercised,
  type UnclearSends,
} from './record.ts';

export const outcomes = {
  'CLIENT-5': sendsOnce,
  'CLIENT-9': givesUpNoIntent,
} satisfies Judges;

function sendsOnce({ intents, reads, unclear }: ClientRecord): Judgement {
  const judged = intents.all.map(attributableAttempts).filter(({ length }) => length > 0);
  const failedReads = new FailedReads(reads);
  const notices: Notice[] = [];
  /** The acceptances for which the client answers: no fault of the service made them. */
  const acceptancesOf = (attempts: readonly ClientExchange[]) => {
    const accepted = firstAcceptances(attempts);
    if (accepted.length < 2) return accepted;
    return accepted.filter((one, index) => {
      const earlier = accepted.slice(0, index);
      const original = earlier.find((other) => isBrokenReplay(other, one));
      if (original !== undefined) notices.push(brokenReplayNotice(original, one));
      const isResent = index > 0 && earlier.every((other) => failedReads.wereSeen(other, one));
      return original === undefined && !isResent;
    });
  };
  const judgedSends = judgement(
    judged.map(acceptancesOf),
    (accepted) => accepted.length > 1 && !mayBeSeveral(accepted, unclear),
    (accepted) => {
      const ids = accepted.map((one) => messageIdIfAny(one) ?? 'no message_id').join(', ');
      const what = `one message was accepted ${accepted.length} times (${ids}): retry under the same request_id, within 24 h`;
      return finding(what, accepted);
    },
  );
  return { ...judgedSends, notices: [...notices, ...idleRepeats(judged, reads)] };
}

/** Sends under the id of a message that the client has read as failed: nothing is sent by them. */
function idleRepeats(
  judged: readonly (readonly ClientExchange[])[],
  reads: readonly ClientExchange[],
): Notice[] {
  const failed = new FailedReads(reads.filter((read) => statusIn(read) === 'failed'));
  const isIdle = (send: ClientExchange) =>
    send.reply.status === 200 && send.lacksBody !== true && failed.wereSeen(send, send);
  const what =
    'the client had read this message as failed, and a send under its request_id is answered with it for 24 h: to send again, give a new id';
  return judged.flatMap((attempts) => {
    const idle = attempts.filter(isIdle);
    return idle.length === 0 ? [] : [{ what, exchanges: idle }];
  });
}

/** The reads that showed the client a failed message, which it may send again. */
class FailedReads {
  /** The first such read of each message. */
  readonly #firstById = new Map<string, ClientExchange>();

  constructor(reads: readonly ClientExchange[]) {
    for (const read of reads) {
      if (!mayBeStatus(statusIn(read), 'failed')) continue;
      // A message whose id is not recorded may be any that was read.
      for (const id of ['', readIdOf(read)])
        if (!this.#firstById.has(id)) this.#firstById.set(id, read);
    }
  }

  /** True if a read had shown that the message of `accepted` failed when `later` was sent. */
  wereSeen(accepted: ClientExchange, later: ClientExchange): boolean {
    const id = accepted.lacksBody ? '' : messageIdIfAny(accepted);
    const read = id === undefined ? undefined : this.#firstById.get(id);
    return read !== undefined && wasKnownTo(later, read);
  }
}

/** True if an unclear send may have ended the intent between these: they are then several intents. */
function mayBeSeveral(accepted: readonly ClientExchange[], unclear: UnclearSends): boolean {
  const [first, last] = [accepted[0], accepted.at(-1)];
  if (first === undefined || last === undefined) return false;
  // Within a day, one id is one intent whatever came in between.
  const haveIds = accepted.every((one) => requestIdOf(one) !== undefined);
  const isDecided = haveIds && !areADayApart(first, last);
  return isDecided ? unclear.mayEnd(first, last) : unclear.mayDecide(first, last);
}

/** True if the service accepted one id of one caller again within a day: its fault (SEND-4). */
function isBrokenReplay(original: ClientExchange, later: ClientExchange): boolean {
  return (
    later.reply.status === 202 &&
    requestIdOf(original) !== undefined &&
    requestIdOf(original) === requestIdOf(later) &&
    original.caller.name === later.caller.name &&
    original.endpoint === later.endpoint &&
    !areADayApart(original, later)
  );
}

function brokenReplayNotice(original: ClientExchange, later: ClientExchange): Notice {
  const what = `the service accepted request_id ${requestIdOf(later)} twice within 24 hours (SEND-4): that is no fault of the client`;
  return { what, exchanges: [original, later] };
}

function givesUpNoIntent(record: ClientRecord): Judgement {
  if (record.isPartial) return notExercised;
  const { intents, unclear, sends } = record;
  const counts = new SendCounts(unclear.areNone ? [] : sends);
  const unresolved = intents.all.filter(
    (intent) =>
      isAttributable(intent) &&
      intent.attempts.some(isUnresolved) &&
      !mayGoOn(intent, record, counts),
  );
  const ends = new ReportedEnds(record);
  const lastSends = new Map<unknown, ClientExchange>();
  for (const send of unresolved.length === 0 ? [] : sends) lastSends.set(send.fields?.['to'], send);
  return judgement(
    unresolved,
    (intent) => !isSettled(intent) && !ends.cover(intent),
    (intent) => givenUpFinding(intent, lastSends),
  );
}

/** True if a send that the record does not show whole may go on with the intent. */
function mayGoOn(
  { attempts }: Intent,
  { reports, unclear }: ClientRecord,
  counts: SendCounts,
): boolean {
  if (unclear.areNone) return false;
  // Another account may go on with a message whose key was refused, or that has a name in the file.
  const mayChangeCaller =
    reports !== undefined || attempts.some(({ caller }) => caller.account === undefined);
  if (!mayChangeCaller && !attempts.some((one) => unclear.concern(one))) return false;
  const scope = mayChangeCaller ? 'any caller' : 'same caller';
  return attempts.some((one) => unclear.maySettle(one, scope)) || counts.areMoreThan(attempts);
}

/** How the client said that intents ended, in its file of intents. */
class ReportedEnds {
  readonly #unknown: ReadonlySet<Intent>;
  readonly #decided: ReadonlySet<Intent>;

  constructor({ intents, reports = [] }: ClientRecord) {
    const ended = reports.filter(({ reported }) => reported !== undefined);
    const all = ended.length === 0 ? undefined : new ReportedIntents(intents.all, reports);
    this.#unknown = new Set(all?.of(ended.filter(({ reported }) => reported === 'unknown')));
    this.#decided = new Set(all?.of(ended.filter(({ reported }) => reported !== 'unknown')));
  }

  /**
   * True if the client reported the intent's end. It may report `unknown` only if it did not see
   * some reply: otherwise it knows what became of its message.
   */
  cover(intent: Intent): boolean {
    if (this.#decided.has(intent)) return true;
    return this.#unknown.has(intent) && intent.attempts.some(({ isSeen }) => !isSeen);
  }
}

/** How many sends there are of each message and under each id. */
class SendCounts {
  readonly #counts = new Map<string, number>();

  constructor(sends: readonly ClientExchange[]) {
    for (const key of sends.flatMap(keysOf))
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** True if sends of the same message or under the same id are not among these attempts. */
  areMoreThan(attempts: readonly ClientExchange[]): boolean {
    const keys = attempts.flatMap(keysOf);
    return keys.some((key) => this.#counts.get(key) !== keys.filter((one) => one === key).length);
  }
}

function keysOf(send: ClientExchange): string[] {
  const id = requestIdOf(send);
  return [`message ${recipientAndTextOf(send)}`, ...(id === undefined ? [] : [`id ${id}`])];
}

/** True if the client saw an acceptance or a final refusal. */
function isSettled(intent: Intent): boolean {
  const sawAcceptance = intent.attempts.some(
    (attempt) => attempt.isSeen && isAcceptedOrReplayed(attempt),
  );
  return sawAcceptance || !isUnresolved(lastAttempt(intent));
}

/** `lastSends`: the last send to each recipient. */
function givenUpFinding(intent: Intent, lastSends: ReadonlyMap<unknown, ClientExchange>): Finding {
  const last = lastAttempt(intent);
  const similar = last.fields && lastSends.get(last.fields['to']);
  const isAllSeen = intent.attempts.every(({ isSeen }) => isSeen);
  const report = isAllSeen
    ? 'failed (unknown is for a reply that it did not see)'
    : 'failed or unknown';
  return finding(
    `the message was given up after ${replyText(last)}${twiceText(intent, similar)}: retry it under the same request_id, or report it as ${report} ` +
      'in a line of its own: --intents FILE, SMSTWIN_INTENTS, the control port or toPassReferee({ intents })',
    [last],
  );
}

/** What the client saw of the reply, in words. */
function replyText({ isSeen, isGarbled, reply }: ClientExchange): string {
  if (isSeen) return `a ${reply.status}`;
  return isGarbled
    ? 'a reply whose body was garbled'
    : 'a reply that did not reach the client whole';
}

/** Says that a later send to the same recipient may be the same message; empty if none may. */
function twiceText(intent: Intent, similar: ClientExchange | undefined): string {
  if (similar === undefined || similar.number <= lastAttempt(intent).number) return '';
  const isSimilar = `exchange ${similar.number} is a similar send to the same recipient: if both are one message,`;
  // A refusal does not show what became of an earlier attempt.
  const { attempts } = intent;
  if (!attempts.some(mayBeAccepted)) return `; ${isSimilar} give both ids one name`;
  const accepted = attempts.some(isAcceptedOrReplayed)
    ? 'it was accepted'
    : 'it may have been accepted';
  return `; ${accepted}, and ${isSimilar} it was sent twice`;
}
