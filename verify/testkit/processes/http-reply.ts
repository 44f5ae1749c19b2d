/**
 * Reads HTTP replies strictly from the bytes of a connection. Anything that is not well-formed
 * HTTP/1.1 throws, whatever the request was.
 */

export interface RawReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded as UTF-8. */
  readonly body: string;
}

/** A reply that is not HTTP, or one that the server must not give. */
export class WrongReply extends Error {
  override readonly name = 'WrongReply';
}

const statusLine = /^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;

/** Takes whole replies from the front of the bytes that arrived. */
export class ReplyReader {
  /** The bytes that arrived and were not taken yet, one character per byte (latin1). */
  #unread = '';

  add(bytes: string): void {
    this.#unread += bytes;
  }

  get rest(): string {
    return this.#unread;
  }

  /** Takes everything up to the end of `text`; undefined while it has not arrived. */
  takeUntil(text: string): string | undefined {
    const start = this.#unread.indexOf(text);
    if (start < 0) return undefined;
    const end = start + text.length;
    const taken = this.#unread.slice(0, end);
    this.#unread = this.#unread.slice(end);
    return taken;
  }

  /** The next whole reply to a request with this method; undefined while it is not whole. */
  next(method: string, isClosed: boolean): RawReply | undefined {
    for (;;) {
      const headEnd = this.#unread.indexOf('\r\n\r\n');
      if (headEnd < 0) return undefined;
      const bodyStart = headEnd + 4;
      const head = readHead(this.#unread.slice(0, headEnd));
      // An interim reply, such as 100 Continue, comes before the reply.
      if (head.status < 200) {
        this.#unread = this.#unread.slice(bodyStart);
        continue;
      }
      const length = bodyLength(head, method);
      if (length === undefined && !isClosed) return undefined;
      const bodyEnd = length === undefined ? this.#unread.length : bodyStart + length;
      if (bodyEnd > this.#unread.length) return undefined;
      const body = this.#unread.slice(bodyStart, bodyEnd);
      this.#unread = this.#unread.slice(bodyEnd);
      return { ...head, body: Buffer.from(body, 'latin1').toString() };
    }
  }
}

type Head = Omit<RawReply, 'body'>;

function readHead(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const status = statusLine.exec(first)?.[1];
  if (status === undefined) throw new WrongReply(`not a status line: ${JSON.stringify(first)}`);
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const [, name, value = ''] = headerLine.exec(line) ?? [];
    if (name === undefined) throw new WrongReply(`not a header: ${JSON.stringify(line)}`);
    const key = name.toLowerCase();
    if (key in headers) throw new WrongReply(`the header ${key} comes twice`);
    headers[key] = value;
  }
  return { status: Number(status), headers };
}

/** Undefined if the body ends with the connection. */
function bodyLength({ status, headers }: Head, method: string): number | undefined {
  if (method === 'HEAD' || status === 204 || status === 304) return 0;
  const text = headers['content-length'];
  if (text === undefined) {
    if (headers['connection'] === 'close' || 'transfer-encoding' in headers) return undefined;
    throw new WrongReply(`a reply ${status} has no content-length`);
  }
  if (!/^\d{1,12}$/.test(text)) throw new WrongReply(`content-length is not a number: ${text}`);
  return Number(text);
}
