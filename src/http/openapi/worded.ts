/**
 * Replies worded by a template, in the OpenAPI document: the schema allows any body, and the
 * example shows the template. Assumes: replyTemplates.
 */
import { z } from 'zod';
import type { Assumptions } from '../../sim/assumptions.ts';
import type { ServiceError } from '../../sim/errors.ts';
import { noReplyTemplates } from '../../sim/reply-templates.ts';
import type { ApiReply, ApiRequest } from '../service/messages.ts';
import { refuse } from '../service/templated-replies.ts';
import { header, type Refusal } from './refusal.ts';
import { anyWording } from './replies.ts';

/** The refusal as it is sent; unchanged if no template applies. */
export function worded(
  refusal: Refusal,
  error: ServiceError,
  assumptions: Assumptions,
  path = '/',
): Refusal {
  if (assumptions.replyTemplates === noReplyTemplates) return refusal;
  const setting = { seed: 0, now: () => 0, assumptions };
  const reply = refuse(setting, { ...exampleRequest, path }, error);
  const isSame =
    reply.body === refusal.reply.body &&
    JSON.stringify(reply.headers) === JSON.stringify(refusal.reply.headers);
  if (isSame) return refusal;
  const names = Object.keys(reply.headers ?? {}).filter((name) => name !== 'content-type');
  return {
    ...refusal,
    status: reply.status,
    schema: anyWording,
    headers: Object.fromEntries(
      names.map((name) => [
        titled(name),
        refusal.headers?.[titled(name)] ?? header('Set by `replyTemplates`.', z.string()),
      ]),
    ),
    reply: asExample(reply),
  };
}

/** The reply with a body that is JSON, as examples in the document must be. */
export function asExample(reply: ApiReply): ApiReply {
  return isJson(reply.body) ? reply : { ...reply, body: JSON.stringify(reply.body) };
}

const exampleRequest: ApiRequest = {
  method: 'GET',
  path: '/',
  query: '',
  authorization: undefined,
  contentType: undefined,
  clientIp: '192.0.2.1',
  forwardedFor: undefined,
  body: '',
};

/** `Retry-After`, as the document writes header names. */
function titled(name: string): string {
  return name.replace(
    /(^|-)([a-z])/g,
    (_, dash: string, letter: string) => dash + letter.toUpperCase(),
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
