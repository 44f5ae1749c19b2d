/**
 * A request body that arrives in several pieces.
 * Bounds: each body has its own limit, and all bodies of a port together have one.
 * The bytes are in one buffer that doubles. A list of pieces would cost a hundred times the bytes
 * of a client that sends them one by one.
 */
import type { ApiReply } from '../service/messages.ts';

/** The limits for a body; known as soon as the head has arrived. */
export interface Intake {
  /** A longer body is refused, and is not kept. */
  readonly limitBytes: number;
  /** Up to here a body that is too long is read to its end, and the connection stays open. */
  readonly drainBytes: number;
  /** Default: the transport's own 413. */
  readonly over?: ApiReply;
}

/** The memory for all bodies that are arriving on one port. */
export class BodyRoom {
  readonly #limitBytes: number;
  #heldBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** False if so much is not left; then it takes nothing. */
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

  /** True if all of it was read but it was too long to keep. */
  get isTooLong(): boolean {
    return this.#size > this.intake.limitBytes;
  }

  /**
   * What has arrived. Not typed as Buffer, because users of the package may not have Node's types.
   */
  get bytes(): Uint8Array {
    return this.#buffer?.subarray(0, this.#size) ?? Buffer.alloc(0);
  }

  /** Copies the next piece. The caller must refuse at once what cannot be taken. */
  take(piece: Uint8Array): 'too_long' | 'no_room' | undefined {
    const from = this.#size;
    this.#size += piece.byteLength;
    if (this.isTooLong) {
      this.release();
      return this.#size > this.intake.drainBytes ? 'too_long' : undefined;
    }
    const buffer = this.#roomFor(this.#size);
    if (buffer === undefined) {
      this.release();
      return 'no_room';
    }
    buffer.set(piece, from);
    return undefined;
  }

  /** The bytes no longer count as arriving. A caller that has them may keep them. */
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
