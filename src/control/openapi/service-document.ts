/**
 * The OpenAPI 3.1 document of the service under the assumptions and limits in force, made from the
 * schemas of requests, error table and routes that the service itself uses, and of examples of its
 * replies (`reply-bodies.ts`). The control port serves it.
 * Assumes: keyFormat, pathIdForm, trailingSlash, replyTemplates.
 */
import { z } from 'zod';
import { assumptionNames, declarationOf } from '#contract/assumptions.ts';
import { type EndpointName, endpointNames, type LimitsPerMinute } from '#contract/limits.ts';
import type { ApiReply, ReplyTemplate } from '#contract/request-and-reply.ts';
import { type Route, routes } from '#contract/routes.ts';
import { redirectReply } from '../../http/service/api.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import { receivedParameters } from '../../sim/read.ts';
import { endpointTexts, tags } from './endpoint-texts.ts';
import { componentRef, type Json, jsonContent, schemaOf } from './json-schema.ts';
import { endpointRefusals, exampleContext, type Refusal } from './refusals.ts';
import { anyWording, exampleSendByAlias, exampleSendUnder, replyOf } from './reply-bodies.ts';
import { sendBodySchema } from './send-body.ts';

interface DocumentInput {
  readonly assumptions: Assumptions;
  readonly limits: LimitsPerMinute;
  readonly baseUrl: string;
}

/** The last text for each object of assumptions; a switch creates a new object. */
const cachedTexts = new WeakMap<Assumptions, { readonly key: string; readonly text: string }>();

export function openApiText(input: DocumentInput): string {
  const { assumptions, limits, baseUrl } = input;
  const key = JSON.stringify([limits, baseUrl]);
  const cached = cachedTexts.get(assumptions);
  if (cached?.key === key) return cached.text;
  const text = JSON.stringify(openApi(input));
  cachedTexts.set(assumptions, { key, text });
  return text;
}

export function openApi({ assumptions, limits, baseUrl }: DocumentInput): Json {
  const described = endpointNames.map((endpoint) => {
    const refusals = endpointRefusals(endpoint, limits[endpoint], assumptions);
    return { endpoint, refusals, operation: operationObject(endpoint, refusals, assumptions) };
  });
  return {
    openapi: '3.1.0',
    info: {
      title: 'Outbound SMS Service',
      version: 'v1',
      summary: 'Queue SMS messages that go out through a SIM of the account, and follow them.',
      description:
        `Simulated by smstwin. Ids such as SEND-4 are rules that the service's ` +
        'document states; names such as `errorBody` are assumptions where it is ' +
        'silent; `x-assumptions` lists those in force. Every GET endpoint also ' +
        'answers HEAD. Limits are per endpoint and per user or, without a valid ' +
        'key, per client IP (AUTH-6, LIMIT-7).',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      described.map(({ endpoint, operation }) => {
        const { pattern, method } = routes[endpoint];
        return [pattern, { [method.toLowerCase()]: operation }];
      }),
    ),
    components: {
      schemas: componentSchemas(
        described.flatMap(({ refusals }) => refusals),
        assumptions,
      ),
      securitySchemes: { apiKey: securityScheme(assumptions) },
    },
    security: [{ apiKey: [] }],
    'x-assumptions': assumptions,
  };
}

function componentSchemas(refusals: readonly Refusal[], assumptions: Assumptions): Json {
  const replies = endpointNames
    .filter((endpoint) => !isWorded(successTemplateOf(endpoint, assumptions)))
    .map((endpoint) => replyOf(endpoint, assumptions));
  return {
    SendRequest: schemaOf(sendBodySchema(assumptions), 'input'),
    ...Object.fromEntries(
      [...replies, ...refusals].map(({ name, schema }) => [name, schemaOf(schema, 'output')]),
    ),
  };
}

function securityScheme({ keyFormat }: Assumptions): Json {
  return {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: `${keyFormat}<40 letters and digits>`,
    description:
      'Every request carries `Authorization: Bearer <API_KEY>` (AUTH-1). A key is shown once, ' +
      'at its creation (AUTH-2).',
  };
}

function operationObject(
  endpoint: EndpointName,
  refusals: readonly Refusal[],
  assumptions: Assumptions,
): Json {
  const { operationId, tag, summary, success } = endpointTexts[endpoint];
  const route: Route = routes[endpoint];
  const parameters = [...pathParameters(route, assumptions), ...queryParameters(endpoint)];
  const { name, example } = replyOf(endpoint, assumptions);
  const template = successTemplateOf(endpoint, assumptions);
  const content = isWorded(template)
    ? jsonContent(schemaOf(anyWording, 'output'))
    : jsonContent(componentRef(name), { examples: { [name]: { value: example } } });
  const shown = { ...headersOf(headersSetBy(template)), ...content };
  return {
    operationId,
    tags: [tag],
    summary,
    description: descriptionOf(endpoint, assumptions),
    ...(parameters.length > 0 && { parameters }),
    ...(route.method === 'POST' && { requestBody: sendRequestBody(assumptions) }),
    responses: {
      ...successResponses(success, template?.status, shown),
      ...(assumptions.trailingSlash === 'redirect' && redirectResponse(route, assumptions)),
      ...refusalResponses(refusals),
    },
  };
}

function sendRequestBody(assumptions: Assumptions): Json {
  return {
    required: true,
    ...jsonContent(componentRef('SendRequest'), {
      examples: {
        from: { summary: 'The sender as `from`', value: exampleSendUnder(assumptions) },
        from_number: {
          summary: 'The sender as its alias `from_number`',
          value: exampleSendByAlias,
        },
      },
    }),
  };
}

function descriptionOf(endpoint: EndpointName, assumptions: Assumptions): string {
  const { description, rules } = endpointTexts[endpoint];
  const assumed = assumptionNames
    .filter((name) => declarationOf(name).endpoints?.includes(endpoint))
    .map((name) => `- \`${name}\`: \`${String(assumptions[name])}\` (${declarationOf(name).open})`);
  return (
    `${description}\n\nRules: ${rules.join(', ')}.\n\nAssumed where the document is ` +
    `silent:\n\n${assumed.join('\n')}`
  );
}

/** The template of the endpoint's success. A template of messages keeps their schema and status. */
function successTemplateOf(
  endpoint: EndpointName,
  { replyTemplates }: Assumptions,
): ReplyTemplate | undefined {
  return endpoint === 'send' || endpoint === 'read' ? undefined : replyTemplates[endpoint];
}

function headersSetBy({ headers = {} }: ReplyTemplate = {}): string[] {
  return Object.keys(headers).filter((name) => headers[name] !== null);
}

/** True if a template words the body of a reply, which may then be anything. */
function isWorded({ body, text, item }: ReplyTemplate = {}): boolean {
  return body !== undefined || text !== undefined || item !== undefined;
}

/** The ids that a path may hold, for each answer of `pathIdForm`. */
const pathIds: Readonly<Record<Assumptions['pathIdForm'], z.ZodType>> = {
  canonical: z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
  any_case: z.uuid(),
  // With all four hyphens or without hyphens.
  any: z
    .string()
    .regex(/^[0-9A-Fa-f]{8}(-?)[0-9A-Fa-f]{4}\1[0-9A-Fa-f]{4}\1[0-9A-Fa-f]{4}\1[0-9A-Fa-f]{12}$/),
};

function pathParameters({ pattern }: Route, { pathIdForm }: Assumptions): Json[] {
  return [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: name === 'device_id' ? 'The SIM.' : 'The message.',
    schema: schemaOf(pathIds[pathIdForm], 'input'),
  }));
}

function queryParameters(endpoint: EndpointName): Json[] {
  if (endpoint !== 'received') return [];
  return Object.entries(receivedParameters).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    description: name === 'page' ? 'Counted from 1, newest first.' : 'Messages of one page.',
    schema: schemaOf(schema, 'input'),
  }));
}

/**
 * One response for each status; it describes all successes with that status, of which a template
 * may make one. `shown`: the headers and the content of each.
 */
function successResponses(
  success: Readonly<Record<string, string>>,
  templateStatus: number | undefined,
  shown: Json,
): Record<string, Json> {
  const descriptions = Object.values(success);
  if (templateStatus !== undefined)
    return { [templateStatus]: { description: descriptions.join('\n\n'), ...shown } };
  return Object.fromEntries(
    Object.entries(success).map(([status, description]) => [status, { description, ...shown }]),
  );
}

/** One response for each status, in order; it lists all refusals with that status. */
function refusalResponses(refusals: readonly Refusal[]): Record<string, Json> {
  const responses: Record<string, Json> = {};
  const statuses = [...new Set(refusals.map(({ reply }) => reply.status))].sort();
  for (const status of statuses)
    responses[status] = responseOf(refusals.filter(({ reply }) => reply.status === status));
  return responses;
}

function responseOf(refusals: readonly Refusal[]): Json {
  const refs = refusals.map(({ name }) => componentRef(name));
  const names = refusals.flatMap(({ reply }) => Object.keys(reply.headers ?? {}));
  const examples = refusals.map(({ name, reply }) => [name, { value: exampleOf(reply) }]);
  return {
    description: refusals.map(({ description }) => description).join('\n\n'),
    ...headersOf(names),
    ...jsonContent(refs.length === 1 ? (refs[0] as Json) : { anyOf: refs }, {
      examples: Object.fromEntries(examples),
    }),
  };
}

/** The headers of a reply as an object of a response, which lacks them if there are none. */
function headersOf(names: readonly string[]): Json {
  const others = [...new Set(names)].filter((name) => name !== 'content-type');
  if (others.length === 0) return {};
  const headers = others.map((name) => [
    name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase()),
    documentedHeaders[name] ?? setByTemplate,
  ]);
  return { headers: Object.fromEntries(headers) };
}

/** The body as JSON, or as text: a template may word a body that is not JSON. */
function exampleOf({ body }: ApiReply): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** The response to the path without its last slash, if that redirects. */
function redirectResponse({ pattern }: Route, assumptions: Assumptions): Record<string, Json> {
  const { redirect } = assumptions.replyTemplates;
  const request = { method: 'GET', path: pattern, body: '' };
  const reply = redirectReply(exampleContext(assumptions), request, pattern);
  const schema = isWorded(redirect) ? anyWording : z.strictObject({});
  return {
    [reply.status]: {
      description: 'This path without its last slash (`trailingSlash`).',
      ...headersOf(Object.keys(reply.headers ?? {})),
      ...jsonContent(schemaOf(schema, 'output')),
    },
  };
}

const documentedHeaders: Readonly<Record<string, Json>> = {
  'www-authenticate': header('The required scheme.', z.literal('Bearer')),
  allow: header('The methods that this path accepts.', z.string()),
  location: header('This path with its last slash, and the query.', z.string()),
  'retry-after': header('Seconds until a request would succeed (ERR-3).', z.int().min(1)),
};

/** Any other header. */
const setByTemplate = header('Set by `replyTemplates`.', z.string());

function header(description: string, schema: z.ZodType): Json {
  return { description, required: true, schema: schemaOf(schema, 'output') };
}
