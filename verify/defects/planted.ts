/**
 * How a defect, a planted mistake of the service, is put into a simulation: it replaces classes of
 * the simulation or wraps its request handling. The simulator itself knows nothing about defects.
 * The rows of the catalogue are made of the functions below, such as `replying` and `refusing`.
 */
import type { Settings } from '../../src/config/settings.ts';
import { authenticate, type Handled } from '../../src/http/service/api.ts';
import { errorReply } from '../../src/http/service/error-replies.ts';
import type { ApiReply, ApiRequest } from '../../src/http/service/messages.ts';
import { matchRoute } from '../../src/http/service/routes.ts';
import type { ServiceError } from '../../src/sim/errors.ts';
import type { EndpointName } from '../../src/sim/limits.ts';
import { messageBody } from '../../src/sim/message.ts';
import type { ApiKey, Device, Message } from '../../src/sim/records.ts';
import { validateSend } from '../../src/sim/send-request.ts';
import { type Parts, Simulation } from '../../src/simulation/simulation.ts';

/** Handles a request. */
export type Handler = (request: ApiRequest) => Handled;

/** What a defect changes in a simulation. */
export interface Planted {
  /** Classes that replace those of the simulation. */
  readonly parts?: Partial<Parts>;
  /** Wraps the request handler; called once per simulation, so again after a reset. */
  readonly around?: (next: Handler, simulation: Simulation) => Handler;
}

/** A simulation with a defect. */
export class WrongSimulation extends Simulation {
  readonly #handle: Handler;

  constructor(settings: Settings, startMs: number, { parts = {}, around }: Planted) {
    super(settings, startMs, parts);
    const sound: Handler = (request) => super.handle(request);
    this.#handle = around === undefined ? sound : around(sound, this);
  }

  override handle(request: ApiRequest): Handled {
    return this.#handle(request);
  }
}

/** What the catalogue says about a defect. */
export interface Defect {
  readonly name: string;
  /** The rule that the defect breaks. */
  readonly rule: string;
  /** What a server with the defect does. */
  readonly does: string;
  /** Why a black-box test with flags, two minutes and polls of a second cannot detect it. */
  readonly unseen?: string;
}

export interface DefectRow {
  readonly defect: Defect;
  readonly planted: Planted;
}

/** Makes rows of defects that break one rule. */
export function breaking(
  rule: string,
  rows: Readonly<Record<string, readonly [does: string, planted: Planted, unseen?: string]>>,
): DefectRow[] {
  return Object.entries(rows).map(([name, [does, planted, unseen]]) => {
    return { defect: { name, rule, does, ...(unseen !== undefined && { unseen }) }, planted };
  });
}

export type Fields = Readonly<Record<string, unknown>>;

/** One request, with what a defect may need to know about it. */
export interface Call {
  readonly request: ApiRequest;
  readonly simulation: Simulation;
  readonly endpoint: EndpointName | undefined;
  /** The variable part of the path. */
  readonly id: string;
  /** The caller's key; undefined if it is not valid. */
  readonly key: ApiKey | undefined;
  /** The JSON object of a send. */
  readonly fields: Fields | undefined;
  /** The sender number as the caller named it. */
  readonly sender: unknown;
  /** The SIM with that number, of any account. */
  readonly device: Device | undefined;
  /** The message that is read, of any account. */
  readonly message: Message | undefined;
}

/** A call with the service's correct reply. */
export interface Exchange extends Call {
  readonly reply: ApiReply;
}

/** What is known about a request before it is handled. */
export function callOf(request: ApiRequest, simulation: Simulation): Call {
  const { world } = simulation;
  const match = matchRoute(request.path);
  const endpoint = match?.route.endpoint;
  const id = match?.id ?? '';
  const fields = isSend(request) ? objectOf(textOf(request)) : undefined;
  const sender = fields?.['from'] ?? fields?.['from_number'];
  return {
    request,
    simulation,
    endpoint,
    id,
    key: authenticate(world, request.authorization),
    fields,
    sender,
    device: typeof sender === 'string' ? world.deviceByNumber(sender) : undefined,
    message: endpoint === 'read' ? world.messages.get(id) : undefined,
  };
}

export function isSend({ method, path }: ApiRequest): boolean {
  return method === 'POST' && (matchRoute(path)?.route.endpoint.endsWith('send') ?? false);
}

export function textOf({ body }: ApiRequest): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
}

/** The JSON object in a text; undefined for any other text. */
export function objectOf(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A copy of the request with some fields replaced. Names each field, because a spread would lose
 * those that are getters.
 */
export function changed(request: ApiRequest, fields: Partial<ApiRequest> = {}): ApiRequest {
  const { method, path, query, host, authorization, contentType } = request;
  const { contentEncoding, clientIp, forwardedFor, body } = request;
  const head = { method, path, query, host, authorization, contentType, contentEncoding };
  return { ...head, clientIp, forwardedFor, body, ...fields };
}

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
  change: (exchange: Exchange) => ApiReply,
  when: (exchange: Exchange) => boolean = () => true,
): Planted {
  return handling(() => (call, next) => {
    const handled = next(call.request);
    const exchange = { ...call, reply: handled.reply };
    return when(exchange) ? { ...handled, reply: change(exchange) } : handled;
  });
}

/** Replaces replies with this status by the result of `change`. */
export function refusing(status: number, change: (exchange: Exchange) => ApiReply): Planted {
  return replying(change, ({ reply }) => reply.status === status);
}

/** Changes the Message body; `change` returns the fields that differ. */
export function describing(
  change: (fields: Fields, exchange: Exchange) => Fields,
  when: (exchange: Exchange) => boolean = isMessageBody,
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

/** One endpoint takes an id for the caller's own one that begins with the same block. */
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

/** Reads these fields of a send in place of the given ones; `undefined` removes one. */
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
    return { endpoint: call.endpoint, key: undefined, reply };
  });
}

/** A send by an authenticated caller. */
export interface Sending extends Call {
  readonly key: ApiKey;
  readonly fields: Fields;
}

/** Answers some sends of authenticated callers in place of the service. */
export function answeringSends(change: (call: Sending) => ApiReply | undefined): Planted {
  return answering((call) => {
    const { key, fields } = call;
    return key === undefined || fields === undefined ? undefined : change({ ...call, key, fields });
  });
}

/** Accepts a send from the SIM that `choose` returns, if any. */
export function acceptingFrom(choose: (call: Sending) => Device | undefined): Planted {
  return answeringSends((call) => {
    const device = choose(call);
    return device && acceptAnyway(call, device);
  });
}

/** Accepts a send from the given SIM although the service refuses it. */
export function acceptAnyway(
  { key, fields, simulation: { world } }: Pick<Sending, 'key' | 'fields' | 'simulation'>,
  device: Device,
): ApiReply | undefined {
  const from = device.number;
  const validation = validateSend({ ...fields, from }, world.assumptions, world.now());
  if (validation.kind !== 'valid') return undefined;
  const { to, message: text, requestId, sendAtMs } = validation.request;
  const { account } = key;
  const send = { account, key, device, endpoint: 'send', to, text, requestId, sendAtMs } as const;
  const message = world.acceptMessage(send);
  return message && { status: 202, body: messageBody(message, 'queued') };
}

/** The reply refuses, but the message is queued. */
export function queueDespiteRefusal({
  reply,
  key,
  fields,
  device,
  simulation,
}: Exchange): ApiReply {
  if (key !== undefined && fields !== undefined && device !== undefined) {
    acceptAnyway({ key, fields, simulation }, device);
  }
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

export function isRead({ endpoint, reply }: Exchange): boolean {
  return endpoint === 'read' && reply.status === 200;
}

export function isReplay({ request, reply }: Exchange): boolean {
  return isSend(request) && reply.status === 200;
}

export function isAccepted({ request, reply }: Exchange): boolean {
  return isSend(request) && reply.status === 202;
}

function isMessageBody(exchange: Exchange): boolean {
  return isRead(exchange) || isReplay(exchange) || isAccepted(exchange);
}

/** The message that a reply describes. */
export function messageOf({ reply, simulation }: Exchange): Message | undefined {
  return simulation.world.messages.get(String(objectOf(reply.body)?.['message_id']));
}

/** Reasons why a black-box test cannot see a defect (`Defect.unseen`). */
export const because = {
  aDay: 'it shows a day later at the earliest',
  reportedLater:
    'a device may report later what it was handed (taskPickup), and does so at its next poll',
  aMonth: 'it shows when the next month of the quota has begun',
  aChange: 'a SIM would have to be switched off, or withdrawn, during the run',
  aQuota: 'it needs an account whose remaining quota is small and known',
  anotherSim: 'it needs two working SIMs of one account, and the flags name one',
  noSim: 'it needs an account without a connected SIM, which no flag names',
} as const;
