/**
 * Replies that a defect gives in place of the service's own: an acceptance of a send that the
 * service refuses, and refusals as the service words them.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import { errorReply } from '#src/http/service/error-replies.ts';
import type { Device } from '#src/sim/accounts/account.ts';
import type { ServiceError } from '#src/sim/errors.ts';
import { readSend, validateSend } from '#src/sim/sends/send-request.ts';
import { messageBody } from '#src/sim/store/message-view.ts';
import type { AnsweredCall, Call, SendCall } from './call.ts';

/** Accepts a send from the given SIM although the service refuses it. */
export function acceptAnyway(
  { key, fields, simulation: { world } }: Pick<SendCall, 'key' | 'fields' | 'simulation'>,
  device: Device,
): ApiReply | undefined {
  const from = device.number;
  const { assumptions } = world;
  const read = readSend({ ...fields, from }, assumptions);
  const validation = validateSend(read, assumptions, world.now());
  if (validation.kind !== 'valid') return undefined;
  const { to, message: text, requestId, sendAtMs } = validation.request;
  const { account } = key;
  const send = { account, key, device, endpoint: 'send', to, text, requestId, sendAtMs } as const;
  const message = world.acceptMessage(send);
  return message && { status: 202, body: messageBody(message, 'queued') };
}

/** The reply refuses, but the message is queued. */
export function queueDespiteRefusal(exchange: AnsweredCall): ApiReply {
  const { reply, key, fields, device, simulation } = exchange;
  if (key !== undefined && fields !== undefined && device !== undefined)
    acceptAnyway({ key, fields, simulation }, device);
  return reply;
}

/** The service's own reply to an error. */
export function refusal(error: ServiceError, { simulation }: Pick<Call, 'simulation'>): ApiReply {
  return errorReply(error, simulation.world.assumptions);
}

export function notFound(call: Pick<Call, 'simulation'>): ApiReply {
  return refusal({ kind: 'not_found' }, call);
}

export function invalid(field: string, call: Pick<Call, 'simulation'>): ApiReply {
  const failures = [{ field, detail: 'This field is not accepted.' }] as const;
  return refusal({ kind: 'invalid_field', failures }, call);
}
