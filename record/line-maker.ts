/**
 * Makes the line that a recording has for an exchange: with some headers, decoded bodies, digests
 * in place of keys and addresses, and replacements for phone numbers and message texts.
 */
import { isUtf8 } from 'node:buffer';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { matchRoute } from '#contract/routes.ts';
import { isoTime } from '#contract/time.ts';
import type { RecordedBody, RecordedLine } from '#judging/evidence/recorded-line.ts';
import {
  type Body,
  type Header,
  longestRecordedBody,
  type PassedExchange,
} from './proxied-exchange.ts';
import type { Redactor, ReplyKind } from './redaction.ts';
import type { Secrets } from './secrets.ts';

const requestHeaders = ['authorization', 'content-type'];
const replyHeaders = ['content-type', 'retry-after', 'date', 'allow', 'location'];

export function lineOf(passed: PassedExchange, secrets: Secrets, redactor: Redactor): RecordedLine {
  const { sentMs, answeredMs, clientIp, method, target, reply, failure, fault } = passed;
  const sent = textOf(passed.requestBody, passed.requestHeaders);
  const replied = reply && textOf(reply.body, reply.headers);
  // The header comes first: `secrets` then looks for its key everywhere else.
  const sentHeaders = headersIn(passed.requestHeaders, requestHeaders, (name, value) =>
    name === 'authorization' ? secrets.credential(value) : value,
  );
  const endpoint = matchRoute(target.split('?', 1)[0] ?? '')?.route.endpoint;
  const [, ownKey] = /^\S+[ \t]+(.*)$/.exec(headerIn(passed.requestHeaders, 'authorization')) ?? [];
  const [sentBody, repliedBody] = redactor.bodies(
    secrets.hiddenInBody(sent.body ?? '', ownKey),
    secrets.hiddenInBody(replied?.body ?? '', ownKey),
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
      headers: sentHeaders,
      ...(sent.body !== undefined && sent.body !== '' && { body: sentBody }),
      ...(sent.omitted !== undefined && { omitted: sent.omitted }),
    },
    ...(reply !== undefined && {
      reply: {
        status: reply.status,
        headers: headersIn(reply.headers, replyHeaders, (name, value) =>
          name === 'location' ? hidden(value) : value,
        ),
        ...(replied?.body !== undefined && { body: repliedBody }),
        ...(replied?.omitted !== undefined && { omitted: replied.omitted }),
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

/** The named headers, by lower-case name, each changed by `change`; equal ones are joined. */
function headersIn(
  headers: readonly Header[],
  names: readonly string[],
  change: (name: string, value: string) => string,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [sentName, text] of headers) {
    const name = sentName.toLowerCase();
    if (!names.includes(name)) continue;
    const value = change(name, text);
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
    // The body is not in this encoding, or too long.
  }
  return { omitted: body.length };
}
