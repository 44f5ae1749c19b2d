/**
 * The refusals that each operation of the OpenAPI document may return. The real reply to a mistake
 * is the example, and gives schema and headers: all have the shape of the assumptions in force.
 * Rules: SEND-5, READ-2, AUTH-3 to AUTH-5, ERR-1 to ERR-4. Assumes: trailingSlash,
 * methodNotAllowed, headMethod, receivedQuery, contentType, replayDifferentBody, unknownFields,
 * validationScope, errorBody, replyTemplates.
 */
import { z } from 'zod';
import { errorReplies, errorReply } from '../http/service/error-replies.ts';
import type { ApiReply } from '../http/service/messages.ts';
import { allowedMethods, type Route, routes } from '../http/service/routes.ts';
import { readJsonBody } from '../http/service/send-message.ts';
import { refuse, refuseUnread } from '../http/service/templated-replies.ts';
import { defaultBodyLimitBytes, type WordRefusal } from '../http/transport/transport.ts';
import { transportReply } from '../http/transport/transport-replies.ts';
import type { Assumptions } from '../sim/assumptions.ts';
import type { ServiceError } from '../sim/errors.ts';
import type { EndpointName } from '../sim/limits.ts';
import { readReceivedQuery, receivedParameters } from '../sim/received.ts';
import { documentedFields, validateSend } from '../sim/send-request.ts';
import { componentRef, type Json, jsonContent, schemaOf } from './json-schema.ts';
import { operations } from './operations.ts';
import { anyWording, exampleSendByAlias } from './replies.ts';

/** A refusal of one endpoint. */
export interface Refusal {
  /** The name of its schema among the components. */
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodType;
  /** The real reply, shown as the example. */
  readonly reply: ApiReply;
}

type Kind = ServiceError['kind'];

/** The rule of each kind, or the assumption that permits it; absent: an endpoint describes it. */
const sources: Readonly<Partial<Record<Kind, string>>> = {
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

/** What the document says of the headers of refusals; templates may set others. */
const headers: Readonly<Record<string, Json>> = {
  'www-authenticate': header('The required scheme.', z.literal('Bearer')),
  allow: header('The methods that this path accepts.', z.string()),
  'retry-after': header('Seconds until a request would succeed (ERR-3).', z.int().min(1)),
};

const setByTemplate = header('Set by `replyTemplates`.', z.string());

const exampleWaitSeconds = 42;

/** The endpoint's refusals, and the replies to misspelt forms of its path. */
export function refusalsOf(
  endpoint: EndpointName,
  limitPerMinute: number | null,
  assumptions: Assumptions,
): Refusal[] {
  const route: Route = routes[endpoint];
  const { receivedQuery, methodNotAllowed, headMethod } = assumptions;
  const of = (error: ServiceError, own: Partial<Refusal> = {}) =>
    refusalOf(error, route, assumptions, own);
  const refusals = [of({ kind: 'invalid_key' })];
  if (route.method === 'POST') {
    refusals.push(...sendErrors(assumptions).map((error) => of(error)), tooLarge(assumptions));
    const names = assumptions.unknownFields === 'reject' ? undefined : documentedFields;
    const wrong = validateSend({ ...exampleSendByAlias, to: '2025550123' }, assumptions, 0);
    const text = 'A field failed validation (SEND-5)';
    if (wrong.kind === 'invalid_field') {
      refusals.push(of(wrong, failingFields(wrong, names, text, assumptions)));
    }
  }
  if (endpoint === 'received' && receivedQuery === 'reject') {
    const wrong = readReceivedQuery({ page: '0', page_size: null });
    const text = 'A parameter is not a whole number in its range';
    if (wrong.kind === 'invalid_field') {
      const own = failingFields(wrong, Object.keys(receivedParameters), text, assumptions);
      refusals.push(of(wrong, { ...own, name: 'InvalidParameter' }));
    }
  }
  const missing = notFoundTexts(endpoint, assumptions).join('\n\n');
  if (missing !== '') refusals.push(of({ kind: 'not_found' }, { description: missing }));
  if (methodNotAllowed === '405') {
    refusals.push(of({ kind: 'method_not_allowed', allow: allowedMethods(route, headMethod) }));
  }
  if (limitPerMinute !== null) {
    const description =
      `More than ${limitPerMinute} requests per minute. The wait of \`Retry-After\`, in seconds, ` +
      'is authoritative; the body states it too (ERR-3, ERR-4).';
    const error = { kind: 'throttled', retryAfterSeconds: exampleWaitSeconds } as const;
    refusals.push(of(error, { description }));
  }
  return refusals;
}

function sendErrors(assumptions: Assumptions): ServiceError[] {
  const { replayDifferentBody, contentType } = assumptions;
  const errors: ServiceError[] = [
    { kind: 'quota_exceeded' },
    { kind: 'number_not_found' },
    { kind: 'number_access_denied' },
    { kind: 'device_inactive' },
    { kind: 'overloaded' },
  ];
  const noJson = readJsonBody({ contentType: 'application/json', body: '{' }, assumptions);
  if (noJson.kind === 'malformed_json') errors.push(noJson);
  if (replayDifferentBody === 'conflict') errors.push({ kind: 'request_id_conflict' });
  if (contentType === 'reject_415') {
    errors.push({ kind: 'unsupported_media_type' }, { kind: 'unsupported_content_encoding' });
  }
  return errors;
}

/** The reply to this error; `own`: what differs from the table. */
function refusalOf(
  error: ServiceError,
  { method, pattern: path }: Route,
  assumptions: Assumptions,
  own: Partial<Refusal>,
): Refusal {
  const { kind } = error;
  const { code, detail } = errorReplies[kind];
  const client = { authorization: undefined, clientIp: '192.0.2.1', forwardedFor: undefined };
  const request = { method, path, query: '', contentType: undefined, body: '', ...client };
  const plain = errorReply(error, assumptions);
  const reply = refuse({ seed: 0, now: () => 0, assumptions }, request, error);
  return {
    name: kind.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    description: `${detail.slice(0, -1)} (${sources[kind]}).`,
    schema: likeReply(JSON.parse(plain.body), z.literal(code ?? '')),
    ...own,
    ...(JSON.stringify(reply) !== JSON.stringify(plain) && { schema: anyWording }),
    reply,
  };
}

/** SEND-5: how a body names its failing fields. `names`: undefined if any field may fail. */
function failingFields(
  mistake: ServiceError,
  names: readonly string[] | undefined,
  text: string,
  assumptions: Assumptions,
): Pick<Refusal, 'description' | 'schema'> {
  const isMap = assumptions.errorBody === 'field_map';
  const isFirst = assumptions.validationScope === 'first';
  const reasons = z.array(z.string()).length(1);
  const map = (
    names === undefined
      ? z.record(z.string(), reasons)
      : z.strictObject(Object.fromEntries(names.map((name) => [name, reasons.optional()])))
  ).meta({ minProperties: 1, ...(isFirst && { maxProperties: 1 }) });
  const code = names === undefined ? z.string() : z.enum(names);
  const body: unknown = JSON.parse(errorReply(mistake, assumptions).body);
  const all = ` Every failing field is ${isMap ? 'one' : 'a member of `errors`'} (\`validationScope\`).`;
  return {
    description: `${text}: its name is ${isMap ? 'a member' : 'the code'}.${isFirst ? '' : all}`,
    schema: isMap ? map : likeReply(body, code, map),
  };
}

/** The schema of bodies like this one: the same members, texts but for the code and the fields. */
function likeReply(body: unknown, code: z.ZodType, fields?: z.ZodType): z.ZodType {
  if (typeof body !== 'object' || body === null) return z.string();
  const schemaOf = (name: string, value: unknown): z.ZodType => {
    if (name === 'code') return code;
    return name === 'errors' && fields ? fields : likeReply(value, code, fields);
  };
  const members = Object.entries(body).map(
    ([name, value]) => [name, schemaOf(name, value)] as const,
  );
  return z.strictObject(Object.fromEntries(members));
}

/** The transport sends this reply before any handler runs. */
function tooLarge(assumptions: Assumptions): Refusal {
  const setting = { seed: 0, now: () => 0, assumptions };
  const wordRefusal: WordRefusal = (...refusal) => refuseUnread(setting, ...refusal);
  const serve = { service: (): ApiReply => reply, wordRefusal };
  const reply = transportReply(serve, 'tooLarge', defaultBodyLimitBytes);
  const isWorded = assumptions.replyTemplates.error !== undefined;
  return {
    name: 'TooLarge',
    description: `The body is longer than ${defaultBodyLimitBytes} bytes.`,
    schema: isWorded
      ? anyWording
      : likeReply(JSON.parse(reply.body), z.literal('request_too_large')),
    reply,
  };
}

function notFoundTexts(endpoint: EndpointName, assumptions: Assumptions): string[] {
  const { notFound } = operations[endpoint];
  const isNeverMissing = endpoint === 'received' && assumptions.receivedQuery === 'ignore';
  const texts = notFound === undefined || isNeverMissing ? [] : [notFound];
  if (assumptions.trailingSlash === 'not_found') {
    texts.push('This path without its last slash (`trailingSlash`).');
  }
  if (assumptions.methodNotAllowed === '404') {
    texts.push('Another method on this path (`methodNotAllowed`).');
  }
  return texts;
}

/** One response per status, in order; refusals with the same status differ by their body. */
export function refusalResponses(refusals: readonly Refusal[]): Record<string, Json> {
  const responses: Record<string, Json> = {};
  for (const status of [...new Set(refusals.map(({ reply }) => reply.status))].sort()) {
    const those = refusals.filter(({ reply }) => reply.status === status);
    const refs = those.map(({ name }) => componentRef(name));
    const sent = new Set(those.flatMap(({ reply }) => Object.keys(reply.headers ?? {})));
    sent.delete('content-type');
    responses[status] = {
      description: those.map(({ description }) => description).join('\n\n'),
      ...(sent.size > 0 && {
        headers: Object.fromEntries(
          [...sent].map((name) => [
            name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase()),
            headers[name] ?? setByTemplate,
          ]),
        ),
      }),
      ...jsonContent(refs.length === 1 ? (refs[0] as Json) : { anyOf: refs }, {
        examples: Object.fromEntries(
          those.map(({ name, reply }) => [name, { value: exampleOf(reply) }]),
        ),
      }),
    };
  }
  return responses;
}

/** The body as JSON; a template may make it a text that is none. */
function exampleOf({ body }: ApiReply): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

export function redirectResponse({ pattern }: Route): Json {
  return {
    301: {
      description: 'This path without its last slash (`trailingSlash`).',
      headers: { Location: header(`\`${pattern}\`, with the query.`, z.string()) },
      ...jsonContent(schemaOf(z.strictObject({}), 'output')),
    },
  };
}

function header(description: string, schema: z.ZodType): Json {
  return { description, required: true, schema: schemaOf(schema, 'output') };
}
