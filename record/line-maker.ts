/**
 * Makes the line that a recording has for an exchange: with some headers, decoded bodies, digests
 * in place of keys and addresses, and replacements for phone numbers and message texts.
 */
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { matchRoute } from '#contract/routes.ts';
import { isoTime } from '#contract/time.ts';
import type { RecordedBody, RecordedLine } from '#judging/evidence/recorded-line.ts';
import { ExchangeRedaction, type Part, type Reading } from './exchange-redaction.ts';
import { secretHeader } from './members.ts';
import {
  type Body,
  type Header,
  longestRecordedBody,
  type PassedExchange,
} from './passed-exchange.ts';
import { type Redaction, Redactor } from './redaction.ts';
import { keysInHeader, Secrets } from './secrets.ts';

const recordedRequestHeaders = ['authorization', 'content-type', 'traceparent'];
const recordedReplyHeaders = ['content-type', 'retry-after', 'date', 'allow', 'location'];
/** Only this many characters of a header's name are matched, to bound the time. */
const longestHeaderName = 100;

/** A name for this process: its steady clock orders only the lines that it writes itself. */
const processName = randomBytes(6).toString('hex');

export class LineMaker {
  readonly secrets: Secrets;
  readonly #redactor: Redactor;

  constructor(salt: string, redactions: readonly Redaction[]) {
    this.secrets = new Secrets(salt);
    this.#redactor = new Redactor(salt, redactions);
  }

  /** Makes the line. Yields between slices: a long exchange takes seconds to redact. */
  *make(passed: PassedExchange): Generator<undefined, RecordedLine> {
    const { sentMs, connection, clientIp, method, reply, failure, fault } = passed;
    const [steadySentMs, steadyAnsweredMs] = passed.steadyMs;
    const sentBody = textOf(passed.requestBody, passed.requestHeaders);
    const replyBody = reply && textOf(reply.body, reply.headers);
    const redacted = yield* this.#redact(passed, sentBody.body ?? '', replyBody?.body ?? '');
    return {
      sent: isoTime(sentMs),
      answered: isoTime(sentMs + Math.ceil(steadyAnsweredMs - steadySentMs)),
      steady: {
        process: processName,
        sent_ms: rounded(steadySentMs),
        answered_ms: rounded(steadyAnsweredMs),
      },
      connection: String(connection),
      client: this.secrets.digest('address', clientIp),
      ...(fault !== undefined && { fault }),
      request: {
        method,
        path: redacted.target,
        headers: byName(redacted.requestHeaders),
        ...(sentBody.body !== undefined && sentBody.body !== '' && { body: redacted.requestBody }),
        ...(sentBody.omitted !== undefined && { omitted: sentBody.omitted }),
      },
      ...(reply !== undefined && {
        reply: {
          status: reply.status,
          headers: byName(redacted.replyHeaders),
          ...(replyBody?.body !== undefined && { body: redacted.replyBody }),
          ...(replyBody?.omitted !== undefined && { omitted: replyBody.omitted }),
        },
      }),
      ...(failure !== undefined && { failure }),
    };
  }

  /** The parts of an exchange that a line has, with secrets replaced. */
  *#redact(
    { requestHeaders, target, reply }: PassedExchange,
    sentBody: string,
    repliedBody: string,
  ) {
    const redaction = new ExchangeRedaction(this.secrets, this.#redactor);
    const allReplyHeaders = reply?.headers ?? [];
    for (const [name, value] of [...requestHeaders, ...allReplyHeaders]) {
      if (secretHeader.test(name.slice(0, longestHeaderName)))
        for (const key of keysInHeader(value)) redaction.learnKey(key);
    }
    const sentHeaders = headersIn(requestHeaders, recordedRequestHeaders);
    const headers = [...sentHeaders, ...headersIn(allReplyHeaders, recordedReplyHeaders)];
    const texts = textsOfReply(reply?.status ?? 0, target);
    const [path = '', requestBody = '', replyBody = '', ...values] = yield* redaction.redacted([
      [target, { form: 'target', texts: 'named' }],
      [sentBody, bodyReading(requestHeaders, 'named')],
      [repliedBody, bodyReading(allReplyHeaders, texts)],
      ...headers.map(([name, value]): Part => {
        const form = name === 'location' ? 'target' : 'parameter';
        return [name === 'authorization' ? '' : value, { form, texts: 'named' }];
      }),
    ]);
    const redacted = headers.map(([name, value], index): Header => {
      const isCredential = name === 'authorization';
      return [name, isCredential ? this.secrets.credential(value) : (values[index] ?? '')];
    });
    return {
      target: path,
      requestHeaders: redacted.slice(0, sentHeaders.length),
      requestBody,
      replyHeaders: redacted.slice(sentHeaders.length),
      replyBody,
    };
  }
}

/** The time in milliseconds, rounded to a microsecond. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

/** Which values of a reply are message texts: all of a list, none of an error, else by name. */
function textsOfReply(status: number, target: string): Reading['texts'] {
  if (status >= 400) return 'none';
  const endpoint = matchRoute(target.split('?', 1)[0] ?? '')?.route.endpoint;
  return endpoint === 'received' || endpoint === 'tasks' ? 'all' : 'named';
}

function bodyReading(headers: readonly Header[], texts: Reading['texts']): Reading {
  const isForm = /x-www-form-urlencoded/i.test(headerIn(headers, 'content-type'));
  return { form: isForm ? 'field' : 'body', texts };
}

function headerIn(headers: readonly Header[], wanted: string): string {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? '';
}

/** The named headers, with names in lower case. */
function headersIn(headers: readonly Header[], names: readonly string[]): readonly Header[] {
  return headers
    .map(([name, value]): Header => [name.toLowerCase(), value])
    .filter(([name]) => names.includes(name));
}

function byName(headers: readonly Header[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of headers)
    found[name] = found[name] === undefined ? value : `${found[name]}, ${value}`;
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

/** The text of a body; left out if it is too long, of an unknown encoding, or not text. */
function textOf(body: Body, headers: readonly Header[]): Omit<RecordedBody, 'headers'> {
  if (typeof body === 'number') return { omitted: body };
  if (body.length === 0) return { body: '' };
  const encoding = headerIn(headers, 'content-encoding').trim().toLowerCase() || 'identity';
  try {
    const bytes = decoders[encoding]?.(body, { maxOutputLength: longestRecordedBody });
    // UTF-16 is valid UTF-8 with zeros in it.
    if (bytes !== undefined && isUtf8(bytes) && !bytes.includes(0))
      return { body: bytes.toString('utf8') };
  } catch {
    // The body is not in this encoding, or too long.
  }
  return { omitted: body.length };
}
