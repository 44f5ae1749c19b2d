/**
 * POST /api/v1/sms/send/, and the dashboard and external send, which take and answer the same.
 * Rules: SEND-1 to SEND-7. Assumes: dashboardSendShape, externalSendShape, replaySpends.
 */
import type { ApiKey, SendEndpoint } from '../../sim/records.ts';
import { findValidReplay, type SendDecision, send } from '../../sim/send.ts';
import type { World } from '../../sim/world.ts';
import { errorReply } from './error-replies.ts';
import { readJsonBody } from './json-body.ts';
import type { ApiReply, ApiRequest } from './messages.ts';

const accepted = 202;
const replayed = 200;

export function sendMessage(
  world: World,
  key: ApiKey,
  endpoint: SendEndpoint,
  request: ApiRequest,
): ApiReply {
  const body = readJsonBody(request, world.assumptions);
  if (body.kind !== 'object') return errorReply(body, world.assumptions);
  const call = { account: key.account, key, endpoint, body: body.object };
  return replyTo(send(world, call), world);
}

/** The reply to a replay, where replays cost nothing and are looked for before the throttle. */
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
  return replay === undefined ? undefined : replyTo(replay, world);
}

function replyTo(decision: SendDecision, world: World): ApiReply {
  switch (decision.kind) {
    case 'queued':
      return { status: accepted, body: decision.body };
    case 'replayed':
      return { status: replayed, body: decision.body };
    default:
      return errorReply(decision, world.assumptions);
  }
}
