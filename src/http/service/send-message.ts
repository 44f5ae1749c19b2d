/**
 * POST /api/v1/sms/send/, and the dashboard and external sends, which have the same input and
 * reply: reads the body once, lets `src/sim/sends/send.ts` decide, and words the decision as a
 * reply. Rules: SVC-4, SEND-1 to SEND-7. Assumes: contentType, emptyBody, replyTemplates.
 */
import { isUtf8 } from 'node:buffer';
import type { SendEndpoint } from '#contract/limits.ts';
import { malformedDetails } from '#contract/refusals.ts';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import type { ApiKey } from '../../sim/accounts/account.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import type { UndocumentedError } from '../../sim/errors.ts';
import { noReplyTemplates } from '../../sim/reply-templates.ts';
import { findValidReplay, type SendCall, type SendDecision, send } from '../../sim/sends/send.ts';
import { readSend } from '../../sim/sends/send-request.ts';
import { refuse, rewrite } from './templated-replies.ts';

const accepted = 202;
const replayed = 200;

/** A send whose body was read, or why it cannot be read. */
export type ReceivedSend = SendCall | UndocumentedError;

/** Reads the body of a send: once, for all that follows. */
export function receiveSend(
  { assumptions }: Registry,
  key: ApiKey,
  endpoint: SendEndpoint,
  request: ApiRequest,
): ReceivedSend {
  const body = readJsonBody(request, assumptions);
  if (body.kind !== 'object') return body;
  return { account: key.account, key, endpoint, fields: readSend(body.object, assumptions) };
}

/** Answers a send that has passed the throttle. */
export function sendMessage(world: Registry, call: ReceivedSend, request: ApiRequest): ApiReply {
  if (!('fields' in call)) return refuse(world, request, call);
  return replyTo(send(world, call), world, call.endpoint, request);
}

/** The reply if the request is a replay. Called before the throttle if replays spend no token. */
export function replayBeforeThrottle(
  world: Registry,
  call: ReceivedSend,
  request: ApiRequest,
): ApiReply | undefined {
  if (!('fields' in call)) return undefined;
  const replay = findValidReplay(world, call);
  return replay && replyTo(replay, world, call.endpoint, request);
}

function replyTo(
  decision: SendDecision,
  world: Registry,
  endpoint: SendEndpoint,
  request: ApiRequest,
): ApiReply {
  if (decision.kind !== 'queued' && decision.kind !== 'replayed')
    return refuse(world, request, decision);
  const reply = { status: decision.kind === 'queued' ? accepted : replayed, body: decision.body };
  if (world.assumptions.replyTemplates === noReplyTemplates) return reply;
  return rewrite(world, request, endpoint === 'send' ? 'message' : endpoint, reply, () =>
    JSON.parse(decision.body),
  );
}

type JsonBody =
  | { readonly kind: 'object'; readonly object: Readonly<Record<string, unknown>> }
  | UndocumentedError;

type MalformedJson = Extract<UndocumentedError, { kind: 'malformed_json' }>;

const jsonType = /^application\/json[ \t]*(;|$)/i;
const uncompressed = /^(identity)?$/i;

/** Reads a request's body as a JSON object, or returns why it is not one. */
export function readJsonBody(
  request: Pick<ApiRequest, 'contentType' | 'contentEncoding' | 'body'>,
  assumptions: Assumptions,
): JsonBody {
  if (assumptions.contentType === 'reject_415') {
    const { contentType = '', contentEncoding = '' } = request;
    if (!jsonType.test(contentType)) return { kind: 'unsupported_media_type' };
    if (!uncompressed.test(contentEncoding)) return { kind: 'unsupported_content_encoding' };
  }
  const text = decode(request.body);
  if (text === undefined) return malformedJson('malformed_json', 'The body is not valid UTF-8.');
  if (text === '' && assumptions.emptyBody === 'no_fields') return { kind: 'object', object: {} };
  if (text === '') return malformedJson('empty_body');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return malformedJson('malformed_json');
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return malformedJson('not_an_object');
  return { kind: 'object', object: value as Record<string, unknown> };
}

/** The body as text; undefined if its bytes are not valid UTF-8. */
function decode(body: string | Uint8Array): string | undefined {
  if (typeof body === 'string') return body;
  if (!isUtf8(body)) return undefined;
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}

function malformedJson(
  mistake: MalformedJson['mistake'],
  detail: string = malformedDetails[mistake],
): UndocumentedError {
  return { kind: 'malformed_json', detail, mistake };
}
