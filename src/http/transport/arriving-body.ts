/**
 * Collects a request body that arrives in several pieces. Bounds: each body has a limit of its own,
 * and all bodies of a port together have one. The bytes are kept in one buffer that doubles. A list
 * of pieces would take a hundred times the memory if a client sent single bytes.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';

/** The limits of a body, which are known as soon as the head has arrived. */
export interface Intake {
  /** A longer body is refused, and is not kept. */
  readonly limitBytes: number;
  /** A body that is too long is read up to this, so that its connection can stay open. */
  readonly drainBytes: number;
  /** The reply to a body that is too long. Default: the 413 of the transport. */
  readonly tooLongReply?: ApiReply;
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

  /** Reserves memory. Returns false, and reserves nothing, if there is not enough. */
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

  /** True once more bytes than the limit have arrived. They are not kept. */
  get isTooLong(): boolean {
    return this.#size > this.intake.limitBytes;
  }

  /** The bytes so far. Not typed as Buffer: users of the package may lack the types of Node. */
  get bytes(): Uint8Array {
    return this.#buffer?.subarray(0, this.#size) ?? Buffer.alloc(0);
  }

  /** Copies the next piece. If it returns a reason, the caller must refuse the request at once. */
  take(piece: Uint8Array): 'too_long' | 'no_room' | undefined {
    const start = this.#size;
    this.#size += piece.byteLength;
    if (this.isTooLong) {
      this.release();
      return this.#size > this.intake.drainBytes ? 'too_long' : undefined;
    }
    const buffer = this.#bufferFor(this.#size);
    if (buffer === undefined) {
      this.release();
      return 'no_room';
    }
    buffer.set(piece, start);
    return undefined;
  }

  /** Frees the reserved memory. A caller that has read `bytes` may keep them. */
  release(): void {
    this.#room.giveBack(this.#buffer?.byteLength ?? 0);
    this.#buffer = undefined;
  }

  /** The buffer, replaced by a larger one if `size` bytes do not fit; undefined without memory. */
  #bufferFor(size: number): Buffer | undefined {
    const old = this.#buffer;
    const oldCapacity = old?.byteLength ?? 0;
    if (old !== undefined && oldCapacity >= size) return old;
    const wanted = Math.max(size, smallestBuffer, 2 * oldCapacity);
    const capacity = Math.max(size, Math.min(wanted, this.intake.limitBytes));
    if (!this.#room.take(capacity - oldCapacity)) return undefined;
    const buffer = Buffer.allocUnsafeSlow(capacity);
    if (old !== undefined) buffer.set(old);
    this.#buffer = buffer;
    return buffer;
  }
}
