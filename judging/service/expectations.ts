/**
 * The checks that judges and cases make. Each compares what is expected with what is actual, so
 * that a failure always states both. A misspelt but otherwise right code has a verdict of its own,
 * because the document's spelling is the contract (AUTH-3, AUTH-5).
 */
import { isObject } from '#contract/request-and-reply.ts';
import { changesBetween } from '#io/mistakes.ts';
import type { Reply, ReportedExchange } from '../evidence/reply.ts';
import { namesField } from './named-fields.ts';

/** A rule does not hold. */
export class RuleBroken extends Error {
  readonly expected: string;
  readonly actual: string;
  /** True if only the spelling of a code is wrong. */
  readonly isOnlySpelling: boolean;
  /** The request whose reply breaks the rule. */
  readonly exchange: ReportedExchange | undefined;
  constructor(
    expected: string,
    actual: string,
    exchange?: ReportedExchange,
    isOnlySpelling = false,
  ) {
    super(`expected ${expected}; actual ${actual}`);
    this.expected = expected;
    this.actual = actual;
    this.isOnlySpelling = isOnlySpelling;
    this.exchange = exchange;
  }
}

/** An error without a stack trace: it is thrown often, and the trace would be most of its cost. */
class WithoutStack extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** A precondition of a case did not come true, so its rule was not tested. */
export class PreconditionMissing extends WithoutStack {}

/** Something that a case needs is missing; the message names it. */
export class Lacking extends WithoutStack {}

export function fail(expected: string, actual: string, exchange?: ReportedExchange): never {
  throw new RuleBroken(expected, actual, exchange);
}

/** Runs checks of a precondition, not of the rule itself. */
export function given<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof RuleBroken)
      throw new PreconditionMissing(`needed ${error.expected}, got ${error.actual}`);
    throw error;
  }
}

/** A reply as failures show it: its status and the start of its body. */
export function describe(reply: Reply): string {
  const { status, text, failure = 'unknown' } = reply;
  if (reply.isUnusable === true) return `an unusable reply (${failure})`;
  if (status === 0) return `no reply (${failure})`;
  // Makes a copy, because a slice would keep the whole text in memory.
  const body = text.length > 200 ? `${Buffer.from(text.slice(0, 200)).toString()}…` : text;
  return `${status} ${body}`;
}

/** Requires that two replies are equal byte for byte; a failure shows where they differ. */
export function identical(reply: Reply, original: Reply, what: string): void {
  if (reply.digest === original.digest) return;
  const [expected, actual] = difference(original.text, reply.text);
  fail(`${what}, which has ${expected}`, actual, reply.exchange);
}

/** Long enough to include the name of the field. */
const shownBefore = 48;
const shownAfter = 12;

/** The differing part of each text, with a few characters around it. */
export function difference(one: string, other: string): [string, string] {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  let end = 0;
  const most = Math.min(one.length, other.length) - start;
  while (end < most && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const excerpt = (text: string) =>
    `${start > shownBefore ? '…' : ''}${text.slice(Math.max(0, start - shownBefore), text.length - end + shownAfter)}${end > shownAfter ? '…' : ''}`;
  return [excerpt(one), excerpt(other)];
}

export function equal(what: string, actual: unknown, expected: unknown): void {
  if (!Object.is(actual, expected)) fail(`${what} ${show(expected)}`, show(actual));
}

/** Compares UUIDs without regard to case. */
export function sameUuid(what: string, actual: unknown, expected: string): void {
  equal(what, typeof actual === 'string' ? actual.toLowerCase() : actual, expected.toLowerCase());
}

/** A reply, or what it says about a condition; a function is asked only if that does not hold. */
export type Actual = string | Reply | (() => string);

/** Requires that a condition holds. */
export function that(holds: boolean, expected: string, actual: Actual): void {
  if (holds) return;
  if (typeof actual === 'function') fail(expected, actual());
  if (typeof actual === 'string') fail(expected, actual);
  fail(expected, describe(actual), actual.exchange);
}

/** Returns a text unchanged and any other value as JSON: a target may send anything. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : show(value);
}

export function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}

export function status(reply: Reply, ...expected: number[]): void {
  if (!expected.includes(reply.status)) that(false, `status ${expected.join(' or ')}`, reply);
}

/** The reply's body, which must be a JSON object declared as JSON (SVC-4). */
export function object(reply: Reply): Record<string, unknown> {
  that(isObject(reply.json), 'a JSON object as body', reply);
  return reply.json as Record<string, unknown>;
}

export function declaredJson(reply: Reply): void {
  if (reply.lacksHeaders && reply.headers['content-type'] === undefined) return;
  const type = reply.headers['content-type'] ?? 'no content-type';
  that(
    /^application\/(?:[\w.+-]+\+)?json\b/i.test(type) && reply.json !== undefined,
    'a JSON body declared as application/json',
    () => `${type}: ${describe(reply)}`,
  );
}

/** Requires a Message body with the expected status. */
export function message(reply: Reply, expectedStatus: number): Record<string, unknown> {
  status(reply, expectedStatus);
  const body = object(reply);
  that(typeof body['message_id'] === 'string', 'a Message body with message_id', reply);
  that(typeof body['status'] === 'string', 'a Message body with status', reply);
  return body;
}

/** Requires that a new message was accepted: with 200 if an earlier try of the send had arrived. */
export function accepted(reply: Reply): Record<string, unknown> {
  return message(reply, reply.status === 200 && reply.interruptions > 0 ? 200 : 202);
}

/** The code of an error body, in any place that an answer of `errorBody` allows. */
export function codeOf(reply: Pick<Reply, 'json'>): string | undefined {
  if (!isObject(reply.json)) return undefined;
  const { code, error, errors } = reply.json;
  if (typeof code === 'string') return code;
  if (typeof error === 'string') return error;
  for (const inner of [error, Array.isArray(errors) ? errors[0] : errors, reply.json['detail']])
    if (isObject(inner) && typeof inner['code'] === 'string') return inner['code'];
  return undefined;
}

/** Requires a documented refusal: this status with this code. */
export function refused(reply: Reply, expectedStatus: number, code: string): void {
  const actual = codeOf(reply) ?? '';
  const isRefused = reply.status === expectedStatus;
  const isRight = isRefused && holdsText(reply.json, code);
  if (isRefused && !isRight && isNear(actual, code)) {
    throw new RuleBroken(
      `${expectedStatus} ${code}`,
      `${reply.status} ${actual}`,
      reply.exchange,
      true,
    );
  }
  that(isRight, `${expectedStatus} with code ${code}`, reply);
}

/** True if the text stands alone in some place of the body: its shape is not shown. */
function holdsText(part: unknown, text: string): boolean {
  if (typeof part !== 'object' || part === null) return part === text;
  return Object.values(part).some((value) => holdsText(value, text));
}

/** SEND-5: requires a 400 whose body names the failing field. */
export function invalid(reply: Reply, ...fields: string[]): void {
  that(
    reply.status === 400 && fields.some((field) => namesField(reply.json, field)),
    `400 whose body identifies ${fields.join(' or ')}`,
    reply,
  );
}

/** The seconds that a 429 says to wait; undefined for another reply or header. */
export function waitIn({ status: code, headers }: Reply): number | undefined {
  const value = headers['retry-after']?.trim() ?? '';
  return code === 429 && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

/** The header of a 429, which must be whole seconds (ERR-3). */
export function retryAfter(reply: Reply): number {
  status(reply, 429);
  const value = reply.headers['retry-after'] ?? 'none';
  const expected = `Retry-After with a number of seconds, not ${value}`;
  return waitIn(reply) ?? fail(expected, describe(reply), reply.exchange);
}

/** True if at most two letters were added, dropped or changed. */
export function isNear(a: string, b: string): boolean {
  return changesBetween(a, b) <= 2;
}
