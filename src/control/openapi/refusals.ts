/**
 * The refusals in the service's OpenAPI document. For each refusal of an endpoint, the service's
 * own code makes a real reply under the assumptions in force; that reply is the example, and its
 * schema and headers are derived from it, so they have the shape that a client gets.
 * Rules: SEND-5, READ-2, AUTH-3 to AUTH-5, ERR-1 to ERR-4. Assumes: trailingSlash,
 * methodNotAllowed, headMethod, receivedQuery, contentType, replayDifferentBody, unknownFields,
 * validationScope, errorBody, replyTemplates.
 */
import { z } from 'zod';
import type { EndpointName } from '#contract/limits.ts';
import type { ApiReply } from '#contract/request-and-reply.ts';
import { type Route, routes } from '#contract/routes.ts';
import { errorReplies, errorReply } from '../../http/service/error-replies.ts';
import { allowedMethods } from '../../http/service/other-spellings.ts';
import { readJsonBody } from '../../http/service/send-message.ts';
import { type ReplyContext, refuse, refuseUnread } from '../../http/service/templated-replies.ts';
import { transportReply } from '../../http/transport/served-port.ts';
import { defaultBodyLimitBytes, type ShapeRefusal } from '../../http/transport/transport.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import type { ServiceError } from '../../sim/errors.ts';
import { parseReceivedQuery, receivedParameters } from '../../sim/read.ts';
import { documentedFields, readSend, validateSend } from '../../sim/sends/send-request.ts';
import { endpointTexts } from './endpoint-texts.ts';
import { anyWording, exampleSendByAlias } from './reply-bodies.ts';

export interface Refusal {
  /** The name of its schema among the components. */
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodType;
  /** The real reply, shown as the example. */
  readonly reply: ApiReply;
}

/**
 * Where each kind of refusal comes from: a rule, an assumption or an option. The caller of
 * `refusalOf` describes the kinds that are absent.
 */
const sources: Readonly<Partial<Record<ServiceError['kind'], string>>> = {
  invalid_key: 'AUTH-3; the spelling is the contract',
  quota_exceeded: 'ERR-1',
  number_not_found: 'AUTH-4',
  number_access_denied: 'AUTH-5; the spelling is the contract',
  device_inactive: 'ERR-2',
  malformed_json: '`malformedJson`',
  method_not_allowed: '`methodNotAllowed`',
  request_id_conflict: '`replayDifferentBody`',
  overloaded: '`--max-messages`',
  unsupported_media_type: '`contentType`',
  unsupported_content_encoding: '`contentType`',
};

const exampleWaitSeconds = 42;
const exampleNowMs = 0;

/** Every refusal of an endpoint, including those of other methods on its path. */
export function endpointRefusals(
  endpoint: EndpointName,
  limitPerMinute: number | null,
  assumptions: Assumptions,
): Refusal[] {
  const route: Route = routes[endpoint];
  const { methodNotAllowed, headMethod } = assumptions;
  const refusal: Refuse = (error, overrides = {}) =>
    refusalOf(error, route, assumptions, overrides);
  const refusals = [refusal({ kind: 'invalid_key' })];
  if (route.method === 'POST') refusals.push(...sendRefusals(refusal, assumptions));
  if (endpoint === 'received') refusals.push(...queryRefusals(refusal, assumptions));
  const notFound = notFoundTexts(endpoint, assumptions).join('\n\n');
  if (notFound !== '') refusals.push(refusal({ kind: 'not_found' }, { description: notFound }));
  if (methodNotAllowed === '405') {
    const allow = allowedMethods(route, headMethod);
    refusals.push(refusal({ kind: 'method_not_allowed', allow }));
  }
  if (limitPerMinute !== null) refusals.push(throttleRefusal(refusal, limitPerMinute));
  return refusals;
}

/** Makes a refusal of the endpoint at hand: see `refusalOf`. */
type Refuse = (error: ServiceError, overrides?: Partial<Refusal>) => Refusal;

function sendRefusals(refusal: Refuse, assumptions: Assumptions): Refusal[] {
  const refusals = sendErrors(assumptions).map((error) => refusal(error));
  refusals.push(tooLarge(assumptions));
  const withoutPlus = { ...exampleSendByAlias, to: '2025550123' };
  const invalidSend = validateSend(readSend(withoutPlus, assumptions), assumptions, exampleNowMs);
  if (invalidSend.kind === 'invalid_field')
    refusals.push(refusal(invalidSend, invalidFieldTexts(invalidSend, assumptions)));
  return refusals;
}

function queryRefusals(refusal: Refuse, assumptions: Assumptions): Refusal[] {
  if (assumptions.receivedQuery !== 'reject') return [];
  const invalidQuery = parseReceivedQuery({ page: '0', page_size: null });
  return invalidQuery.kind === 'invalid_field'
    ? [refusal(invalidQuery, invalidParameter(invalidQuery, assumptions))]
    : [];
}

function throttleRefusal(refusal: Refuse, limitPerMinute: number): Refusal {
  const description =
    `More than ${limitPerMinute} requests per minute. The wait of \`Retry-After\`, in seconds, ` +
    'is authoritative; the body states it too (ERR-3, ERR-4).';
  const error = { kind: 'throttled', retryAfterSeconds: exampleWaitSeconds } as const;
  return refusal(error, { description });
}

/** The refusals of a send, apart from those of every endpoint and of a field. */
function sendErrors(assumptions: Assumptions): ServiceError[] {
  const { replayDifferentBody, contentType } = assumptions;
  const errors: ServiceError[] = [
    { kind: 'quota_exceeded' },
    { kind: 'number_not_found' },
    { kind: 'number_access_denied' },
    { kind: 'device_inactive' },
    { kind: 'overloaded' },
  ];
  const malformedBody = readJsonBody({ contentType: 'application/json', body: '{' }, assumptions);
  if (malformedBody.kind === 'malformed_json') errors.push(malformedBody);
  if (replayDifferentBody === 'conflict') errors.push({ kind: 'request_id_conflict' });
  if (contentType === 'reject_415')
    errors.push({ kind: 'unsupported_media_type' }, { kind: 'unsupported_content_encoding' });
  return errors;
}

/** The refusal for an error. `overrides` replace what follows from the error table. */
function refusalOf(
  error: ServiceError,
  { method, pattern: path }: Route,
  assumptions: Assumptions,
  overrides: Partial<Refusal>,
): Refusal {
  const { kind } = error;
  const { code, detail } = errorReplies[kind];
  const client = { authorization: undefined, clientIp: '192.0.2.1', forwardedFor: undefined };
  const request = { method, path, query: '', contentType: undefined, body: '', ...client };
  const untemplated = errorReply(error, assumptions);
  const reply = refuse(exampleContext(assumptions), request, error);
  const isTemplated = JSON.stringify(reply) !== JSON.stringify(untemplated);
  return {
    name: kind.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    description: overrides.description ?? `${detail.slice(0, -1)} (${sources[kind]}).`,
    schema: bodySchema(JSON.parse(untemplated.body), z.literal(code ?? '')),
    ...overrides,
    ...(isTemplated && { schema: anyWording }),
    reply,
  };
}

type Texts = Pick<Refusal, 'description' | 'schema'>;

/** Any field of a send may fail if unknown ones are rejected. */
function invalidFieldTexts(error: ServiceError, assumptions: Assumptions): Texts {
  const names = assumptions.unknownFields === 'reject' ? undefined : documentedFields;
  return failingFields(error, names, 'A field failed validation (SEND-5)', assumptions);
}

function invalidParameter(error: ServiceError, assumptions: Assumptions): Partial<Refusal> {
  const names = Object.keys(receivedParameters);
  const text = 'A parameter is not a whole number in its range';
  return { ...failingFields(error, names, text, assumptions), name: 'InvalidParameter' };
}

/** SEND-5: how a body names its failing fields. `names`: undefined if any field may fail. */
function failingFields(
  error: ServiceError,
  names: readonly string[] | undefined,
  text: string,
  assumptions: Assumptions,
): Texts {
  const isMap = assumptions.errorBody === 'field_map';
  const namesFirstOnly = assumptions.validationScope === 'first';
  const reasons = z.array(z.string()).length(1);
  const reasonsByField =
    names === undefined
      ? z.record(z.string(), reasons)
      : z.strictObject(Object.fromEntries(names.map((name) => [name, reasons.optional()])));
  const fieldMap = reasonsByField.meta({
    minProperties: 1,
    ...(namesFirstOnly && { maxProperties: 1 }),
  });
  const code = names === undefined ? z.string() : z.enum(names);
  const body: unknown = JSON.parse(errorReply(error, assumptions).body);
  const place = isMap ? 'a member' : 'the code';
  const placeOfAll = isMap ? 'one' : 'a member of `errors`';
  const everyField = ` Every failing field is ${placeOfAll} (\`validationScope\`).`;
  return {
    description: `${text}: its name is ${place}.${namesFirstOnly ? '' : everyField}`,
    schema: isMap ? fieldMap : bodySchema(body, code, fieldMap),
  };
}

/**
 * A schema of bodies with the same members as this one. The member `code` has the schema `code`,
 * the member `errors` has the schema `errors` if it is given, and all others are texts.
 */
function bodySchema(body: unknown, code: z.ZodType, errors?: z.ZodType): z.ZodType {
  if (typeof body !== 'object' || body === null) return z.string();
  const memberSchema = (name: string, value: unknown): z.ZodType => {
    if (name === 'code') return code;
    return name === 'errors' && errors ? errors : bodySchema(value, code, errors);
  };
  const members = Object.entries(body).map(
    ([name, value]) => [name, memberSchema(name, value)] as const,
  );
  return z.strictObject(Object.fromEntries(members));
}

/** A fixed world for the example replies. */
export function exampleContext(assumptions: Assumptions): ReplyContext {
  return { seed: 0, now: () => exampleNowMs, assumptions };
}

/** The transport refuses a body that is too long before any handler runs. */
function tooLarge(assumptions: Assumptions): Refusal {
  const context = exampleContext(assumptions);
  const shapeRefusal: ShapeRefusal = (...refusal) => refuseUnread(context, ...refusal);
  const reply = transportReply({ shapeRefusal }, 'tooLarge', defaultBodyLimitBytes);
  const isTemplated = assumptions.replyTemplates.error !== undefined;
  return {
    name: 'TooLarge',
    description: `The body is longer than ${defaultBodyLimitBytes} bytes.`,
    schema: isTemplated
      ? anyWording
      : bodySchema(JSON.parse(reply.body), z.literal('request_too_large')),
    reply,
  };
}

/** Every reason for a 404 of the endpoint; empty if it never answers 404. */
function notFoundTexts(endpoint: EndpointName, assumptions: Assumptions): string[] {
  const { notFound } = endpointTexts[endpoint];
  const isNeverMissing = endpoint === 'received' && assumptions.receivedQuery === 'ignore';
  const texts = notFound === undefined || isNeverMissing ? [] : [notFound];
  if (assumptions.trailingSlash === 'not_found')
    texts.push('This path without its last slash (`trailingSlash`).');
  if (assumptions.methodNotAllowed === '404')
    texts.push('Another method on this path (`methodNotAllowed`).');
  return texts;
}
