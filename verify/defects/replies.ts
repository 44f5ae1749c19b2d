/**
 * Wrong codes and statuses of refusals, content types and paths. Rules: AUTH-3 to AUTH-5, ERR-1,
 * ERR-2, SEND-5, SVC-4, VER-1.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import { notFound } from './answers.ts';
import { type Exchange, isRead, isSend } from './call.ts';
import {
  answering,
  breaking,
  type DefectRow,
  type Planted,
  refusing,
  replying,
} from './planted.ts';

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

/** The reply as an HTML page. */
function asPage({ reply }: Exchange): ApiReply {
  const headers = { ...reply.headers, 'content-type': 'text/html; charset=utf-8' };
  return { ...reply, headers, body: `<html><body>${reply.body}</body></html>` };
}

/** Answers 404 under these paths. */
function withoutPaths(paths: RegExp): Planted {
  return answering((call) => (paths.test(call.request.path) ? notFound(call) : undefined));
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
  ...breaking('ERR-1', {
    'wrong-spelling-quota': respelt('quota_exceeded', 'quota_exceded'),
  }),
  ...breaking('ERR-2', {
    'wrong-spelling-inactive': respelt('device_inactive', 'device_inactivee'),
  }),
  ...breaking('SEND-5', {
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
    'not-found-html': ['a 404 is an HTML page', refusing(404, asPage)],
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
];
