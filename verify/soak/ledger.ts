/**
 * The soak's own books: every send, by the token that its text carries, and what came of it.
 * They know nothing of the service's journal or state, so that the audit can hold those against them.
 */
/** What the caller was told. A lost answer leaves open whether there is a message. */
export type Outcome = 'accepted' | 'refused' | 'unknown';

export interface BookedSend {
  /** Stands in the message's text, and in no other's. */
  readonly token: string;
  readonly account: string;
  /** Empty: none. */
  readonly requestId: string;
  /** By the fate of its recipient it stays where it is for ever. */
  readonly isStuck: boolean;
  outcome: Outcome;
  /** Of the accepted. */
  messageId: string;
}

/** A request_id that was used, and how it must be answered when it is used again. */
export interface UsedId {
  readonly account: string;
  readonly requestId: string;
  /** The bytes of its 202; undefined where an answer was lost. */
  firstBody: string | undefined;
  /** One caller at a time uses it. */
  isBusy: boolean;
}

interface MessageFields {
  readonly message_id: string;
  readonly created_at: string;
}

export const replayWindowMs = 24 * 60 * 60 * 1_000;

export class Books {
  readonly sends: BookedSend[] = [];
  readonly usedIds: UsedId[] = [];
  /** Of every message that an answer told of. */
  readonly messageIds = new Set<string>();
  readonly complaints: string[] = [];
  replays = 0;

  open(send: Pick<BookedSend, 'token' | 'account' | 'requestId' | 'isStuck'>): BookedSend {
    const booked: BookedSend = { ...send, outcome: 'unknown', messageId: '' };
    this.sends.push(booked);
    return booked;
  }

  accepted(send: BookedSend, body: string): void {
    send.outcome = 'accepted';
    send.messageId = fieldsOf(body).message_id;
    this.messageIds.add(send.messageId);
  }

  complain(text: string): void {
    this.complaints.push(text);
  }

  /** A request_id used again is answered with its first bytes for 24 h; then it makes a message as any other. */
  replayed(used: UsedId, again: BookedSend, status: number, body: string): void {
    this.replays++;
    const { firstBody } = used;
    used.firstBody = body;
    if (status === 200) {
      again.outcome = 'refused';
      this.messageIds.add(fieldsOf(body).message_id);
      if (firstBody !== undefined && firstBody !== body) {
        this.complain(`replay of ${used.requestId}: other bytes than at first`);
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
