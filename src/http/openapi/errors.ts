/**
 * The refusals as responses of the OpenAPI document: their bodies in the shape of the assumptions
 * in force, their headers, and examples from the error table.
 * Rules: SEND-5, READ-2, AUTH-3 to AUTH-5, ERR-1 to ERR-4. Assumes: errorBody, notFoundBody,
 * malformedJson, unknownFields, validationScope.
 */
import { z } from 'zod';
import type { Assumptions } from '../../sim/assumptions.ts';
import type { ServiceError } from '../../sim/errors.ts';
import { receivedParameters } from '../../sim/received.ts';
import { documentedFields } from '../../sim/send-request.ts';
import { errorReplies, errorReply } from '../service/error-replies.ts';
import type { ApiReply } from '../service/messages.ts';
import { refuseUnread } from '../service/templated-replies.ts';
import type { WordRefusal } from '../transport/transport.ts';
import { transportReplies } from '../transport/transport-replies.ts';
import { componentRef, type Json } from './json-schema.ts';
import { header, type Refusal } from './refusal.ts';
import { anyWording } from './replies.ts';
import { asExample, worded } from './worded.ts';

type Kind = ServiceError['kind'];
type PlainKind = Exclude<Kind, 'invalid_field' | 'not_found' | 'throttled' | 'malformed_json'>;

/** Refusals with a fixed code. */
export function refusalOf(error: ServiceError & { kind: PlainKind }, assumptions: Assumptions) {
  const { status, code } = errorReplies[error.kind];
  const refusal: Refusal = {
    name: pascal(error.kind),
    status,
    schema: coded(z.literal(code), assumptions),
    reply: errorReply(error, assumptions),
    ...plainTexts[error.kind],
  };
  return worded(refusal, error, assumptions);
}

const plainTexts = {
  invalid_key: {
    description: 'The API key is missing, wrong or revoked (AUTH-3; the spelling is the contract).',
    headers: {
      'WWW-Authenticate': header('The required scheme.', z.literal('Bearer')),
    },
  },
  quota_exceeded: { description: 'The monthly SMS limit of the plan is reached (ERR-1).' },
  number_not_found: { description: 'No SIM of the account has the sender number (AUTH-4).' },
  number_access_denied: {
    description:
      'The number exists, but the account may not send from it (AUTH-5; the spelling is the ' +
      'contract).',
  },
  device_inactive: { description: 'The SIM behind the sender number is deactivated (ERR-2).' },
  method_not_allowed: {
    description: 'Another method on this path (`methodNotAllowed`).',
    headers: { Allow: header('The methods that this path accepts.', z.string()) },
  },
  request_id_conflict: {
    description:
      'The `request_id` was used within 24 hours for another message (`replayDifferentBody`).',
  },
  overloaded: {
    description:
      'The service holds as many messages as `--max-messages` allows, and could forget no more, as ' +
      'the others are not final yet.',
  },
  unsupported_media_type: {
    description: 'The body is not declared as `application/json` (`contentType`).',
  },
  unsupported_content_encoding: {
    description: 'The body has a `Content-Encoding` such as `gzip` (`contentType`).',
  },
} as const satisfies Record<PlainKind, Pick<Refusal, 'description' | 'headers'>>;

/** SEND-5: the body names the failing field. `failure` is a real mistake for the example. */
export function invalidField(
  endpoint: 'send' | 'received',
  failure: ServiceError & { kind: 'invalid_field' },
  assumptions: Assumptions,
): Refusal {
  const names: readonly string[] =
    endpoint === 'send' ? documentedFields : Object.keys(receivedParameters);
  const anyField = endpoint === 'send' && assumptions.unknownFields === 'reject';
  const fields = anyField ? undefined : names;
  const code = anyField ? z.string() : z.enum(names);
  const isMap = assumptions.errorBody === 'field_map';
  const where = isMap ? 'a member' : 'the code';
  const all =
    assumptions.validationScope === 'all'
      ? ` Every failing field is ${isMap ? 'one' : 'a member of `errors`'} (\`validationScope\`).`
      : '';
  const refusal: Refusal = {
    name: endpoint === 'send' ? 'InvalidField' : 'InvalidParameter',
    status: errorReplies.invalid_field.status,
    description:
      endpoint === 'send'
        ? `A field failed validation: its name is ${where} (SEND-5).${all}`
        : `A parameter is not a whole number in its range: its name is ${where}.${all}`,
    schema: invalidSchema(fields, code, assumptions),
    reply: errorReply(failure, assumptions),
  };
  return worded(refusal, failure, assumptions);
}

export function malformedJson(
  error: ServiceError & { kind: 'malformed_json' },
  assumptions: Assumptions,
): Refusal {
  const { status, code } = errorReplies.malformed_json;
  const refusal: Refusal = {
    name: 'MalformedJson',
    status,
    description: 'The body is not a JSON object (`malformedJson`).',
    schema:
      assumptions.malformedJson === 'detail_400' ? detailOnly : coded(z.literal(code), assumptions),
    reply: errorReply(error, assumptions),
  };
  return worded(refusal, error, assumptions);
}

/** `path`: a path of the endpoint, because each endpoint has its own template. */
export function notFound(description: string, assumptions: Assumptions, path: string): Refusal {
  const { status, code } = errorReplies.not_found;
  const refusal: Refusal = {
    name: 'NotFound',
    status,
    description,
    schema:
      assumptions.notFoundBody === 'detail_only' ? detailOnly : coded(z.literal(code), assumptions),
    reply: errorReply({ kind: 'not_found' }, assumptions),
  };
  return worded(refusal, { kind: 'not_found' }, assumptions, path);
}

const exampleWaitSeconds = 42;

export function throttled(limitPerMinute: number, assumptions: Assumptions): Refusal {
  const error = { kind: 'throttled', retryAfterSeconds: exampleWaitSeconds } as const;
  const refusal: Refusal = {
    name: 'Throttled',
    status: errorReplies.throttled.status,
    description:
      `More than ${limitPerMinute} requests per minute. The wait of \`Retry-After\` ` +
      'is authoritative (ERR-3, ERR-4).',
    schema: z.strictObject({
      detail: z.string().describe('States the wait in seconds, the same number as the header.'),
    }),
    headers: {
      'Retry-After': header('Seconds until a request would succeed (ERR-3).', z.int().min(1)),
    },
    reply: errorReply(error, assumptions),
  };
  return worded(refusal, error, assumptions);
}

/** The transport sends this reply before any handler runs. */
export function tooLarge(limitBytes: number, assumptions: Assumptions): Refusal {
  const setting = { seed: 0, now: () => 0, assumptions };
  const wordRefusal: WordRefusal = (...refusal) => refuseUnread(setting, ...refusal);
  const serve = { service: (): ApiReply => reply, wordRefusal };
  const { tooLarge: reply } = transportReplies(serve, limitBytes)();
  const hasTemplate = assumptions.replyTemplates.error !== undefined;
  return {
    name: 'TooLarge',
    status: reply.status,
    description: `The body is longer than ${limitBytes} bytes.`,
    schema: hasTemplate ? anyWording : coded(z.literal('request_too_large'), assumptions),
    reply: asExample(reply),
  };
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

const detailOnly = z.strictObject({ detail: z.string() });

function coded(code: z.ZodType, { errorBody }: Assumptions, more = {}): z.ZodType {
  return errorBody === 'nested'
    ? z.strictObject({ error: z.strictObject({ code, message: z.string(), ...more }) })
    : z.strictObject({ code, detail: z.string(), ...more });
}

function invalidSchema(
  names: readonly string[] | undefined,
  code: z.ZodType,
  assumptions: Assumptions,
): z.ZodType {
  const { errorBody, validationScope } = assumptions;
  const map = fieldMap(names);
  if (errorBody === 'field_map')
    return validationScope === 'first' ? map.meta({ minProperties: 1, maxProperties: 1 }) : map;
  return coded(code, assumptions, validationScope === 'first' ? {} : { errors: map });
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

function pascal(kind: string): string {
  return kind.replace(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase());
}
