/**
 * POST /api/v1/sms/send/, and the dashboard and external sends, which have the same input and
 * reply.
 * Rules: SEND-1 to SEND-7. Assumes: replaySpends, replyTemplates.
 */
import type { ApiKey } from '../../sim/records.ts';
import { noReplyTemplates } from '../../sim/reply-templates.ts';
import { findValidReplay, type SendDecision, send } from '../../sim/send.ts';
import type { SendEndpoint } from '../../sim/stored-message.ts';
import type { World } from '../../sim/world.ts';
import { readJsonBody } from './json-body.ts';
import type { ApiReply, ApiRequest } from './messages.ts';
import { refuse, reword } from './templated-replies.ts';

const accepted = 202;
const replayed = 200;

export function sendMessage(
  world: World,
  key: ApiKey,
  endpoint: SendEndpoint,
  request: ApiRequest,
): ApiReply {
  const body = readJsonBody(request, world.assumptions);
  if (body.kind !== 'object') return refuse(world, request, body);
  const call = { account: key.account, key, endpoint, body: body.object };
  return replyTo(send(world, call), world, endpoint, request);
}

/** The reply to a replay, if replays are free and therefore looked up before the throttle. */
export function replayBeforeThrottle(
  world: World,
  key: ApiKey,
  endpoint: SendEndpoint,
  request: ApiRequest,
): ApiReply | undefined {
  const body = readJsonBody(request, world.assumptions);
  if (body.kind !== 'object') return undefined;
  const call = { account: key.account, key, endpoint, body: body.object };
  const replay = findValidReplay(world, call);
  return replay === undefined ? undefined : replyTo(replay, world, endpoint, request);
}

function replyTo(
  decision: SendDecision,
  world: World,
  endpoint: SendEndpoint,
  request: ApiRequest,
): ApiReply {
  if (decision.kind !== 'queued' && decision.kind !== 'replayed') {
    return refuse(world, request, decision);
  }
  const reply = { status: decision.kind === 'queued' ? accepted : replayed, body: decision.body };
  if (world.assumptions.replyTemplates === noReplyTemplates) return reply;
  return reword(world, request, endpoint === 'send' ? 'message' : endpoint, reply, () =>
    JSON.parse(decision.body),
  );
}
