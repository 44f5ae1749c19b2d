/**
 * Reads the head of a *plain* request: a common method, a path, HTTP/1.1, one Host, and headers in
 * the form that clients usually write. Any other head is left to Node's parser. So this reader must
 * only accept what Node accepts, and must read it as Node does.
 */

/** The headers of a plain request that the service reads. */
export interface PlainFields {
  readonly host: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly forwardedFor: string | undefined;
  /** The length of the body in bytes; 0 without one. */
  readonly length: number;
}

/** The first line of a plain request, as method, path and query. */
export const plainRequestLine =
  /^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (\/[\w\-.~%!$&'()*+,;=:@/]*)(?:\?([\w\-.~%!$&'()*+,;=:@/?]*))? HTTP\/1\.1$/;
/** A header whose value is printable ASCII, with at most one space before it. */
const headerLine = /^([A-Za-z][A-Za-z0-9-]*): ?([!-~](?:[ -~]*[!-~])?|)$/;
/** Headers that change what the request is, or how its body is read: never plain. */
const unplainHeaders = new Set([
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Headers that are an error, or mean something else, when they are sent twice. */
const singleHeaders = new Set(['host', 'content-length', 'authorization', 'connection']);

/** A longer length is left to Node's parser. */
const plainLength = /^\d{1,8}$/;

/** Reads the lines of the headers; returns undefined if the request is not plain. */
export function readPlainFields(text: string): PlainFields | undefined {
  const found = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const parts = headerLine.exec(line);
    if (parts === null) return undefined;
    const [, written = '', value = ''] = parts;
    const name = written.toLowerCase();
    const isDuplicate = singleHeaders.has(name) && found.has(name);
    if (isDuplicate || unplainHeaders.has(name)) return undefined;
    // A later duplicate replaces an earlier one, as in `node-request.ts`.
    found.set(name, value);
  }
  const host = found.get('host');
  const length = found.get('content-length') ?? '0';
  const connection = found.get('connection') ?? 'keep-alive';
  const isPlain = plainLength.test(length) && connection.toLowerCase() === 'keep-alive';
  if (host === undefined || !isPlain) return undefined;
  return {
    host,
    authorization: found.get('authorization'),
    contentType: found.get('content-type'),
    contentEncoding: found.get('content-encoding'),
    forwardedFor: found.get('x-forwarded-for'),
    length: Number(length),
  };
}
