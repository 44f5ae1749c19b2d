/**
 * Reads the head of a plain request: a common method, a path, HTTP/1.1, one Host, and headers in the
 * form that clients write. Anything else is not decided here but left to Node's parser, so this
 * accepts nothing that Node refuses, and reads nothing otherwise than Node does.
 */

/** What the headers of a plain request say. */
export interface PlainFields {
  readonly host: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly forwardedFor: string | undefined;
  /** Of the body; 0 without one. */
  readonly length: number;
}

export const plainStart =
  /^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (\/[\w\-.~%!$&'()*+,;=:@/]*)(?:\?([\w\-.~%!$&'()*+,;=:@/?]*))? HTTP\/1\.1$/;
const headerLine = /^([A-Za-z][A-Za-z0-9-]*): ?([!-~](?:[ -~]*[!-~])?|)$/;
/** Each changes what the request is, or how its body is read. */
const special = new Set([
  ...['expect', 'http2-settings', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
]);
/** Twice, they are an error or decide differently than once. */
const single = new Set(['host', 'content-length', 'authorization', 'connection']);

/** `text`: the lines of the headers. Undefined: not plain. */
export function readPlainFields(text: string): PlainFields | undefined {
  const found = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const parts = headerLine.exec(line);
    if (parts === null) return undefined;
    const [, written = '', value = ''] = parts;
    const name = written.toLowerCase();
    if (special.has(name) || (single.has(name) && found.has(name))) return undefined;
    found.set(name, value);
  }
  const host = found.get('host');
  const length = found.get('content-length') ?? '0';
  const connection = found.get('connection') ?? 'keep-alive';
  const isPlain = /^\d{1,8}$/.test(length) && connection.toLowerCase() === 'keep-alive';
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
