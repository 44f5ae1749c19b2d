/**
 * Writes JSON into a buffer that is used again: half the time of making a text and encoding it.
 */
const startBytes = 131_072;
/** The most bytes that JSON makes of one UTF-16 unit: `\u0000`. */
const mostPerUnit = 6;

const quote = 0x22;
const backslash = 0x5c;
const firstPrintable = 0x20;
const firstUnusual = 0x7f;

export class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(startBytes);
  #length = 0;

  /** What was written since `clear`; valid until then. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > startBytes) this.#bytes = Buffer.allocUnsafeSlow(startBytes);
  }

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
    for (let at = 0; at < text.length; at++) bytes[start + at] = text.charCodeAt(at);
    this.#length = start + text.length;
  }

  /** Writes JSON as it is. */
  json(text: string): void {
    this.#reserve(3 * text.length);
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Writes a text in quotes. */
  text(text: string): void {
    this.#reserve(mostPerUnit * text.length + 2);
    const bytes = this.#bytes;
    let end = this.#length;
    bytes[end++] = quote;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      if (unit < firstPrintable || unit >= firstUnusual) {
        this.json(JSON.stringify(text));
        return;
      }
      if (unit === quote || unit === backslash) bytes[end++] = backslash;
      bytes[end++] = unit;
    }
    bytes[end++] = quote;
    this.#length = end;
  }

  /** Writes UTF-8 as a text in quotes. */
  utf8(source: Uint8Array): void {
    this.#reserve(2 * source.length + 2);
    const bytes = this.#bytes;
    let end = this.#length;
    bytes[end++] = quote;
    for (let at = 0; at < source.length; at++) {
      const byte = source[at] as number;
      if (byte < firstPrintable || byte >= firstUnusual) {
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
