/**
 * The functions that make a defect from one change: to a reply, to the reading of a request, or to
 * the answer in place of the service's, such as an acceptance of a send that the service refuses.
 */
import type { EndpointName } from '#contract/limits.ts';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import type { Handled } from '#src/http/service/api.ts';
import { errorReply } from '#src/http/service/error-replies.ts';
import type { ApiKey, Device } from '#src/sim/accounts/account.ts';
import type { ServiceError } from '#src/sim/errors.ts';
import { readSend, validateSend } from '#src/sim/sends/send-request.ts';
import { messageBody } from '#src/sim/store/message-view.ts';
import type { Simulation } from '#src/simulation/simulation.ts';
import {
  type AnsweredCall,
  type Call,
  callOf,
  changed,
  type Fields,
  isMessageBody,
  objectOf,
  type SendCall,
} from './call.ts';
import type { Handler, Planted } from './planted.ts';

/** Handles requests by the function that `create` returns; called once per simulation. */
export function handling(
  create: (simulation: Simulation) => (call: Call, next: Handler) => Handled,
): Planted {
  return {
    around: (next, simulation) => {
      const handle = create(simulation);
      return (request) => handle(callOf(request, simulation), next);
    },
  };
}

/** A defect in replies: `change` returns the reply to send. */
export function replying(
  change: (exchange: AnsweredCall) => ApiReply,
  when: (exchange: AnsweredCall) => boolean = () => true,
): Planted {
  return handling(() => (call, next) => {
    const handled = next(call.request);
    const exchange = { ...call, reply: handled.reply };
    return when(exchange) ? { ...handled, reply: change(exchange) } : handled;
  });
}

export function refusing(status: number, change: (exchange: AnsweredCall) => ApiReply): Planted {
  return replying(change, ({ reply }) => reply.status === status);
}

/** Changes the Message body; `change` returns the fields that differ. */
export function describing(
  change: (fields: Fields, exchange: AnsweredCall) => Fields,
  when: (exchange: AnsweredCall) => boolean = isMessageBody,
): Planted {
  return replying((exchange) => {
    const fields = objectOf(exchange.reply.body);
    const { reply } = exchange;
    if (fields === undefined) return reply;
    return { ...reply, body: JSON.stringify({ ...fields, ...change(fields, exchange) }) };
  }, when);
}

/** A defect in the reading of requests: `change` returns what is read instead. */
export function reading(change: (call: Call) => Partial<ApiRequest> | undefined): Planted {
  return handling(() => (call, next) => next(changed(call.request, change(call))));
}

/** The number of characters before the first hyphen of a UUID. */
const firstBlock = 8;

/** At one endpoint, an id finds the caller's own object whose id begins with the same block. */
export function comparingFirstBlocks(
  endpoint: EndpointName,
  ownIds: (key: ApiKey) => readonly string[],
): Planted {
  return reading(({ request, endpoint: called, key, id }) => {
    const ids = key !== undefined && called === endpoint ? ownIds(key) : [];
    const found = ids.find((one) => one.slice(0, firstBlock) === id.slice(0, firstBlock));
    return found === undefined ? undefined : { path: request.path.replace(id, found) };
  });
}

/** Reads the fields that `change` returns in place of those of a send; `undefined` removes one. */
export function understanding(change: (fields: Fields, call: Call) => Fields): Planted {
  return reading((call) => {
    const { fields } = call;
    if (fields === undefined) return undefined;
    return { body: JSON.stringify({ ...fields, ...change(fields, call) }) };
  });
}

/** Reads a text field of a send as what `change` returns; undefined removes it. */
export function rewriting(
  field: string,
  change: (text: string, call: Call) => string | undefined,
): Planted {
  return understanding(({ [field]: text }, call) =>
    typeof text === 'string' ? { [field]: change(text, call) } : {},
  );
}

/** Answers some requests in place of the service; undefined passes a request on. */
export function answering(change: (call: Call) => ApiReply | undefined): Planted {
  return handling(() => (call, next) => {
    const reply = change(call);
    if (reply === undefined) return next(call.request);
    return { endpoint: call.endpoint, key: call.key, reply };
  });
}

/** Answers some sends of authenticated callers in place of the service. */
export function answeringSends(change: (call: SendCall) => ApiReply | undefined): Planted {
  return answering((call) => {
    const { key, fields } = call;
    return key === undefined || fields === undefined ? undefined : change({ ...call, key, fields });
  });
}

export function refusingField(field: string, isRefused: (text: string) => boolean): Planted {
  return answeringSends((call) => {
    const text = call.fields[field];
    return typeof text === 'string' && isRefused(text) ? invalid(field, call) : undefined;
  });
}

export function acceptingFrom(choose: (call: SendCall) => Device | undefined): Planted {
  return answeringSends((call) => {
    const device = choose(call);
    return device && acceptAnyway(call, device);
  });
}

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

/** A crash of the handler: the connection ends without a reply. */
export const brokenConnection: ApiReply = { status: 503, body: '', delivery: { cut: 'reset' } };

export function notFound(call: Pick<Call, 'simulation'>): ApiReply {
  return refusal({ kind: 'not_found' }, call);
}

export function invalid(field: string, call: Pick<Call, 'simulation'>): ApiReply {
  const failures = [{ field, detail: 'This field is not accepted.' }] as const;
  return refusal({ kind: 'invalid_field', failures }, call);
}
