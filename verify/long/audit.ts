/**
 * Checks the evidence of a soak: the ledger of sends, the messages found, and the requests admitted
 * in the journals. Pure functions; tests with planted damage show that each check works. The ledger
 * itself checks replays (SEND-4).
 * Rules: STATE-1 to STATE-5, SEND-3, LIMIT-1 to LIMIT-5.
 */

import { limits } from '#judging/limiter/buckets.ts';
import { type AuditEntry, audit as auditLog } from '#judging/limiter/recount.ts';
import type { RecordedSend } from './ledger.ts';

export interface FoundMessage {
  readonly message_id: string;
  readonly status: string;
  readonly request_id: string;
  readonly created_at: string;
  readonly send_at: string | null;
  /** The text, which is the send's token. */
  readonly message: string;
  readonly history: readonly { readonly status: string; readonly at: string }[];
}

export interface Evidence {
  readonly sends: readonly RecordedSend[];
  /** The ids of all messages that an answer to a send named. */
  readonly messageIds: ReadonlySet<string>;
  readonly messages: readonly FoundMessage[];
  /** The requests to limited endpoints that were answered 200 or 202. */
  readonly admitted: readonly AuditEntry[];
}

/** Returns every complaint; each begins with its kind. */
export function audit(evidence: Evidence): string[] {
  return [
    ...auditPresence(evidence),
    ...evidence.messages.flatMap(auditHistory),
    ...auditEnds(evidence),
    ...auditLimits(evidence.admitted),
  ];
}

/** Every accepted message exists once, and every existing message was sent. */
function auditPresence({ sends, messageIds, messages }: Evidence): string[] {
  const complaints: string[] = [];
  const recorded = new Map(sends.map((send) => [send.token, send]));
  const seen = new Set<string>();
  const found = new Set<string>();
  for (const { message: token, message_id: messageId } of messages) {
    if (seen.has(token)) complaints.push(`doubled: ${token}`);
    seen.add(token);
    found.add(messageId);
    const send = recorded.get(token);
    if (send === undefined) complaints.push(`invented: ${token}`);
    else if (send.outcome === 'refused') complaints.push(`accepted though refused: ${token}`);
    else if (send.outcome === 'accepted' && send.messageId !== messageId) {
      complaints.push(`another id: ${token}`);
    }
  }
  for (const { token, outcome } of sends) {
    if (outcome === 'accepted' && !seen.has(token)) complaints.push(`lost: ${token}`);
  }
  for (const id of messageIds) if (!found.has(id)) complaints.push(`lost: message ${id}`);
  return complaints;
}

/** The statuses that may follow each status; a message may fail from any that is not final. */
const nextStatuses: Readonly<Record<string, readonly string[]>> = {
  queued: ['sending', 'failed'],
  sending: ['sent', 'failed'],
  sent: ['delivered', 'failed'],
  delivered: [],
  failed: [],
};

function auditHistory({
  message,
  history,
  status,
  created_at: created,
  send_at: held,
}: FoundMessage) {
  const complaints: string[] = [];
  const complain = (text: string) => complaints.push(`illegal: ${message} ${text}`);
  const [first] = history;
  if (first?.status !== 'queued' || first.at !== created) complain('begins wrongly');
  for (const [index, step] of history.entries()) {
    const before = history[index - 1];
    if (before === undefined) continue;
    if (!nextStatuses[before.status]?.includes(step.status)) {
      complain(`${before.status} is followed by ${step.status}`);
    }
    if (Date.parse(step.at) < Date.parse(before.at)) complain(`goes back to ${step.at}`);
    if (held !== null && step.status === 'sending' && Date.parse(step.at) < Date.parse(held)) {
      complain(`is picked up at ${step.at}, held until ${held}`);
    }
  }
  if (history.at(-1)?.status !== status) complain(`ends in another status than ${status}`);
  return complaints;
}

/** After the last advance no message is held: all are final, except those with a stuck fate. */
function auditEnds({ sends, messages }: Evidence): string[] {
  const stuck = new Set(sends.filter(({ isStuck }) => isStuck).map(({ token }) => token));
  return messages
    .filter(({ message, status }) => !stuck.has(message) && nextStatuses[status]?.length !== 0)
    .map(({ message, status }) => `unfinished: ${message} is ${status}`);
}

/** No window of 60 s exceeds the limit, per endpoint and account. */
function auditLimits(admitted: readonly AuditEntry[]): string[] {
  return auditLog(admitted, limits).flatMap(({ firstBreaches }) =>
    firstBreaches.map(
      ({ endpoint, user, atMs, passedBefore }) =>
        `over-admitted: ${endpoint} of ${user}: ${passedBefore + 1} in the 60 s up to ` +
        new Date(atMs).toISOString(),
    ),
  );
}
