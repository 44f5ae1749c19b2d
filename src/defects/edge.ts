/**
 * Helpers of the defects that inspect or rewrite requests and replies.
 */
import { authenticate } from '../http/service/authenticate.ts';
import { errorReply } from '../http/service/error-replies.ts';
import type { ApiReply, ApiRequest } from '../http/service/messages.ts';
import { matchRoute } from '../http/service/routes.ts';
import type { ServiceError } from '../sim/errors.ts';
import { messageBody } from '../sim/message.ts';
import type { ApiKey, Device, Message } from '../sim/records.ts';
import { validateSend } from '../sim/send-request.ts';
import type { Simulation } from '../simulation/simulation.ts';
import { type Exchange, endpointOf, type Planted, replying } from './planted.ts';

export type Fields = Readonly<Record<string, unknown>>;

export function isSend(request: ApiRequest): boolean {
  return request.method === 'POST' && (endpointOf(request)?.endsWith('send') ?? false);
}

/** The body as a JSON object, if it is one. */
export function fieldsOf({ body }: ApiRequest): Fields | undefined {
  return objectOf(typeof body === 'string' ? body : Buffer.from(body).toString('utf8'));
}

export function objectOf(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces the given fields of the request; `undefined` removes one. */
export function withFields(request: ApiRequest, fields: Fields): ApiRequest {
  return { ...request, body: JSON.stringify({ ...fieldsOf(request), ...fields }) };
}

/** The sender number as the caller named it. */
export function senderOf(request: ApiRequest): unknown {
  const fields = fieldsOf(request);
  return fields?.['from'] ?? fields?.['from_number'];
}

export function callerOf(request: ApiRequest, { world }: Simulation): ApiKey | undefined {
  return authenticate(world, request.authorization);
}

/** The SIM that sends, of any account. */
export function namedDevice(request: ApiRequest, { world }: Simulation): Device | undefined {
  const sender = senderOf(request);
  return typeof sender === 'string' ? world.deviceByNumber(sender) : undefined;
}

/** The prefix of the limiter's buckets for client IPs (`http/service/api.ts`). */
export const addressMark = 'ip ';

export function addressOf({ clientIp }: ApiRequest): string {
  return addressMark + clientIp;
}

/** The message that is read, of any account. */
export function namedMessage(request: ApiRequest, { world }: Simulation): Message | undefined {
  const match = matchRoute(request.path);
  return match?.route.endpoint === 'read' ? world.messages.get(match.id) : undefined;
}

export function refusal(error: ServiceError, { world }: Simulation): ApiReply {
  return errorReply(error, world.assumptions);
}

export function invalid(field: string, simulation: Simulation): ApiReply {
  const failures = [{ field, detail: 'This field is not accepted.' }] as const;
  return refusal({ kind: 'invalid_field', failures }, simulation);
}

export function isMessageBody({ endpoint, reply }: Exchange): boolean {
  if (endpoint === 'read') return reply.status === 200;
  return isSendReply(endpoint) && (reply.status === 202 || reply.status === 200);
}

function isSendReply(endpoint: Exchange['endpoint']): boolean {
  return endpoint === 'send' || endpoint === 'dashboard_send' || endpoint === 'external_send';
}

export function isReplay({ endpoint, reply }: Exchange): boolean {
  return isSendReply(endpoint) && reply.status === 200;
}

export function isAccepted({ endpoint, reply }: Exchange): boolean {
  return isSendReply(endpoint) && reply.status === 202;
}

/** The message that a reply describes. */
export function messageOf({ reply, simulation }: Exchange): Message | undefined {
  return simulation.world.messages.get(String(objectOf(reply.body)?.['message_id']));
}

/** Changes the Message body; `change` returns the fields that differ. */
export function describing(
  change: (fields: Fields, exchange: Exchange) => Fields,
  when: (exchange: Exchange) => boolean = isMessageBody,
): Planted {
  return replying((exchange) => {
    const { reply } = exchange;
    const fields = when(exchange) ? objectOf(reply.body) : undefined;
    if (fields === undefined) return reply;
    return { ...reply, body: JSON.stringify({ ...fields, ...change(fields, exchange) }) };
  });
}

/** Replaces refusals with this status by the result of `change`. */
export function refusing(status: number, change: (exchange: Exchange) => ApiReply): Planted {
  return replying((exchange) => {
    return exchange.reply.status === status ? change(exchange) : exchange.reply;
  });
}

/** Accepts a send from the given SIM although the service refuses it. */
export function acceptAnyway(
  request: ApiRequest,
  key: ApiKey,
  device: Device,
  { world }: Simulation,
): ApiReply | undefined {
  const fields = { ...fieldsOf(request), from: device.number };
  const validation = validateSend(fields, world.assumptions, world.now());
  if (validation.kind !== 'valid') return undefined;
  const { to, message: text, requestId, sendAtMs } = validation.request;
  const { account } = key;
  const send = { account, key, device, endpoint: 'send', to, text, requestId, sendAtMs } as const;
  const message = world.acceptMessage(send);
  return message && { status: 202, body: messageBody(message, 'queued') };
}
