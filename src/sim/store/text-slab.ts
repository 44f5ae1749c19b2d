/**
 * A slab: texts one after another in one byte array, so that the garbage collector does not walk
 * them. A text is found by its offset. It is a length field, then the UTF-16 units: one byte each,
 * or two bytes each in a wide text, which has a unit above 255. The length field is the number of
 * units times two, plus one if the text is wide.
 */

/** FNV-1a's start value and prime. */
const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** A 32-bit hash of a text: FNV-1a over UTF-16 units, finished with murmur3's mixer. */
export function hashText(text: string, seed: number): number {
  let hash = beginHash(seed);
  for (let i = 0; i < text.length; i++) hash = addUnit(hash, text.charCodeAt(i));
  return endHash(hash);
}

function beginHash(seed: number): number {
  return offsetBasis ^ seed;
}

function addUnit(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, prime);
}

/** murmur3's final mixer, with its two multipliers. */
function endHash(word: number): number {
  let hash = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}

const smallestBytes = 256;
/** Seven bits a byte, for a length below 2^32. */
const longestLengthField = 5;
/** Every engine accepts this many arguments of `String.fromCharCode` at once. */
const longestPiece = 4_096;

/** Each unit up to 255 in lower case, which is again a unit up to 255. */
const lowerUnits = Uint8Array.from({ length: 256 }, (_, unit) =>
  String.fromCharCode(unit).toLowerCase().charCodeAt(0),
);

export class TextSlab {
  bytes: Uint8Array;
  /** Bytes in use: the offset of the next text. */
  used = 0;

  constructor(bytes = smallestBytes) {
    this.bytes = new Uint8Array(bytes);
  }

  /** Appends the text and returns its offset. */
  write(text: string): number {
    const { length } = text;
    this.#reserve(longestLengthField + 2 * length);
    const offset = this.used;
    const begin = this.#writeLength(offset, length * 2);
    const { bytes } = this;
    let allBits = 0;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      allBits |= unit;
      bytes[begin + i] = unit;
    }
    this.used = begin + length;
    // Few texts are wide, so a wide one is written a second time.
    if (allBits > 0xff) this.#writeWide(offset, text);
    return offset;
  }

  read(offset: number): string {
    const { bytes } = this;
    const { isWide, length, begin } = this.#headOf(offset);
    let text = '';
    for (let from = 0; from < length; from += longestPiece) {
      const count = Math.min(longestPiece, length - from);
      const start = begin + from * (isWide ? 2 : 1);
      const units = isWide
        ? Uint16Array.from({ length: count }, (_, i) => unitAt(bytes, start, i, true))
        : bytes.subarray(start, start + count);
      text += String.fromCharCode.apply(null, units as unknown as number[]);
    }
    return text;
  }

  /** The offset of the next text. */
  after(offset: number): number {
    const { isWide, length, begin } = this.#headOf(offset);
    return begin + (isWide ? 2 * length : length);
  }

  hasTextAt(offset: number, text: string): boolean {
    const { bytes } = this;
    const { isWide, length, begin } = this.#headOf(offset);
    if (length !== text.length) return false;
    for (let i = 0; i < length; i++)
      if (unitAt(bytes, begin, i, isWide) !== text.charCodeAt(i)) return false;
    return true;
  }

  /** True if the text contains `lower`, which is in lower case; case is ignored. */
  mentions(offset: number, lower: string): boolean {
    const { bytes } = this;
    const { isWide, length, begin } = this.#headOf(offset);
    if (isWide) return this.read(offset).toLowerCase().includes(lower);
    const first = lower.charCodeAt(0);
    for (let from = begin; from <= begin + length - lower.length; from++) {
      // Most units are not the first one: this comparison alone decides how long a search takes.
      if (lowerUnits[byte(bytes, from)] !== first) continue;
      let same = 1;
      while (same < lower.length && lowerUnits[byte(bytes, from + same)] === lower.charCodeAt(same))
        same++;
      if (same === lower.length) return true;
    }
    return lower === '';
  }

  /** The hash of the text at this offset, equal to that of `hashText`. */
  hash(offset: number, seed: number): number {
    const { bytes } = this;
    const { isWide, length, begin } = this.#headOf(offset);
    let hash = beginHash(seed);
    for (let i = 0; i < length; i++) hash = addUnit(hash, unitAt(bytes, begin, i, isWide));
    return endHash(hash);
  }

  copy(): TextSlab {
    const copy = new TextSlab(0);
    copy.bytes = this.bytes.slice(0, this.used);
    copy.used = this.used;
    return copy;
  }

  /** Empties the slab and keeps its buffer for other texts. */
  reset(): this {
    this.used = 0;
    return this;
  }

  /** Releases unused memory. */
  trim(): void {
    this.bytes = this.bytes.slice(0, this.used);
  }

  #reserve(more: number): void {
    const needed = this.used + more;
    if (needed <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.used));
    this.bytes = larger;
  }

  #writeWide(offset: number, text: string): void {
    const { bytes } = this;
    let end = this.#writeLength(offset, text.length * 2 + 1);
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      bytes[end++] = unit;
      bytes[end++] = unit >> 8;
    }
    this.used = end;
  }

  /** Writes seven bits a byte, the lowest first. Returns the offset after the field. */
  #writeLength(offset: number, value: number): number {
    let end = offset;
    let bits = value;
    for (; bits > 0x7f; bits >>>= 7) this.bytes[end++] = (bits & 0x7f) | 0x80;
    this.bytes[end++] = bits;
    return end;
  }

  /** Reads the length field. `length` counts units; `begin` is the offset of the first unit. */
  #headOf(offset: number): { isWide: boolean; length: number; begin: number } {
    let value = 0;
    let begin = offset;
    let shift = 0;
    let next = byte(this.bytes, begin++);
    for (; next > 0x7f; next = byte(this.bytes, begin++)) {
      value |= (next & 0x7f) << shift;
      shift += 7;
    }
    value |= next << shift;
    return { isWide: (value & 1) === 1, length: value >>> 1, begin };
  }
}

/** The unit with this index, of the text whose units begin at `begin`. */
function unitAt(bytes: Uint8Array, begin: number, index: number, isWide: boolean): number {
  if (!isWide) return byte(bytes, begin + index);
  return byte(bytes, begin + 2 * index) | (byte(bytes, begin + 2 * index + 1) << 8);
}

function byte(bytes: Uint8Array, offset: number): number {
  return bytes[offset] as number;
}
