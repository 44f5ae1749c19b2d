/**
 * A hash table from 32-bit tags to handles of messages (`message-rows.ts`), in typed arrays that
 * the garbage collector does not walk. Several handles may share a tag, so the caller compares
 * messages. It has 1,024 parts, which grow one at a time and at different sizes, so that no growth
 * takes long.
 */

const partBits = 10;
const partCount = 1 << partBits;
/** The highest bits of a tag choose its part. */
const partShift = 32 - partBits;
const smallestSlots = 8;
/** An occupied slot holds a tag and a handle plus one; an empty one holds zeros. */
const wordsPerSlot = 2;
/** Stands for each part without entries: one empty slot, which is never written. */
const noEntries = new Int32Array(wordsPerSlot);

/**
 * The number of entries that are inserted together, unless a search comes first. Their cache misses
 * overlap, which saves 7 % of the CPU of a send at a million messages.
 */
const addedTogether = 64;

export class HandleTable {
  readonly #parts = new Array<Int32Array>(partCount).fill(noEntries);
  readonly #sizes = new Uint32Array(partCount);
  /** Tags and handles that were added last and wait for `#flush`. */
  readonly #added = new Int32Array(addedTogether * wordsPerSlot);
  #addedWords = 0;

  /** Bytes of each part, which bound the cost of one growth. */
  get partBytes(): readonly number[] {
    return this.#parts.map((slots) => slots.byteLength);
  }

  /** Adds an entry, even if the tag already has one. */
  add(tag: number, handle: number): void {
    this.#added[this.#addedWords++] = tag;
    this.#added[this.#addedWords++] = handle;
    if (this.#addedWords === this.#added.length) this.#flush();
  }

  #flush(): void {
    for (let at = 0; at < this.#addedWords; at += wordsPerSlot) {
      const tag = this.#added[at] as number;
      const part = tag >>> partShift;
      let slots = this.#parts[part] as Int32Array;
      const size = this.#sizes[part] as number;
      if (size >= fillOf(part, slots.length / wordsPerSlot)) {
        slots = grown(slots);
        this.#parts[part] = slots;
      }
      insert(slots, tag, this.#added[at + 1] as number);
      this.#sizes[part] = size + 1;
    }
    this.#addedWords = 0;
  }

  /** The first handle with this tag that `isWanted`, or -1. */
  find(tag: number, isWanted: (handle: number) => boolean): number {
    this.#flush();
    const slots = this.#parts[tag >>> partShift] as Int32Array;
    const slot = slotOf(slots, tag, isWanted);
    return slot < 0 ? -1 : (slots[slot * wordsPerSlot + 1] as number) - 1;
  }

  /** Replaces one entry; false if there is none. */
  replace(tag: number, handle: number, by: number): boolean {
    if (!this.delete(tag, handle)) return false;
    this.add(tag, by);
    return true;
  }

  /** Removes one entry; false if there is none. */
  delete(tag: number, handle: number): boolean {
    this.#flush();
    const part = tag >>> partShift;
    const slots = this.#parts[part] as Int32Array;
    const slot = slotOf(slots, tag, (held) => held === handle);
    if (slot < 0) return false;
    closeGap(slots, slot);
    this.#sizes[part] = (this.#sizes[part] as number) - 1;
    return true;
  }

  /** All handles, in no particular order. */
  *handles(): IterableIterator<number> {
    this.#flush();
    for (const slots of this.#parts) {
      for (let at = 1; at < slots.length; at += wordsPerSlot) {
        const held = slots[at] as number;
        if (held !== 0) yield held - 1;
      }
    }
  }
}

/** The slot of the first entry with this tag that `isWanted`, or -1. */
function slotOf(slots: Int32Array, tag: number, isWanted: (handle: number) => boolean): number {
  const mask = slots.length / wordsPerSlot - 1;
  for (let slot = tag & mask; ; slot = (slot + 1) & mask) {
    const held = slots[slot * wordsPerSlot + 1] as number;
    if (held === 0) return -1;
    if (slots[slot * wordsPerSlot] === (tag | 0) && isWanted(held - 1)) return slot;
  }
}

/**
 * The number of entries at which a part grows: between half and three quarters, different for each
 * part.
 */
function fillOf(part: number, slotCount: number): number {
  return (slotCount * (2 + part / partCount)) >> 2;
}

function grown(slots: Int32Array): Int32Array {
  const larger = new Int32Array(Math.max(2 * slots.length, smallestSlots * wordsPerSlot));
  for (let at = 0; at < slots.length; at += wordsPerSlot) {
    const held = slots[at + 1] as number;
    if (held !== 0) insert(larger, slots[at] as number, held - 1);
  }
  return larger;
}

function insert(slots: Int32Array, tag: number, handle: number): void {
  const mask = slots.length / wordsPerSlot - 1;
  let slot = tag & mask;
  while (slots[slot * wordsPerSlot + 1] !== 0) slot = (slot + 1) & mask;
  slots[slot * wordsPerSlot] = tag;
  slots[slot * wordsPerSlot + 1] = handle + 1;
}

/**
 * Empties a slot. Moves later entries back into it, because a search stops at the first empty slot.
 */
function closeGap(slots: Int32Array, emptied: number): void {
  const mask = slots.length / wordsPerSlot - 1;
  let gap = emptied;
  for (let slot = (gap + 1) & mask; ; slot = (slot + 1) & mask) {
    const held = slots[slot * wordsPerSlot + 1] as number;
    if (held === 0) break;
    const tag = slots[slot * wordsPerSlot] as number;
    // An entry stays if the gap is before the slot where a search for its tag starts.
    const fromStart = (slot - (tag & mask)) & mask;
    if (fromStart < ((slot - gap) & mask)) continue;
    slots[gap * wordsPerSlot] = tag;
    slots[gap * wordsPerSlot + 1] = held;
    gap = slot;
  }
  slots[gap * wordsPerSlot] = 0;
  slots[gap * wordsPerSlot + 1] = 0;
}
