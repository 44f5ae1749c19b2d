/**
 * A request's body as a JSON object. Rules: SVC-4. Assumes: malformedJson, emptyBody, contentType.
 */
import { isUtf8 } from 'node:buffer';
import type { Assumptions } from '../../sim/assumptions.ts';
import type { UndocumentedError } from '../../sim/errors.ts';
import type { ApiRequest } from './messages.ts';

export type JsonBody =
  | { readonly kind: 'object'; readonly object: Readonly<Record<string, unknown>> }
  | UndocumentedError;

type MalformedJson = Extract<UndocumentedError, { kind: 'malformed_json' }>;

const jsonType = /^application\/json[ \t]*(;|$)/i;

export function readJsonBody(
  request: Pick<ApiRequest, 'contentType' | 'contentEncoding' | 'body'>,
  assumptions: Assumptions,
): JsonBody {
  if (assumptions.contentType === 'reject_415') {
    if (!isJsonType(request.contentType)) return { kind: 'unsupported_media_type' };
    if (!isPlain(request.contentEncoding)) return { kind: 'unsupported_content_encoding' };
  }
  const text = decode(request.body);
  if (text === undefined) return malformed('The body is not valid UTF-8.');
  if (text === '' && assumptions.emptyBody === 'no_fields') return { kind: 'object', object: {} };
  if (text === '') return malformed('The body is empty; a JSON object is expected.', 'empty_body');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return malformed('The body is not valid JSON.');
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return malformed('The body is not a JSON object.', 'not_an_object');
  }
  return { kind: 'object', object: value as Record<string, unknown> };
}

function isJsonType(contentType: string | undefined): boolean {
  return (
    contentType === 'application/json' || (contentType !== undefined && jsonType.test(contentType))
  );
}

function isPlain(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || /^(identity)?$/i.test(contentEncoding);
}

function decode(body: string | Uint8Array): string | undefined {
  if (typeof body === 'string') return body;
  if (!isUtf8(body)) return undefined;
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}

function malformed(
  detail: string,
  mistake: MalformedJson['mistake'] = 'malformed_json',
): UndocumentedError {
  return { kind: 'malformed_json', detail, mistake };
}
