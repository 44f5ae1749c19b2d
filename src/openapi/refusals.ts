/**
 * The refusals that each operation of the OpenAPI document may return. The real reply to a mistake
 * is the example, and gives the schema: both have the shape of the assumptions in force.
 * Rules: SEND-5, READ-2, AUTH-3 to AUTH-5, ERR-1 to ERR-4. Assumes: trailingSlash,
 * methodNotAllowed, headMethod, receivedQuery, contentType, replayDifferentBody, unknownFields,
 * validationScope, errorBody, replyTemplates.
 */
import { z } from 'zod';
import { errorReplies, errorReply } from '../http/service/error-replies.ts';
import type { ApiReply, ApiRequest } from '../http/service/messages.ts';
import { allowedMethods, type Route, routes } from '../http/service/routes.ts';
import { readJsonBody } from '../http/service/send-message.ts';
import { refuse, refuseUnread } from '../http/service/templated-replies.ts';
import { defaultBodyLimitBytes, type WordRefusal } from '../http/transport/transport.ts';
import { transportReplies } from '../http/transport/transport-replies.ts';
import type { Assumptions } from '../sim/assumptions.ts';
import type { ServiceError } from '../sim/errors.ts';
import type { EndpointName } from '../sim/limits.ts';
import { readReceivedQuery, receivedParameters } from '../sim/received.ts';
import { noReplyTemplates } from '../sim/reply-templates.ts';
import { documentedFields, validateSend } from '../sim/send-request.ts';
import { exampleSendByAlias } from './examples.ts';
import { componentRef, type Json, jsonContent, schemaOf } from './json-schema.ts';
import { operations } from './operations.ts';
import { anyWording } from './replies.ts';

/** A refusal of one endpoint. */
export interface Refusal {
  /** The name of its schema among the components. */
  readonly name: string;
  readonly status: number;
  readonly description: string;
  readonly schema: z.ZodType;
  readonly headers?: Readonly<Record<string, Json>>;
  /** The real reply, shown as the example. */
  readonly reply: ApiReply;
}

type Kind = ServiceError['kind'];

/** What the document says of a kind, unless an endpoint has words of its own. */
const texts: Readonly<Record<Exclude<Kind, 'invalid_field' | 'not_found' | 'throttled'>, string>> =
  {
    invalid_key: 'The API key is missing, wrong or revoked (AUTH-3; the spelling is the contract).',
    quota_exceeded: 'The monthly SMS limit of the plan is reached (ERR-1).',
    number_not_found: 'No SIM of the account has the sender number (AUTH-4).',
    number_access_denied:
      'The number exists, but the account may not send from it (AUTH-5; the spelling is the ' +
      'contract).',
    device_inactive: 'The SIM behind the sender number is deactivated (ERR-2).',
    malformed_json: 'The body is not a JSON object (`malformedJson`).',
    method_not_allowed: 'Another method on this path (`methodNotAllowed`).',
    request_id_conflict:
      'The `request_id` was used within 24 hours for another message (`replayDifferentBody`).',
    overloaded:
      'The service holds as many messages as `--max-messages` allows, and could forget no more, as ' +
      'the others are not final yet.',
    unsupported_media_type: 'The body is not declared as `application/json` (`contentType`).',
    unsupported_content_encoding:
      'The body has a `Content-Encoding` such as `gzip` (`contentType`).',
  };

const headersOf: Partial<Record<Kind, Readonly<Record<string, Json>>>> = {
  invalid_key: { 'WWW-Authenticate': header('The required scheme.', z.literal('Bearer')) },
  method_not_allowed: { Allow: header('The methods that this path accepts.', z.string()) },
  throttled: {
    'Retry-After': header('Seconds until a request would succeed (ERR-3).', z.int().min(1)),
  },
};

const exampleWaitSeconds = 42;

/** The endpoint's refusals, and the replies to misspelt forms of its path. */
export function refusalsOf(
  endpoint: EndpointName,
  limitPerMinute: number | null,
  assumptions: Assumptions,
): Refusal[] {
  const route: Route = routes[endpoint];
  const { receivedQuery, methodNotAllowed, headMethod } = assumptions;
  const refusals = [refusalOf({ kind: 'invalid_key' }, assumptions)];
  if (route.method === 'POST') refusals.push(...sendRefusals(assumptions));
  if (endpoint === 'received' && receivedQuery === 'reject') {
    refusals.push(
      ...invalidField('InvalidParameter', readReceivedQuery(wrongPage), assumptions, {
        names: Object.keys(receivedParameters),
        text: 'A parameter is not a whole number in its range',
      }),
    );
  }
  const missing = notFoundTexts(endpoint, assumptions).join('\n\n');
  if (missing !== '') {
    const own = { description: missing };
    refusals.push(refusalOf({ kind: 'not_found' }, assumptions, own, route.pattern));
  }
  if (methodNotAllowed === '405') {
    const allow = allowedMethods(route, headMethod);
    refusals.push(refusalOf({ kind: 'method_not_allowed', allow }, assumptions));
  }
  if (limitPerMinute !== null) {
    const detail = 'States the wait in seconds, the same number as the header.';
    refusals.push(
      refusalOf({ kind: 'throttled', retryAfterSeconds: exampleWaitSeconds }, assumptions, {
        description:
          `More than ${limitPerMinute} requests per minute. The wait of \`Retry-After\` ` +
          'is authoritative (ERR-3, ERR-4).',
        schema: z.strictObject({ detail: z.string().describe(detail) }),
      }),
    );
  }
  return refusals;
}

const wrongPage = { page: '0', page_size: null };

function sendRefusals(assumptions: Assumptions): Refusal[] {
  const { replayDifferentBody, contentType, unknownFields } = assumptions;
  const noJson = readJsonBody({ contentType: 'application/json', body: '{' }, assumptions);
  const wrongSend = validateSend({ ...exampleSendByAlias, to: '2025550123' }, assumptions, 0);
  const plain = (...errors: ServiceError[]) => errors.map((error) => refusalOf(error, assumptions));
  return [
    ...plain({ kind: 'quota_exceeded' }, { kind: 'number_not_found' }),
    ...plain({ kind: 'number_access_denied' }, { kind: 'device_inactive' }, { kind: 'overloaded' }),
    tooLarge(assumptions),
    ...invalidField('InvalidField', wrongSend, assumptions, {
      names: unknownFields === 'reject' ? undefined : documentedFields,
      text: 'A field failed validation',
      rule: ' (SEND-5)',
    }),
    ...(noJson.kind === 'malformed_json' ? plain(noJson) : []),
    ...(replayDifferentBody === 'conflict' ? plain({ kind: 'request_id_conflict' }) : []),
    ...(contentType === 'reject_415'
      ? plain({ kind: 'unsupported_media_type' }, { kind: 'unsupported_content_encoding' })
      : []),
  ];
}

/** The reply to this error; `own`: what differs from the table. `path`: of a template's endpoint. */
function refusalOf(
  error: ServiceError,
  assumptions: Assumptions,
  own: Partial<Refusal> = {},
  path = '/',
): Refusal {
  const { kind } = error;
  const reply = errorReply(error, assumptions);
  const headers = headersOf[kind];
  const refusal: Refusal = {
    name: pascal(kind),
    status: reply.status,
    description: kind in texts ? texts[kind as keyof typeof texts] : '',
    schema: likeReply(JSON.parse(reply.body), z.literal(errorReplies[kind].code ?? '')),
    reply,
    ...(headers !== undefined && { headers }),
    ...own,
  };
  return worded(refusal, error, assumptions, path);
}

/** SEND-5: the body names the failing field. `mistake` is a real one, for the example. */
function invalidField(
  name: string,
  mistake: ReturnType<typeof readReceivedQuery | typeof validateSend>,
  assumptions: Assumptions,
  { names, text, rule = '' }: { names: readonly string[] | undefined; text: string; rule?: string },
): Refusal[] {
  if (mistake.kind !== 'invalid_field') return [];
  const { errorBody, validationScope } = assumptions;
  const isMap = errorBody === 'field_map';
  const isFirst = validationScope === 'first';
  const all = ` Every failing field is ${isMap ? 'one' : 'a member of `errors`'} (\`validationScope\`).`;
  const map = fieldMap(names);
  const code = names === undefined ? z.string() : z.enum(names);
  const { body } = errorReply(mistake, assumptions);
  const shownMap = isFirst ? map.meta({ minProperties: 1, maxProperties: 1 }) : map;
  return [
    refusalOf(mistake, assumptions, {
      name,
      description: `${text}: its name is ${isMap ? 'a member' : 'the code'}${rule}.${isFirst ? '' : all}`,
      schema: isMap ? shownMap : likeReply(JSON.parse(body), code, map),
    }),
  ];
}

/** The failing fields, each with one reason. */
function fieldMap(names: readonly string[] | undefined): z.ZodType {
  const reasons = z.array(z.string()).length(1);
  const map =
    names === undefined
      ? z.record(z.string(), reasons)
      : z.strictObject(Object.fromEntries(names.map((name) => [name, reasons.optional()])));
  return map.meta({ minProperties: 1 });
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
  const { tooLarge: reply } = transportReplies(serve, defaultBodyLimitBytes)();
  const hasTemplate = assumptions.replyTemplates.error !== undefined;
  return {
    name: 'TooLarge',
    status: reply.status,
    description: `The body is longer than ${defaultBodyLimitBytes} bytes.`,
    schema: hasTemplate
      ? anyWording
      : likeReply(JSON.parse(reply.body), z.literal('request_too_large')),
    reply: asExample(reply),
  };
}

const exampleRequest: ApiRequest = {
  method: 'GET',
  path: '/',
  query: '',
  authorization: undefined,
  contentType: undefined,
  clientIp: '192.0.2.1',
  forwardedFor: undefined,
  body: '',
};

/** The refusal as it is sent; unchanged if no template words it. */
function worded(
  refusal: Refusal,
  error: ServiceError,
  assumptions: Assumptions,
  path: string,
): Refusal {
  if (assumptions.replyTemplates === noReplyTemplates) return refusal;
  const setting = { seed: 0, now: () => 0, assumptions };
  const reply = refuse(setting, { ...exampleRequest, path }, error);
  const isSame =
    reply.body === refusal.reply.body &&
    JSON.stringify(reply.headers) === JSON.stringify(refusal.reply.headers);
  if (isSame) return refusal;
  const names = Object.keys(reply.headers ?? {}).filter((name) => name !== 'content-type');
  const written = names.map((name) => name.replace(/(?<=^|-)[a-z]/g, (one) => one.toUpperCase()));
  const others = header('Set by `replyTemplates`.', z.string());
  return {
    ...refusal,
    status: reply.status,
    schema: anyWording,
    headers: Object.fromEntries(
      written.map((name) => [name, refusal.headers?.[name] ?? others] as const),
    ),
    reply: asExample(reply),
  };
}

/** The reply with a body that is JSON, as examples in the document must be. */
function asExample(reply: ApiReply): ApiReply {
  try {
    JSON.parse(reply.body);
    return reply;
  } catch {
    return { ...reply, body: JSON.stringify(reply.body) };
  }
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
  for (const status of [...new Set(refusals.map((refusal) => refusal.status))].sort()) {
    const those = refusals.filter((refusal) => refusal.status === status);
    const refs = those.map(({ name }) => componentRef(name));
    const headers: Json = Object.assign({}, ...those.map((refusal) => refusal.headers));
    responses[status] = {
      description: those.map(({ description }) => description).join('\n\n'),
      ...(Object.keys(headers).length > 0 && { headers }),
      content: {
        'application/json': {
          schema: refs.length === 1 ? refs[0] : { anyOf: refs },
          examples: Object.fromEntries(
            those.map(({ name, reply }) => [name, { value: JSON.parse(reply.body) as Json }]),
          ),
        },
      },
    };
  }
  return responses;
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

function pascal(kind: string): string {
  return kind.replace(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase());
}
