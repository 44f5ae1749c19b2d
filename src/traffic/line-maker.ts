/**
 * Makes the line of an exchange that passed: chosen headers, decoded bodies, digests for keys and
 * addresses, and replacements for numbers and texts.
 */
import { isUtf8 } from 'node:buffer';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { matchRoute } from '../http/service/routes.ts';
import { isoTime } from '../sim/clock.ts';
import { type Body, type Header, longestRecordedBody, type PassedExchange } from './proxy.ts';
import type { RecordedBody, RecordedLine } from './recorded-line.ts';
import type { Redactor, ReplyKind } from './redaction.ts';
import type { Secrets } from './secrets.ts';

const requestHeaders = ['authorization', 'content-type'];
const replyHeaders = ['content-type', 'retry-after', 'date', 'allow', 'location'];

export function lineOf(passed: PassedExchange, secrets: Secrets, redactor: Redactor): RecordedLine {
  const { sentMs, answeredMs, clientIp, method, target, reply, failure, fault } = passed;
  const sent = textOf(passed.requestBody, passed.requestHeaders);
  const answered = reply && textOf(reply.body, reply.headers);
  // The header comes first, because its key is then looked for everywhere else.
  const asked = chosen(passed.requestHeaders, requestHeaders, (name, value) =>
    name === 'authorization' ? secrets.credential(value) : value,
  );
  const endpoint = matchRoute(target.split('?', 1)[0] ?? '')?.route.endpoint;
  const [, ownKey] = /^\S+[ \t]+(.*)$/.exec(headerIn(passed.requestHeaders, 'authorization')) ?? [];
  const [sentBody, repliedBody] = redactor.bodies(
    secrets.hiddenInBody(sent.body ?? '', ownKey),
    secrets.hiddenInBody(answered?.body ?? '', ownKey),
    kindOf(reply?.status ?? 0, endpoint),
  );
  const hidden = (text: string) => redactor.path(secrets.hiddenInQuery(text, ownKey));
  return {
    sent: isoTime(sentMs),
    answered: isoTime(answeredMs),
    client: secrets.digest('address', clientIp),
    ...(fault !== undefined && { fault }),
    request: {
      method,
      path: hidden(target),
      headers: asked,
      ...(sent.body !== undefined && sent.body !== '' && { body: sentBody }),
      ...(sent.omitted !== undefined && { omitted: sent.omitted }),
    },
    ...(reply !== undefined && {
      reply: {
        status: reply.status,
        headers: chosen(reply.headers, replyHeaders, (name, value) =>
          name === 'location' ? hidden(value) : value,
        ),
        ...(answered?.body !== undefined && { body: repliedBody }),
        ...(answered?.omitted !== undefined && { omitted: answered.omitted }),
      },
    }),
    ...(failure !== undefined && { failure }),
  };
}

function kindOf(status: number, endpoint: string | undefined): ReplyKind {
  if (status >= 400) return 'error';
  return endpoint === 'received' || endpoint === 'tasks' ? 'list' : 'other';
}

function headerIn(headers: readonly Header[], wanted: string): string {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? '';
}

function chosen(
  headers: readonly Header[],
  names: readonly string[],
  shown: (name: string, value: string) => string,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [own, text] of headers) {
    const name = own.toLowerCase();
    if (!names.includes(name)) continue;
    const value = shown(name, text);
    found[name] = found[name] === undefined ? value : `${found[name]}, ${value}`;
  }
  return found;
}

type Decoder = (body: Buffer, bounds: { readonly maxOutputLength: number }) => Buffer;
const decoders: Readonly<Record<string, Decoder>> = {
  identity: (body) => body,
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

/** The text of a body; left out if it is too long, of an unknown encoding, or no text. */
function textOf(body: Body, headers: readonly Header[]): Omit<RecordedBody, 'headers'> {
  if (typeof body === 'number') return { omitted: body };
  if (body.length === 0) return { body: '' };
  const encoding = headerIn(headers, 'content-encoding').trim().toLowerCase() || 'identity';
  try {
    const bytes = decoders[encoding]?.(body, { maxOutputLength: longestRecordedBody });
    if (bytes !== undefined && isUtf8(bytes)) return { body: bytes.toString('utf8') };
  } catch {
    // It is not of this encoding, or too long.
  }
  return { omitted: body.length };
}
