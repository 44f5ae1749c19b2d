/**
 * One body on its way in: what of it is held, and what is answered where it is too much.
 * Bounds: no body is held beyond its own limit, nor all bodies of a port together beyond theirs.
 * The bytes stand in one buffer that doubles, since a list of pieces would cost a hundred times the bytes of a
 * client that sends them one by one.
 */
import type { ApiReply } from '../service/messages.ts';

/** What of a body is taken in; decided as soon as the head is there. */
export interface Intake {
  /** A longer body is answered `over`, and none of it is held. */
  readonly limitBytes: number;
  /** Up to here one that is too long is read to its end, and the connection lives on. */
  readonly drainBytes: number;
  readonly over: ApiReply;
}

/** What all bodies that are arriving on one port may hold together. */
export class BodyRoom {
  readonly #limitBytes: number;
  readonly #replies: { readonly busy: ApiReply };
  #heldBytes = 0;

  constructor(limitBytes: number, replies: { readonly busy: ApiReply }) {
    this.#limitBytes = limitBytes;
    this.#replies = replies;
  }

  get busy(): ApiReply {
    return this.#replies.busy;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** False, and nothing taken, where so much is not left. */
  take(bytes: number): boolean {
    if (this.#heldBytes + bytes > this.#limitBytes) return false;
    this.#heldBytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#heldBytes -= bytes;
  }
}

const smallestBuffer = 1_024;

export class ArrivingBody {
  readonly intake: Intake;
  readonly #room: BodyRoom;
  #buffer: Buffer | undefined;
  #size = 0;

  constructor(intake: Intake, room: BodyRoom) {
    this.intake = intake;
    this.#room = room;
  }

  /** All of it has been read, and it was too long to be held. */
  get isTooLong(): boolean {
    return this.#size > this.intake.limitBytes;
  }

  /** What has arrived. No Buffer by its type: this stands in the types of the package, whose users may lack those of Node. */
  get bytes(): Uint8Array {
    return this.#buffer?.subarray(0, this.#size) ?? Buffer.alloc(0);
  }

  /** Takes in a copy of the next piece. A refusal is to be answered at once, and ends the connection. */
  take(piece: Uint8Array): ApiReply | undefined {
    const from = this.#size;
    this.#size += piece.byteLength;
    if (this.isTooLong) {
      this.release();
      return this.#size > this.intake.drainBytes ? this.intake.over : undefined;
    }
    const buffer = this.#roomFor(this.#size);
    if (buffer === undefined) {
      this.release();
      return this.#room.busy;
    }
    buffer.set(piece, from);
    return undefined;
  }

  /** Whoever has the bytes may keep them; they no longer count as arriving. */
  release(): void {
    this.#room.giveBack(this.#buffer?.byteLength ?? 0);
    this.#buffer = undefined;
  }

  #roomFor(size: number): Buffer | undefined {
    const old = this.#buffer;
    if (old !== undefined && old.byteLength >= size) return old;
    const { limitBytes } = this.intake;
    const wanted = Math.max(size, smallestBuffer, 2 * (old?.byteLength ?? 0));
    const capacity = Math.max(size, Math.min(wanted, limitBytes));
    if (!this.#room.take(capacity - (old?.byteLength ?? 0))) return undefined;
    const buffer = Buffer.allocUnsafeSlow(capacity);
    if (old !== undefined) buffer.set(old);
    this.#buffer = buffer;
    return buffer;
  }
}
