/**
 * Wrong replies: codes and statuses of refusals, content types and paths, and 429s with a wrong
 * `Retry-After` or body. Rules: AUTH-3 to AUTH-5, ERR-1 to ERR-4, SEND-5, SVC-4, VER-1.
 */
import { gzipSync } from 'node:zlib';
import type { ApiReply } from '#contract/request-and-reply.ts';
import { secondMs } from '#contract/time.ts';
import { createBucket } from '#src/sim/limiter/buckets.ts';
import { addressCaller } from '#src/sim/limiter/limiter.ts';
import { type AnsweredCall, isRead, isSend, objectOf, textOf } from './call.ts';
import { answering, notFound, reading, refusal, refusing, replying } from './combinators.ts';
import { breaking, type DefectRow, type Planted } from './planted.ts';

/**
 * A row of a defect that spells one code differently from the document, whose own spellings are
 * odd: a service that corrects them is wrong.
 */
function respelt(code: string, wrongCode: string): readonly [does: string, planted: Planted] {
  const planted = replying(
    ({ reply }) => ({ ...reply, body: reply.body.replaceAll(`"${code}"`, `"${wrongCode}"`) }),
    ({ reply }) => reply.status >= 400,
  );
  return [`the code is ${wrongCode}`, planted];
}

function asPage({ reply }: AnsweredCall): ApiReply {
  const headers = { ...reply.headers, 'content-type': 'text/html; charset=utf-8' };
  return { ...reply, headers, body: `<html><body>${reply.body}</body></html>` };
}

function withoutPaths(paths: RegExp): Planted {
  return answering((call) => (paths.test(call.request.path) ? notFound(call) : undefined));
}

/** The seconds in the `Retry-After` of the service's own 429. */
function retryAfterSecondsOf({ reply }: AnsweredCall): number {
  return Number(reply.headers?.['retry-after']);
}

/** Header and body of a 429 state the seconds that `secondsOf` returns. */
function statingWait(secondsOf: (exchange: AnsweredCall) => number): Planted {
  return refusing(429, (exchange) =>
    refusal({ kind: 'throttled', retryAfterSeconds: secondsOf(exchange) }, exchange),
  );
}

/** Changes the 429s that answer calls without a valid key. */
function changingUnauthenticated(change: Partial<ApiReply>): Planted {
  return refusing(429, ({ key, reply }) => (key === undefined ? { ...reply, ...change } : reply));
}

/** Replaces the body of a 429 by what `write` returns for its `Retry-After`. */
function writingBody(write: (seconds: number) => object): Planted {
  return refusing(429, (exchange) => {
    return { ...exchange.reply, body: JSON.stringify(write(retryAfterSecondsOf(exchange))) };
  });
}

/** The wait before it is rounded up to seconds, from a copy of the caller's bucket. */
function exactWaitMs(exchange: AnsweredCall): number {
  const { request, endpoint, key, simulation } = exchange;
  if (endpoint === undefined) return 0;
  const { limiter, clock, world } = simulation;
  const { limit, recent } = limiter.stateOf(endpoint);
  const caller = key?.account.accountId ?? addressCaller(request.clientIp);
  const state = new Map(recent).get(caller);
  return createBucket(world.assumptions.limiterRefill, limit ?? 1, state).waitMs(clock.now());
}

export const replyDefects: readonly DefectRow[] = [
  ...breaking('AUTH-3', {
    'right-spelling-invalid-key': respelt('auth_invalid_keyy', 'auth_invalid_key'),
    'missing-key-403': [
      'a missing key is answered 403',
      refusing(401, ({ request, reply }) =>
        request.authorization === undefined ? { ...reply, status: 403 } : reply,
      ),
    ],
    'wrong-key-404': [
      'a wrong key is answered 404',
      refusing(401, ({ request, reply }) =>
        request.authorization === undefined ? reply : { ...reply, status: 404 },
      ),
    ],
  }),
  ...breaking('AUTH-4', {
    'wrong-spelling-not-found': respelt('from_number_not_found', 'from_number_not_foundd'),
  }),
  ...breaking('AUTH-5', {
    'right-spelling-access-denied': respelt(
      'from_number_access_deniedd',
      'from_number_access_denied',
    ),
  }),
  ...breaking('ERR-1', { 'wrong-spelling-quota': respelt('quota_exceeded', 'quota_exceded') }),
  ...breaking('ERR-2', {
    'wrong-spelling-inactive': respelt('device_inactive', 'device_inactivee'),
  }),
  ...breaking('SEND-5', {
    'json-single-quotes': [
      'a body in single quotes is taken for JSON',
      reading(({ request }) => {
        const body = textOf(request).replaceAll("'", '"');
        return isSend(request) && objectOf(body) !== undefined ? { body } : undefined;
      }),
    ],
    'validation-no-field': [
      'a 400 does not say which field',
      refusing(400, ({ fields, reply }) =>
        fields === undefined
          ? reply
          : { ...reply, body: '{"code":"invalid","detail":"Validation failed."}' },
      ),
    ],
  }),
  ...breaking('SVC-4', {
    'malformed-html': [
      'a malformed body is answered with HTML',
      refusing(400, (exchange) =>
        isSend(exchange.request) && exchange.fields === undefined
          ? asPage(exchange)
          : exchange.reply,
      ),
    ],
    'json-with-bom': [
      'bodies begin with a byte order mark',
      replying(({ reply }) => ({ ...reply, body: `\uFEFF${reply.body}` })),
    ],
    'error-html': ['errors are HTML pages', replying(asPage, ({ reply }) => reply.status >= 400)],
    'ok-content-type': [
      'a read is declared as text/html',
      replying(({ reply }) => {
        return { ...reply, headers: { ...reply.headers, 'content-type': 'text/html' } };
      }, isRead),
    ],
    'browser-html': [
      'a browser gets its message as an HTML page',
      replying(
        asPage,
        ({ endpoint, request }) =>
          endpoint === 'read' && String(request.headers?.['accept']).includes('text/html'),
      ),
    ],
    'compressed-undeclared': [
      'a client that takes gzip gets it without a Content-Encoding',
      replying(
        ({ reply }) => ({ ...reply, body: gzipSync(reply.body).toString('latin1') }),
        ({ request }) => String(request.headers?.['accept-encoding']).includes('gzip'),
      ),
    ],
    'dashboard-content-type': [
      'a new message of the dashboard is declared as text/html',
      replying(
        ({ reply }) => ({ ...reply, headers: { ...reply.headers, 'content-type': 'text/html' } }),
        ({ endpoint, reply }) => endpoint === 'dashboard_send' && reply.status === 202,
      ),
    ],
    'not-found-html': ['a 404 is an HTML page', refusing(404, asPage)],
    'throttle-html': [
      'a 429 has an HTML body',
      refusing(429, ({ reply }) => ({
        ...reply,
        body: '<html><body><h1>429 Too Many Requests</h1></body></html>',
        headers: { ...reply.headers, 'content-type': 'text/html' },
      })),
    ],
  }),
  ...breaking('VER-1', {
    'received-is-a-message-id': [
      '`received` is taken for a message id',
      withoutPaths(/^\/api\/v1\/sms\/received\/$/),
    ],
    'version-prefix-everywhere': [
      'dashboard send, external send and tasks are only under /api/v1/',
      withoutPaths(/^\/api\/(sms|external|devices)\//),
    ],
    'no-version-prefix': ['send is only under /api/sms/', withoutPaths(/^\/api\/v1\/sms\/send\/$/)],
  }),
  ...breaking('ERR-3', {
    'retry-after-rounded-down': [
      'Retry-After is rounded down, so that waiting it out is not enough',
      statingWait((exchange) => Math.floor(exactWaitMs(exchange) / secondMs)),
    ],
    'retry-after-plus-one': [
      'Retry-After is one second too long',
      statingWait((exchange) => retryAfterSecondsOf(exchange) + 1),
    ],
    'retry-after-constant-60': ['Retry-After is always 60', statingWait(() => 60)],
    'retry-after-http-date': [
      'Retry-After is a date',
      refusing(429, (exchange) => {
        const atMs = exchange.simulation.clock.now() + retryAfterSecondsOf(exchange) * secondMs;
        return { ...exchange.reply, headers: { 'retry-after': new Date(atMs).toUTCString() } };
      }),
    ],
    'retry-after-missing': [
      'the header is missing',
      refusing(429, ({ reply }) => ({ ...reply, headers: {} })),
    ],
    'stranger-429-without-retry-after': [
      'a 429 to a call without a key has no Retry-After',
      changingUnauthenticated({ headers: {} }),
    ],
  }),
  ...breaking('ERR-4', {
    'stranger-429-without-detail': [
      'a 429 to a call without a key has no detail',
      changingUnauthenticated({ body: '{}' }),
    ],
    'throttle-no-detail': [
      'a 429 has a body without detail',
      writingBody((seconds) => ({ error: 'throttled', wait: seconds })),
    ],
    'throttle-detail-other-number': [
      'detail states another number than Retry-After',
      writingBody((seconds) => ({ detail: `Expected available in ${seconds + 1} seconds.` })),
    ],
  }),
];
