/**
 * The soak's own record of its sends: which were accepted, and which bytes a replay must return. It
 * is independent of the service's journal and state, so `audit.ts` can compare them with it. The
 * ledger itself checks replays (SEND-4).
 */
import { dayMs } from '#contract/time.ts';

/** Whether the send created a message. `unknown`: its answer was lost, so it may have. */
export type Outcome = 'accepted' | 'refused' | 'unknown';

export interface RecordedSend {
  /** The text of the message, which no other send has: the audit finds the message by it. */
  readonly token: string;
  readonly account: string;
  /** Empty if the send has no request_id. */
  readonly requestId: string;
  /** True if the recipient's scripted fate keeps the message from a final status. */
  readonly isStuck: boolean;
  outcome: Outcome;
  /** Empty unless the outcome is `accepted`. */
  messageId: string;
}

/** A used `request_id`, and the answer that its replay must get. */
export interface UsedId {
  readonly account: string;
  readonly requestId: string;
  /** The body that a replay must return; undefined if an answer was lost. */
  originalBody: string | undefined;
  /** True while a caller replays it: only one may at a time. */
  isBusy: boolean;
}

interface MessageFields {
  readonly message_id: string;
  readonly created_at: string;
}

export class Ledger {
  readonly sends: RecordedSend[] = [];
  /** `traffic.ts` adds an id after its first send, unless that was refused. */
  readonly usedIds: UsedId[] = [];
  /** The ids of all messages that an answer to a send named. */
  readonly messageIds = new Set<string>();
  readonly complaints: string[] = [];
  replays = 0;

  /** Records a send before it leaves: its outcome is unknown until an answer comes. */
  recordSend(
    send: Pick<RecordedSend, 'token' | 'account' | 'requestId' | 'isStuck'>,
  ): RecordedSend {
    const recorded: RecordedSend = { ...send, outcome: 'unknown', messageId: '' };
    this.sends.push(recorded);
    return recorded;
  }

  recordAccepted(send: RecordedSend, body: string): void {
    send.outcome = 'accepted';
    send.messageId = fieldsOf(body).message_id;
    this.messageIds.add(send.messageId);
  }

  complain(text: string): void {
    this.complaints.push(text);
  }

  /**
   * Checks a replay: for 24 h it must return the original bytes; after that it creates a message.
   */
  recordReplay(used: UsedId, replay: RecordedSend, status: number, body: string): void {
    this.replays++;
    const { originalBody } = used;
    used.originalBody = body;
    if (status === 200) {
      // To the audit, `refused` means that the send created no message.
      replay.outcome = 'refused';
      this.messageIds.add(fieldsOf(body).message_id);
      if (originalBody !== undefined && originalBody !== body) {
        this.complain(`replay of ${used.requestId}: the bytes differ from the first answer`);
      }
      return;
    }
    this.recordAccepted(replay, body);
    if (originalBody === undefined) return;
    const ageMs = createdAtMs(body) - createdAtMs(originalBody);
    if (ageMs > dayMs) return;
    this.complain(`replay of ${used.requestId}: a second message after ${ageMs} ms`);
  }
}

/** The `created_at` of a Message body, in epoch milliseconds. */
export function createdAtMs(body: string): number {
  return Date.parse(fieldsOf(body).created_at);
}

function fieldsOf(body: string): MessageFields {
  return JSON.parse(body) as MessageFields;
}
