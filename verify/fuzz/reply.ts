/**
 * Reading replies strictly: whatever was sent, what comes back is HTTP.
 */
import type { Bytes } from './piece.ts';

export interface Reply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Bytes;
}

/** A reply that is no HTTP, or one that nobody may get. */
export class WrongReply extends Error {
  override readonly name = 'WrongReply';
}

const statusLine = /^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;

/** Takes replies from the front of what has arrived. */
export class ReplyReader {
  #bytes: Bytes = '';

  add(bytes: Bytes): void {
    this.#bytes += bytes;
  }

  get rest(): Bytes {
    return this.#bytes;
  }

  /** The next whole reply to a request with this method; undefined while it is not whole. */
  next(method: string, isClosed: boolean): Reply | undefined {
    for (;;) {
      const end = this.#bytes.indexOf('\r\n\r\n');
      if (end < 0) return undefined;
      const head = readHead(this.#bytes.slice(0, end));
      if (head.status < 200) {
        this.#bytes = this.#bytes.slice(end + 4);
        continue;
      }
      const length = bodyLength(head, method);
      if (length === undefined && !isClosed) return undefined;
      const after = length === undefined ? this.#bytes.length : end + 4 + length;
      if (after > this.#bytes.length) return undefined;
      const body = this.#bytes.slice(end + 4, after);
      this.#bytes = this.#bytes.slice(after);
      return { ...head, body };
    }
  }
}

type Head = Omit<Reply, 'body'>;

function readHead(text: Bytes): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const status = statusLine.exec(first)?.[1];
  if (status === undefined) throw new WrongReply(`no status line: ${JSON.stringify(first)}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value = ''] = headerLine.exec(line) ?? [];
    if (name === undefined) throw new WrongReply(`no header: ${JSON.stringify(line)}`);
    const key = name.toLowerCase();
    if (headers.has(key)) throw new WrongReply(`the header ${key} comes twice`);
    headers.set(key, value);
  }
  return { status: Number(status), headers };
}

/** Undefined: up to the end of the connection. */
function bodyLength({ status, headers }: Head, method: string): number | undefined {
  if (method === 'HEAD' || status === 204 || status === 304) return 0;
  const text = headers.get('content-length');
  if (text === undefined) {
    if (headers.get('connection') === 'close' || headers.has('transfer-encoding')) return undefined;
    throw new WrongReply(`a reply ${status} without a length`);
  }
  if (!/^\d{1,12}$/.test(text)) throw new WrongReply(`a length of ${text}`);
  return Number(text);
}

export interface Expectation {
  readonly port: 'service' | 'control';
  readonly transport: 'hyperexpress' | 'node';
  readonly method: string;
  /** False where the request broke the rules of HTTP. */
  readonly isWhole: boolean;
}

/** What the native parser answers in HTML, and may (docs/semantics.md, "Below the service: HTTP"). */
const nativeStatuses = [400, 431, 505];

/** Throws unless this reply may be given. */
export function checkReply({ status, headers, body }: Reply, expected: Expectation): void {
  const { port, transport, method, isWhole } = expected;
  const said = `${status} ${JSON.stringify(body.slice(0, 300))}`;
  const isNative =
    transport === 'hyperexpress' &&
    !isWhole &&
    nativeStatuses.includes(status) &&
    !headers.has('content-type');
  if (isNative) return;
  // 503 is a SIM that is not active (ERR-2), which the control port never says.
  if (status >= 500 && !(status === 503 && port === 'service')) throw new WrongReply(said);
  if (status === 503 && method !== 'HEAD' && !body.includes('"device_inactive"'))
    throw new WrongReply(said);
  if (method === 'HEAD' || status === 204 || status === 304) return;
  const type = headers.get('content-type') ?? '';
  if (type !== 'application/json' && port === 'control' && !isWhole) return;
  if (type === 'application/x-ndjson' || type.startsWith('text/event-stream')) return;
  if (type !== 'application/json') throw new WrongReply(`content type ${type}: ${said}`);
  try {
    JSON.parse(body);
  } catch {
    throw new WrongReply(`no JSON: ${said}`);
  }
}
