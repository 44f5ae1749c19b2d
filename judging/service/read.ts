/**
 * Judges reads of a message, and the paths of the service. Rules: READ-1, READ-2, VER-1. In
 * recorded traffic the send of a message may be missing, so READ-2 then judges less.
 */
import { isObject } from '#contract/request-and-reply.ts';
import { dayMs } from '#contract/time.ts';
import { onceInTurn } from '#io/grouped.ts';
import {
  bodyOf,
  type Exchange,
  isAccepted,
  isMessageSend,
  isSend,
  messageIdOf,
} from '../evidence/exchange.ts';
import type { Reply } from '../evidence/reply.ts';
import * as verify from './expectations.ts';
import type { Findings, Trace } from './judge.ts';
import { judgeCurrentStatus } from './pace.ts';

export const readJudges = {
  'READ-1': judgeOwnMessages,
  'READ-2': judgeOtherIds,
  'VER-1': judgePaths,
} as const;

/** READ-1: a read shows the caller's own message as it was accepted, with its current status. */
function judgeOwnMessages(trace: Trace, findings: Findings): void {
  const reads = readsIn(trace);
  const acceptedSends = reads.length === 0 ? noSends : acceptedSendsIn(trace);
  // The shortest permitted `messageRetention` is a day.
  const retention = trace.assumption('messageRetention') ?? 1;
  const retentionMs = typeof retention === 'number' ? retention * dayMs : Number.POSITIVE_INFINITY;
  for (const read of reads) {
    const send = acceptedSends.get(read.id ?? '');
    if (send === undefined || send.caller.account !== read.caller.account) continue;
    if (read.method !== 'GET' || read.answeredAt - send.sentAt > retentionMs) continue;
    // The 202 of the other sends is open: its message_id may be no id of version 1.
    if (!isMessageSend(send) && read.reply.status === 404) continue;
    findings.judge([send, read], () => {
      const body = verify.message(read.reply, 200);
      verify.declaredJson(read.reply);
      for (const [name, value] of Object.entries(bodyOf(send)))
        if (name !== 'status' && isMessageSend(send)) verify.equal(name, body[name], value);
    });
  }
  // A recorded account's SIM may be disconnected for ever.
  if (trace.recorded === undefined) judgeCurrentStatus(trace, findings);
}

const noSends: ReadonlyMap<string, Exchange> = new Map();

/** Every accepted send of the run, by the `message_id` of its reply. */
const acceptedSendsIn = onceInTurn(({ log }: Trace): ReadonlyMap<string, Exchange> => {
  const accepted = log.filter((exchange) => isSend(exchange) && isAccepted(exchange));
  return new Map(accepted.map((send) => [messageIdOf(send), send]));
});

function readsIn({ exchanges }: Trace): Exchange[] {
  return exchanges.filter(
    ({ endpoint, caller, reply }) =>
      endpoint === 'read' && caller.key === 'valid' && reply.status !== 0,
  );
}

/** Escapes of bytes that are no text: gateways refuse such a path themselves, with a page of theirs. */
const noText = /%(?:00|ff)/i;

/** READ-2: an id that is not the account's is 404, and does not show whether it exists. */
function judgeOtherIds(trace: Trace, findings: Findings): void {
  const reads = readsIn(trace);
  if (trace.recorded !== undefined) {
    for (const read of reads.filter(({ method }) => method === 'GET')) {
      const isFound = read.reply.status === 200;
      findings.require(!isFound, [read], () => requireFoundOr404(read));
    }
    findings.lack("a read of an id that is not the account's");
    return;
  }
  const acceptedSends = acceptedSendsIn(trace);
  const isOwn = ({ id = '', caller }: Exchange) =>
    acceptedSends.get(id)?.caller.account === caller.account;
  const isServed = reads.some((read) => isOwn(read) && read.reply.status === 200);
  if (!isServed) {
    findings.judge(reads, () => verify.given(() => verify.fail('200 for its own message', 'none')));
    return;
  }
  const others = reads.filter((read) => !isOwn(read));
  // A service may refuse HEAD in another way, as long as that does not show which message exists.
  for (const read of others.filter(({ method }) => method === 'GET')) {
    findings.judge([read], () => {
      if (read.reply.status === 400 && noText.test(read.id ?? '')) return;
      verify.status(read.reply, 404);
      verify.declaredJson(read.reply);
    });
  }
  judgeForeignIds(others, new Set(acceptedSends.keys()), findings);
}

/** This many replies to unknown ids show which parts of a reply vary by chance, as behind a CDN. */
export const tellingReads = 16;

/**
 * Compares the reads of another account's message with the reads of ids that do not exist. A
 * difference shows the message only if each read of it repeats the difference, and many unknown ids
 * do not vary in that part.
 */
function judgeForeignIds(
  reads: readonly Exchange[],
  knownIds: ReadonlySet<string>,
  findings: Findings,
): void {
  const foreignReads = reads.filter(({ id = '' }) => knownIds.has(id));
  for (const foreign of foreignReads) {
    const ofCaller = reads.filter(
      ({ method, caller }) =>
        method === foreign.method && caller.account === foreign.caller.account,
    );
    const unknown = ofCaller.filter(({ id = '' }) => !knownIds.has(id));
    const again = ofCaller.filter(({ id }) => id === foreign.id);
    const [first] = unknown;
    if (first === undefined || unknown.length < 2) continue;
    const part = tellingPart(again, unknown);
    if (part !== undefined && unknown.length < tellingReads)
      findings.lack(`${tellingReads} reads of unknown ids, as the first differ in ${part}`);
    else findings.judge([first, foreign], () => requireAlike(foreign, first, part));
  }
}

/** The part in which all of these replies differ from all replies to unknown ids. */
export function tellingPart(
  foreign: readonly Exchange[],
  unknown: readonly Exchange[],
): string | undefined {
  const [first, ...others] = unknown;
  if (first === undefined) return undefined;
  const varying = new Set(others.flatMap((other) => differingParts(first, other)));
  varying.add('date');
  const [candidates = [], ...repeated] = foreign.map((each) => differingParts(first, each));
  return candidates.find(
    (name) => !varying.has(name) && repeated.every((names) => names.includes(name)),
  );
}

/** The owner of a recorded message is unknown; a refusal other than 404 is wrong for anyone. */
function requireFoundOr404(read: Exchange): void {
  if (read.reply.status !== 200) {
    verify.status(read.reply, 404);
    return;
  }
  const shownId = messageIdOf(read);
  const isSameId = shownId === read.id || plainId(shownId) === plainId(read.id ?? '');
  verify.that(isSameId, `the message ${read.id}, or 404`, `message_id ${shownId}`);
}

/** Equal for all spellings of an id that a path may have (`pathIdForm`). */
export function plainId(id: string): string {
  return id.replaceAll('-', '').toLowerCase();
}

function requireAlike(foreign: Exchange, unknown: Exchange, part: string | undefined): void {
  if (part === undefined) return;
  const [unknownPart, foreignPart] = [unknown, foreign].map(
    (exchange) => `${part}: ${partsOf(exchange).get(part) ?? 'nothing'}`,
  );
  verify.fail(`the reply to an unknown id, which has ${unknownPart}`, `${foreignPart}`);
}

function differingParts(exchange: Exchange, other: Exchange): string[] {
  const [parts, otherParts] = [partsOf(exchange), partsOf(other)];
  const names = [...new Set([...parts.keys(), ...otherParts.keys()])];
  return names.filter((name) => parts.get(name) !== otherParts.get(name));
}

/** The status, the body and the headers of a reply, without any echo of the requested id. */
function partsOf({ reply, id = '' }: Exchange): Map<string, string> {
  const parts = [
    ['status', String(reply.status)],
    ['the body', reply.text],
    ...Object.entries(reply.headers),
  ] as const;
  return new Map(parts.map(([name, value]) => [name, value.replaceAll(id, '<id>')]));
}

/** VER-1: the documented paths exist. Bodies are open (`receivedShape`, `statsShape`, …). */
function judgePaths(trace: Trace, findings: Findings): void {
  for (const exchange of trace.exchanges) {
    const { endpoint, caller, path, reply, id = '' } = exchange;
    const isJudged = endpoint !== undefined && caller.key === 'valid';
    const isUnanswered = reply.status === 0 || reply.status === 429;
    if (!isJudged || isUnanswered) continue;
    const isUnknownId = endpoint === 'read' && !acceptedSendsIn(trace).has(id);
    findings.judge([exchange], () => {
      if (isUnknownId) return verify.given(() => verify.status(reply, 404));
      if (endpoint === 'send') verify.accepted(reply);
      // The document shows replies only for the paths of version 1.
      else if (path.includes('v1')) verify.status(reply, 200);
      else verify.that(exists(reply), 'an existing endpoint', reply);
      verify.declaredJson(reply);
      const isMessage = isObject(reply.json) && 'message_id' in reply.json;
      if (endpoint === 'received') verify.that(!isMessage, 'a list, not a message', reply);
    });
  }
}

function exists({ status }: Reply): boolean {
  // What has moved for good has another path than the documented one.
  return status >= 200 && status < 500 && ![301, 308, 401, 404, 405].includes(status);
}
