/**
 * A request as a defect sees it: with the caller's key, the fields of a send, and the SIM and the
 * message that they name; later with the service's reply.
 */
import type { EndpointName } from '#contract/limits.ts';
import { type ApiReply, type ApiRequest, isObject } from '#contract/request-and-reply.ts';
import { matchRoute } from '#contract/routes.ts';
import { authenticate } from '#src/http/service/api.ts';
import type { ApiKey, Device, Message } from '#src/sim/accounts/account.ts';
import type { Simulation } from '#src/simulation/simulation.ts';
import { parseJson } from '../testkit/parse-json.ts';

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
export interface AnsweredCall extends Call {
  readonly reply: ApiReply;
}

/** A send by an authenticated caller, whose body is a JSON object. */
export interface SendCall extends Call {
  readonly key: ApiKey;
  readonly fields: Fields;
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

export function objectOf(text: string): Fields | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
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

export function isRead({ endpoint, reply }: AnsweredCall): boolean {
  return endpoint === 'read' && reply.status === 200;
}

export function isReplay({ request, reply }: AnsweredCall): boolean {
  return isSend(request) && reply.status === 200;
}

export function isAccepted({ request, reply }: AnsweredCall): boolean {
  return isSend(request) && reply.status === 202;
}

export function isMessageBody(exchange: AnsweredCall): boolean {
  return isRead(exchange) || isReplay(exchange) || isAccepted(exchange);
}

export function messageOf({ reply, simulation }: AnsweredCall): Message | undefined {
  return simulation.world.messages.get(String(objectOf(reply.body)?.['message_id']));
}
