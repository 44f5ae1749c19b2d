/**
 * The soak's ledger: every send by the token in its text, and its outcome. It is independent of the
 * service's journal and state, so the audit can compare them with it.
 */
/** The answer as the caller saw it. After a lost answer the message may or may not exist. */
export type Outcome = 'accepted' | 'refused' | 'unknown';

export interface RecordedSend {
  /** Occurs in this message's text only. */
  readonly token: string;
  readonly account: string;
  /** Empty if the send has no request_id. */
  readonly requestId: string;
  /** The recipient's scripted fate keeps the message in flight for ever. */
  readonly isStuck: boolean;
  outcome: Outcome;
  /** Set for accepted sends. */
  messageId: string;
}

/** A used request_id, and the answer that a repeat must get. */
export interface UsedId {
  readonly account: string;
  readonly requestId: string;
  /** The bytes of its 202; undefined if an answer was lost. */
  firstBody: string | undefined;
  /** In use by a caller; one at a time may use it. */
  isBusy: boolean;
}

interface MessageFields {
  readonly message_id: string;
  readonly created_at: string;
}

const replayWindowMs = 24 * 60 * 60 * 1_000;

export class Ledger {
  readonly sends: RecordedSend[] = [];
  readonly usedIds: UsedId[] = [];
  /** The ids of all messages in answers. */
  readonly messageIds = new Set<string>();
  readonly complaints: string[] = [];
  replays = 0;

  open(send: Pick<RecordedSend, 'token' | 'account' | 'requestId' | 'isStuck'>): RecordedSend {
    const recorded: RecordedSend = { ...send, outcome: 'unknown', messageId: '' };
    this.sends.push(recorded);
    return recorded;
  }

  accepted(send: RecordedSend, body: string): void {
    send.outcome = 'accepted';
    send.messageId = fieldsOf(body).message_id;
    this.messageIds.add(send.messageId);
  }

  complain(text: string): void {
    this.complaints.push(text);
  }

  /** For 24 h a repeat returns the first bytes; after that it creates a message. */
  replayed(used: UsedId, again: RecordedSend, status: number, body: string): void {
    this.replays++;
    const { firstBody } = used;
    used.firstBody = body;
    if (status === 200) {
      // A replay creates no message, which is what `refused` means to the audit.
      again.outcome = 'refused';
      this.messageIds.add(fieldsOf(body).message_id);
      if (firstBody !== undefined && firstBody !== body) {
        this.complain(`replay of ${used.requestId}: the bytes differ from the first answer`);
      }
      return;
    }
    this.accepted(again, body);
    if (firstBody === undefined) return;
    const ageMs = createdAtMs(body) - createdAtMs(firstBody);
    if (ageMs > replayWindowMs) return;
    this.complain(`replay of ${used.requestId}: a second message after ${ageMs} ms`);
  }
}

export function createdAtMs(body: string): number {
  return Date.parse(fieldsOf(body).created_at);
}

function fieldsOf(body: string): MessageFields {
  return JSON.parse(body) as MessageFields;
}
