/**
 * Judges reads of a message, and the paths of the service. Rules: READ-1, READ-2, VER-1.
 */
import { dayMs } from '../../src/ledger/time-units.ts';
import type { Reply } from '../client.ts';
import * as verify from '../verify.ts';
import {
  bodyOf,
  type Exchange,
  isAccepted,
  isMessageSend,
  isSend,
  messageIdOf,
} from './exchange.ts';
import type { Findings, Judge, Trace } from './judge.ts';
import { judgeCurrentStatus } from './status.ts';

/** Every accepted send of the run by the id that it was given. */
function acceptedIn({ log }: Trace): Map<string, Exchange> {
  const accepted = log.filter((send) => isSend(send) && isAccepted(send));
  return new Map(accepted.map((send) => [messageIdOf(send), send]));
}

function readsIn({ exchanges }: Trace): Exchange[] {
  return exchanges.filter(
    ({ endpoint, caller, reply }) =>
      endpoint === 'read' && caller.key === 'valid' && reply.status !== 0,
  );
}

/** READ-1: the caller's own message, as it was accepted, with its current status. */
const ownMessages: Judge = (trace, findings) => {
  const accepted = acceptedIn(trace);
  // The shortest permitted `messageRetention` is a day.
  const stated = trace.assumption('messageRetention') ?? 1;
  const keptMs = typeof stated === 'number' ? stated * dayMs : Number.POSITIVE_INFINITY;
  for (const read of readsIn(trace)) {
    const send = accepted.get(read.id ?? '');
    const isOwn = send !== undefined && send.caller.account === read.caller.account;
    if (!isOwn || read.method !== 'GET' || read.answeredAt - send.sentAt > keptMs) continue;
    findings.judge([send, read], () => {
      const body = verify.message(read.reply, 200);
      verify.declaredJson(read.reply);
      for (const [name, value] of Object.entries(bodyOf(send)))
        if (name !== 'status' && isMessageSend(send)) verify.equal(name, body[name], value);
    });
  }
  // A recorded account's SIM may be disconnected for ever.
  if (trace.recorded === undefined) judgeCurrentStatus(trace, findings);
};

/** READ-2: an id that is not the account's is 404, and does not show whether it exists. */
const unknownIds: Judge = (trace, findings) => {
  const accepted = acceptedIn(trace);
  const reads = readsIn(trace);
  const isOwn = ({ id = '', caller }: Exchange) =>
    accepted.get(id)?.caller.account === caller.account;
  if (trace.recorded !== undefined) {
    // Whose messages they are is not known; a permission error is wrong for all.
    for (const read of reads.filter(({ method }) => method === 'GET'))
      findings.judge([read], () => {
        if (read.reply.status !== 200) return verify.status(read.reply, 404);
        const shown = messageIdOf(read);
        const isIt = plainId(shown) === plainId(read.id ?? '');
        verify.that(isIt, `the message ${read.id}, or 404`, `message_id ${shown}`);
      });
    return;
  }
  const isServed = reads.some((read) => isOwn(read) && read.reply.status === 200);
  if (!isServed) {
    findings.judge(reads, () => verify.given(() => verify.fail('200 for its own message', 'none')));
    return;
  }
  const others = reads.filter((read) => !isOwn(read));
  // HEAD must only not show which message exists: a service may refuse it.
  for (const read of others.filter(({ method }) => method === 'GET'))
    findings.judge([read], () => {
      verify.status(read.reply, 404);
      verify.declaredJson(read.reply);
    });
  for (const foreign of others) {
    if (!accepted.has(foreign.id ?? '')) continue;
    const unknown = others.filter(
      ({ method, id = '', caller }) =>
        method === foreign.method && caller.account === foreign.caller.account && !accepted.has(id),
    );
    indistinguishable(unknown, foreign, findings);
  }
};

/** A path may spell an id in another way (`pathIdForm`). */
function plainId(id: string): string {
  return id.replaceAll('-', '').toLowerCase();
}

/** Status, headers and body, with any echo of the requested id removed. */
function outline({ reply, id = '' }: Exchange): Map<string, string> {
  const parts = [
    ['status', String(reply.status)],
    ['the body', reply.text],
    ...Object.entries(reply.headers),
  ] as const;
  return new Map(parts.map(([name, value]) => [name, value.replaceAll(id, '<id>')]));
}

function differences(one: Exchange, other: Exchange): string[] {
  const [first, second] = [outline(one), outline(other)];
  const names = [...new Set([...first.keys(), ...second.keys()])];
  return names.filter((name) => first.get(name) !== second.get(name));
}

/**
 * A foreign id's reply differs from the unknown ids' no more than those differ from each other: a
 * CDN may add varying headers to each reply.
 */
function indistinguishable(
  [first, second]: readonly Exchange[],
  foreign: Exchange,
  findings: Findings,
): void {
  if (first === undefined || second === undefined) return;
  const usual = new Set([...differences(first, second), 'date', 'keep-alive', 'connection']);
  findings.judge([first, foreign], () => {
    const name = differences(first, foreign).find((each) => !usual.has(each));
    if (name === undefined) return;
    const of = (one: Exchange) => `${name}: ${outline(one).get(name) ?? 'nothing'}`;
    verify.fail(`the reply to an unknown id, which has ${of(first)}`, of(foreign));
  });
}

/** VER-1: the documented paths exist. Bodies are open (`receivedShape`, `statsShape`, …). */
const paths: Judge = (trace, findings) => {
  const accepted = acceptedIn(trace);
  for (const exchange of trace.exchanges) {
    const { endpoint, caller, reply, id = '' } = exchange;
    if (endpoint === undefined || caller.key !== 'valid' || [0, 429].includes(reply.status))
      continue;
    const isUnknown = endpoint === 'read' && !accepted.has(id);
    findings.judge([exchange], () => {
      if (isUnknown) return verify.given(() => verify.status(reply, 404));
      if (endpoint === 'send') verify.accepted(reply);
      else if (/v1/.test(exchange.path)) verify.status(reply, 200);
      else verify.that(exists(reply), 'an existing endpoint', reply);
      verify.declaredJson(reply);
      const isMessage = verify.isObject(reply.json) && 'message_id' in reply.json;
      if (endpoint === 'received') verify.that(!isMessage, 'a list, not a message', reply);
    });
  }
};

function exists({ status }: Reply): boolean {
  return status >= 200 && status < 500 && ![401, 404, 405].includes(status);
}

export const readJudges = { 'READ-1': ownMessages, 'READ-2': unknownIds, 'VER-1': paths } as const;
