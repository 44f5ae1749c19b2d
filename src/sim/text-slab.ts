/**
 * Texts one after another in one byte array: a length, then one byte for each UTF-16 unit, or two
 * if a unit needs them. The lowest bit of the length field says which.
 */

/** Hashes texts: FNV-1a over UTF-16 units, finished with murmur3's mixer. */
const offsetBasis = 0x811c9dc5;

export function hashText(text: string, seed: number): number {
  let hash = beginHash(seed);
  for (let i = 0; i < text.length; i++) hash = addUnit(hash, text.charCodeAt(i));
  return endHash(hash);
}

function beginHash(seed: number): number {
  return offsetBasis ^ seed;
}

function addUnit(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x01000193);
}

function endHash(word: number): number {
  let hash = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}

const smallestBytes = 256;
/** Every engine accepts this many arguments of `String.fromCharCode` at once. */
const longestPiece = 4_096;

/** The units up to 255 in lower case: each is again one of them. */
const lowerUnits = Uint8Array.from({ length: 256 }, (_, unit) =>
  String.fromCharCode(unit).toLowerCase().charCodeAt(0),
);

export class TextSlab {
  bytes: Uint8Array;
  used = 0;

  constructor(bytes = smallestBytes) {
    this.bytes = new Uint8Array(bytes);
  }

  /** Appends the text and returns its offset. */
  write(text: string): number {
    const { length } = text;
    // The length field takes at most five bytes.
    this.#reserve(5 + 2 * length);
    const at = this.used;
    const begin = this.#writeLength(at, length * 2);
    const { bytes } = this;
    let units = 0;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      units |= unit;
      bytes[begin + i] = unit;
    }
    this.used = begin + length;
    if (units > 0xff) this.#writeWide(at, text);
    return at;
  }

  read(at: number): string {
    const { bytes } = this;
    const { isWide, length, begin } = this.#headOf(at);
    let text = '';
    for (let from = 0; from < length; from += longestPiece) {
      const count = Math.min(longestPiece, length - from);
      const start = begin + from * (isWide ? 2 : 1);
      const units = isWide
        ? Uint16Array.from(
            { length: count },
            (_, i) => byte(bytes, start + 2 * i) | (byte(bytes, start + 2 * i + 1) << 8),
          )
        : bytes.subarray(start, start + count);
      text += String.fromCharCode.apply(null, units as unknown as number[]);
    }
    return text;
  }

  isEmptyAt(at: number): boolean {
    return byte(this.bytes, at) === 0;
  }

  /** The offset of the text after the one at `at`. */
  after(at: number): number {
    const { isWide, length, begin } = this.#headOf(at);
    return begin + (isWide ? 2 * length : length);
  }

  isAt(at: number, text: string): boolean {
    const { bytes } = this;
    const { isWide, length, begin } = this.#headOf(at);
    if (length !== text.length) return false;
    for (let i = 0; i < length; i++) {
      const unit = isWide
        ? byte(bytes, begin + 2 * i) | (byte(bytes, begin + 2 * i + 1) << 8)
        : byte(bytes, begin + i);
      if (unit !== text.charCodeAt(i)) return false;
    }
    return true;
  }

  /** True if the text contains `lower`, which is in lower case; case is ignored. */
  mentions(at: number, lower: string): boolean {
    const { bytes } = this;
    const { isWide, length, begin } = this.#headOf(at);
    if (isWide) return this.read(at).toLowerCase().includes(lower);
    const first = lower.charCodeAt(0);
    for (let from = begin; from <= begin + length - lower.length; from++) {
      if (lowerUnits[byte(bytes, from)] !== first) continue;
      let same = 1;
      while (same < lower.length && lowerUnits[byte(bytes, from + same)] === lower.charCodeAt(same))
        same++;
      if (same === lower.length) return true;
    }
    return lower === '';
  }

  /** The same number as `hashText` of the text at `at`. */
  hash(at: number, seed: number): number {
    const { bytes } = this;
    const { isWide, length, begin } = this.#headOf(at);
    let hash = beginHash(seed);
    for (let i = 0; i < length; i++) {
      const unit = isWide
        ? byte(bytes, begin + 2 * i) | (byte(bytes, begin + 2 * i + 1) << 8)
        : byte(bytes, begin + i);
      hash = addUnit(hash, unit);
    }
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

  #writeWide(at: number, text: string): void {
    const { bytes } = this;
    let to = this.#writeLength(at, text.length * 2 + 1);
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      bytes[to++] = unit;
      bytes[to++] = unit >> 8;
    }
    this.used = to;
  }

  /** Writes seven bits a byte, the lowest first. */
  #writeLength(at: number, value: number): number {
    let to = at;
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) this.bytes[to++] = (rest & 0x7f) | 0x80;
    this.bytes[to++] = rest;
    return to;
  }

  #headOf(at: number): { isWide: boolean; length: number; begin: number } {
    let value = 0;
    let begin = at;
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

function byte(bytes: Uint8Array, at: number): number {
  return bytes[at] as number;
}
