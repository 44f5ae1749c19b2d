/**
 * Replies that are not JSON, and wrong paths. Rules: SVC-4, VER-1.
 */
import { refusal } from './edge.ts';
import { answering, type Defects, type Exchange, type Planted, replying } from './planted.ts';

function declared(type: string, when: (exchange: Exchange) => boolean): Planted {
  return replying((exchange) => {
    const { reply } = exchange;
    return when(exchange)
      ? { ...reply, headers: { ...reply.headers, 'content-type': type } }
      : reply;
  });
}

function page(when: (exchange: Exchange) => boolean): Planted {
  return replying((exchange) => {
    const { status, headers, body } = exchange.reply;
    if (!when(exchange)) return exchange.reply;
    const type = { 'content-type': 'text/html; charset=utf-8' };
    return { status, headers: { ...headers, ...type }, body: `<html><body>${body}</body></html>` };
  });
}

/** Answers 404 under these paths. */
function missing(paths: RegExp): Planted {
  return answering(({ path }, simulation) =>
    paths.test(path) ? refusal({ kind: 'not_found' }, simulation) : undefined,
  );
}

export const pathDefects: Defects = {
  'error-content-type': declared('text/plain', ({ reply }) => reply.status >= 400),
  'ok-content-type': declared(
    'text/html',
    ({ endpoint, reply }) => endpoint === 'read' && reply.status === 200,
  ),
  'json-with-bom': replying(({ reply }) => ({ ...reply, body: `\uFEFF${reply.body}` })),
  'error-html': page(({ reply }) => reply.status >= 400),
  'not-found-html': page(({ reply }) => reply.status === 404),
  'received-is-a-message-id': missing(/^\/api\/v1\/sms\/received\/$/),
  'version-prefix-everywhere': missing(/^\/api\/(sms|external|devices)\//),
  'no-version-prefix': missing(/^\/api\/v1\/sms\/send\/$/),
};
