/** CLIENT-5: each intent is sent once, however often it is tried. */
import { requestIdOf } from '../evidence/exchange.ts';
import {
  areADayApart,
  type ClientExchange,
  firstAcceptances,
  messageIdOf,
  readIdOf,
  statusIn,
  unrecorded,
  wasKnownTo,
} from './exchange.ts';
import {
  attributableAttempts,
  type ClientRecord,
  finding,
  type Judgement,
  type Judges,
  judgement,
  type Notice,
  type UnclearSends,
} from './record.ts';

export const sending = { 'CLIENT-5': sendsOnce } satisfies Judges;

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
      const ids = accepted.map((one) => messageIdOf(one) ?? 'no message_id').join(', ');
      const what = `one message was accepted ${accepted.length} times (${ids}): retry under the same request_id, within 24 h`;
      return finding(what, accepted);
    },
  );
  return { ...judgedSends, notices };
}

/** The reads that showed the client a failed message, which it may send again. */
class FailedReads {
  /** The first such read of each message. */
  readonly #firstById = new Map<string, ClientExchange>();

  constructor(reads: readonly ClientExchange[]) {
    for (const read of reads) {
      if (![unrecorded, 'failed'].includes(statusIn(read))) continue;
      // A message whose id is not recorded may be any that was read.
      for (const id of ['', readIdOf(read)])
        if (!this.#firstById.has(id)) this.#firstById.set(id, read);
    }
  }

  /** True if a read had shown that the message of `accepted` failed when `later` was sent. */
  wereSeen(accepted: ClientExchange, later: ClientExchange): boolean {
    const id = accepted.lacksBody ? '' : messageIdOf(accepted);
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
