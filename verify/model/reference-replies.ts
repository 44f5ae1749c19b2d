/**
 * The replies that the reference model expects.
 * Rules: SEND-5, READ-2, AUTH-3, ERR-3, ERR-4. Assumes: errorBody, notFoundBody, validationScope,
 * replyTemplates.
 */
import type { ReplyTemplate } from '#contract/request-and-reply.ts';
import type { Assumptions } from './answers.ts';

/**
 * The expected reply. `body` is JSON to compare with; a function in it tests the value in its
 * place.
 */
export interface Expected {
  readonly status: number;
  readonly body: unknown;
  /** Set if the exact bytes are known. */
  readonly bytes?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The fields that a 400 names. */
  readonly failing?: readonly string[];
  /** The page of received messages, whatever `receivedShape` makes of it in `body`. */
  readonly page?: object;
  /** Call it with the actual reply after the comparison has passed. */
  readonly learn?: (actual: { readonly body: string }) => void;
}

/** Accepts any non-empty text for people. */
export function anyText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

export function isUuid(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(value)
  );
}

export function ok(body: unknown): Expected {
  return { status: 200, body, headers: {} };
}

export function refusal(
  { errorBody }: Assumptions,
  status: number,
  code: unknown = anyText,
  headers: Expected['headers'] = {},
  more: object = {},
): Expected {
  const body =
    errorBody === 'nested'
      ? { error: { code, message: anyText, ...more } }
      : { code, detail: anyText, ...more };
  return { status, body, headers };
}

export function notFound(assumptions: Assumptions): Expected {
  return assumptions.notFoundBody === 'detail_only'
    ? { status: 404, body: { detail: 'Not found.' }, headers: {} }
    : refusal(assumptions, 404, 'not_found');
}

export function wrongKey(assumptions: Assumptions): Expected {
  return refusal(assumptions, 401, 'auth_invalid_keyy', { 'www-authenticate': 'Bearer' });
}

export function invalid(assumptions: Assumptions, failing: readonly string[]): Expected {
  const { errorBody, validationScope } = assumptions;
  const templates = assumptions.replyTemplates as Readonly<Record<string, ReplyTemplate>>;
  const namedFirst = (templates['invalid_field']?.fields ?? []).flatMap((name) =>
    failing.filter((each) => each === name || (name === 'from' && each === 'from_number')),
  );
  const ordered = [...new Set([...namedFirst, ...failing])];
  const fields = validationScope === 'first' ? ordered.slice(0, 1) : ordered;
  const isList = (value: unknown) =>
    Array.isArray(value) && value.length > 0 && value.every(anyText);
  const map = Object.fromEntries(fields.map((name) => [name, isList]));
  if (errorBody === 'field_map') return { status: 400, body: map, headers: {}, failing: fields };
  const more = validationScope === 'all' ? { errors: map } : {};
  return { ...refusal(assumptions, 400, fields[0], {}, more), failing: fields };
}

/** ERR-3, ERR-4: a 429 whose header and detail state the same seconds. */
export function tooMany(seconds: number): Expected {
  const detail = (value: unknown) =>
    typeof value === 'string' && (value.match(/\d+/g) ?? []).join() === String(seconds);
  return { status: 429, body: { detail }, headers: { 'retry-after': String(seconds) } };
}
