/**
 * Writes JSON as bytes into a buffer that is reused. This takes half the time of building a text
 * and encoding it. Every write reserves enough space first, so the loops need no checks.
 */

/** The buffer shrinks to this length at `clear`. */
const startBytes = 131_072;
/** JSON makes at most this many bytes of one UTF-16 unit: `\u0000`. */
const maxBytesPerUnit = 6;

const quote = 0x22;
const backslash = 0x5c;
const firstPrintable = 0x20;
/** Bytes from here on need an escape or several bytes: the slow path handles such a text. */
const firstSpecial = 0x7f;

export class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(startBytes);
  #length = 0;

  /** The bytes written since the last `clear`. They are valid until the next one. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > startBytes) this.#bytes = Buffer.allocUnsafeSlow(startBytes);
  }

  /** Writes bytes as they are. */
  copy(source: Uint8Array): void {
    this.#reserve(source.length);
    this.#bytes.set(source, this.#length);
    this.#length += source.length;
  }

  /** Writes ASCII as it is. */
  ascii(text: string): void {
    this.#reserve(text.length);
    const bytes = this.#bytes;
    const start = this.#length;
    for (let i = 0; i < text.length; i++) bytes[start + i] = text.charCodeAt(i);
    this.#length = start + text.length;
  }

  /** Writes a text that is JSON already. */
  json(text: string): void {
    this.#reserve(3 * text.length);
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Writes a text as a JSON string, with quotes and escapes. */
  text(text: string): void {
    this.#reserve(maxBytesPerUnit * text.length + 2);
    const bytes = this.#bytes;
    let end = this.#length;
    bytes[end++] = quote;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit < firstPrintable || unit >= firstSpecial) {
        this.json(JSON.stringify(text));
        return;
      }
      if (unit === quote || unit === backslash) bytes[end++] = backslash;
      bytes[end++] = unit;
    }
    bytes[end++] = quote;
    this.#length = end;
  }

  /** Writes UTF-8 bytes as a JSON string. */
  utf8(source: Uint8Array): void {
    this.#reserve(2 * source.length + 2);
    const bytes = this.#bytes;
    let end = this.#length;
    bytes[end++] = quote;
    for (let i = 0; i < source.length; i++) {
      const byte = source[i] as number;
      if (byte < firstPrintable || byte >= firstSpecial) {
        this.text(Buffer.from(source).toString('utf8'));
        return;
      }
      if (byte === quote || byte === backslash) bytes[end++] = backslash;
      bytes[end++] = byte;
    }
    bytes[end++] = quote;
    this.#length = end;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(2 * needed);
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
