/**
 * What must be true at the end of a soak, of the books, the messages that are there, and the answers that the
 * journals recorded. Pure: planted damage shows which of it is seen.
 * Rules: STATE-1 to STATE-5, SEND-3, SEND-4, LIMIT-1 to LIMIT-5.
 */
import { type BookedSend, replayWindowMs } from './books.ts';
import { type LimitedEndpoint, limitsPerMinute } from './routes.ts';

export interface FoundMessage {
  readonly message_id: string;
  readonly status: string;
  readonly request_id: string;
  readonly created_at: string;
  readonly send_at: string | null;
  /** The text, which is the token. */
  readonly message: string;
  readonly history: readonly { readonly status: string; readonly at: string }[];
}

/** A request of an endpoint with a limit, that was answered 200 or 202. */
export interface Admitted {
  readonly endpoint: LimitedEndpoint;
  readonly account: string;
  readonly atMs: number;
}

/** A send that carried a request_id and was answered 200 or 202. */
export interface AnsweredSend {
  readonly account: string;
  readonly requestId: string;
  readonly atMs: number;
  readonly status: number;
  /** Undefined where a fault spoilt it. */
  readonly body: string | undefined;
}

export interface Evidence {
  readonly sends: readonly BookedSend[];
  /** Of every message that an answer told of. */
  readonly messageIds: ReadonlySet<string>;
  readonly messages: readonly FoundMessage[];
  readonly admitted: readonly Admitted[];
  readonly answered: readonly AnsweredSend[];
}

/** Every complaint, each of which opens with its kind. */
export function audit(evidence: Evidence): string[] {
  return [
    ...auditPresence(evidence),
    ...evidence.messages.flatMap(auditHistory),
    ...auditEnds(evidence),
    ...auditLimits(evidence.admitted),
    ...auditReplays(evidence.answered),
  ];
}

/** No message lost, none there twice, none that nobody sent. */
function auditPresence({ sends, messageIds, messages }: Evidence): string[] {
  const complaints: string[] = [];
  const booked = new Map(sends.map((send) => [send.token, send]));
  const seen = new Set<string>();
  const found = new Set<string>();
  for (const { message: token, message_id: messageId } of messages) {
    if (seen.has(token)) complaints.push(`doubled: ${token}`);
    seen.add(token);
    found.add(messageId);
    const send = booked.get(token);
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

/** What may follow what; `failed` may follow everything that is not final. */
const next: Readonly<Record<string, readonly string[]>> = {
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
  const [first] = history;
  if (first?.status !== 'queued' || first.at !== created) complaints.push(`begins wrongly`);
  for (const [index, step] of history.entries()) {
    const before = history[index - 1];
    if (before === undefined) continue;
    if (!next[before.status]?.includes(step.status)) {
      complaints.push(`${before.status} is followed by ${step.status}`);
    }
    if (Date.parse(step.at) < Date.parse(before.at)) complaints.push(`goes back to ${step.at}`);
    if (held !== null && step.status === 'sending' && Date.parse(step.at) < Date.parse(held)) {
      complaints.push(`is picked up at ${step.at}, held until ${held}`);
    }
  }
  if (history.at(-1)?.status !== status) complaints.push(`ends in another status than ${status}`);
  return complaints.map((complaint) => `illegal: ${message} ${complaint}`);
}

/** After the last advance nothing is held any more: all are final, but those that stay somewhere for ever. */
function auditEnds({ sends, messages }: Evidence): string[] {
  const stuck = new Set(sends.filter(({ isStuck }) => isStuck).map(({ token }) => token));
  return messages
    .filter(({ message, status }) => !stuck.has(message) && next[status]?.length !== 0)
    .map(({ message, status }) => `unfinished: ${message} is ${status}`);
}

const windowMs = 60_000;

/** No window of 60 s holds more than the limit, of one endpoint and account. */
function auditLimits(admitted: readonly Admitted[]): string[] {
  const complaints: string[] = [];
  const times = new Map<string, number[]>();
  for (const { endpoint, account, atMs } of admitted) {
    const user = `${endpoint} of ${account}`;
    const earlier = times.get(user) ?? [];
    times.set(user, earlier);
    earlier.push(atMs);
    // The one that came exactly `limit` before must have left the window.
    const limit = limitsPerMinute[endpoint];
    const oldest = earlier[earlier.length - 1 - limit];
    if (oldest !== undefined && atMs - oldest < windowMs) {
      complaints.push(
        `over-admitted: ${user}: ${limit + 1} from ${new Date(oldest).toISOString()} in ${atMs - oldest} ms`,
      );
    }
  }
  return complaints;
}

/** Within 24 h of its 202 a request_id is answered 200 with the same bytes; a second 202 comes later than that. */
function auditReplays(answered: readonly AnsweredSend[]): string[] {
  const complaints: string[] = [];
  const firsts = new Map<string, Pick<AnsweredSend, 'atMs' | 'body'>>();
  for (const { account, requestId, atMs, status, body } of answered) {
    const key = `${account} ${requestId}`;
    const first = firsts.get(key);
    const ageMs = first === undefined ? Number.POSITIVE_INFINITY : atMs - first.atMs;
    if (status === 202) {
      if (ageMs <= replayWindowMs) complaints.push(`replayed as new: ${key} after ${ageMs} ms`);
      firsts.set(key, { atMs, body });
    } else if (ageMs > replayWindowMs) {
      complaints.push(`replayed too late: ${key} after ${ageMs} ms`);
    } else if (body !== undefined && first !== undefined) {
      if (first.body !== undefined && body !== first.body) {
        complaints.push(`replayed otherwise: ${key}`);
      }
      firsts.set(key, { atMs: first.atMs, body });
    }
  }
  return complaints;
}
