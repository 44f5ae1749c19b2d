/** Compares a reply with the reference model's expectation. */
import type { ApiReply } from '#contract/request-and-reply.ts';
import type { Expected } from '../../model/reference-replies.ts';
import { parseJson } from '../parse-json.ts';

/**
 * Describes how a reply differs from the expected one; undefined if it does not. `usualType`: the
 * content type of replies that state none.
 */
export function differenceOf(
  expected: Expected,
  reply: ApiReply,
  usualType: string,
): string | undefined {
  const headers = { 'content-type': 'application/json', ...reply.headers };
  const expectedHeaders = { 'content-type': usualType, ...expected.headers };
  const isExpected =
    reply.status === expected.status &&
    (expected.bytes === undefined || reply.body === expected.bytes) &&
    meets(headers, expectedHeaders) &&
    meets(parseJson(reply.body) ?? reply.body, expected.body);
  if (isExpected) return undefined;
  const expectedBody =
    expected.bytes ?? JSON.stringify(expected.body, (_, value) => nameOfTest(value));
  return (
    `got ${reply.status} ${JSON.stringify(headers)} ${reply.body}; ` +
    `the model expects ${expected.status} ${JSON.stringify(expectedHeaders)} ${expectedBody}`
  );
}

/** The name of a test, which JSON would leave out. */
function nameOfTest(value: unknown): unknown {
  return typeof value === 'function' ? `<${value.name || 'checked'}>` : value;
}

/** JSON equality; a function in the pattern tests the value in its place. */
function meets(value: unknown, pattern: unknown): boolean {
  if (typeof pattern === 'function') return pattern(value) === true;
  if (typeof pattern !== 'object' || pattern === null) return Object.is(value, pattern);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value) !== Array.isArray(pattern)) return false;
  const patterns = Object.entries(pattern);
  const members = new Map<string, unknown>(Object.entries(value));
  return (
    patterns.length === members.size &&
    patterns.every(([name, each]) => members.has(name) && meets(members.get(name), each))
  );
}
