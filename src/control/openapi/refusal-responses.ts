/**
 * The responses of the service's OpenAPI document that are no success: one for each status, with
 * every refusal that has it; and the redirect to a path with its last slash.
 * Rules: ERR-3. Assumes: trailingSlash, replyTemplates.
 */
import { z } from 'zod';
import type { ApiReply } from '#contract/request-and-reply.ts';
import type { Route } from '#contract/routes.ts';
import { componentRef, type Json, jsonContent, schemaOf } from './json-schema.ts';
import type { Refusal } from './refusals.ts';

/** One response for each status, in order; it lists all refusals with that status. */
export function refusalResponses(refusals: readonly Refusal[]): Record<string, Json> {
  const responses: Record<string, Json> = {};
  const statuses = [...new Set(refusals.map(({ reply }) => reply.status))].sort();
  for (const status of statuses) {
    responses[status] = responseOf(refusals.filter(({ reply }) => reply.status === status));
  }
  return responses;
}

function responseOf(refusals: readonly Refusal[]): Json {
  const refs = refusals.map(({ name }) => componentRef(name));
  const headerNames = new Set(refusals.flatMap(({ reply }) => Object.keys(reply.headers ?? {})));
  headerNames.delete('content-type');
  const headers = [...headerNames].map((name) => [
    name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase()),
    knownHeaders[name] ?? setByTemplate,
  ]);
  const examples = refusals.map(({ name, reply }) => [name, { value: exampleOf(reply) }]);
  return {
    description: refusals.map(({ description }) => description).join('\n\n'),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    ...jsonContent(refs.length === 1 ? (refs[0] as Json) : { anyOf: refs }, {
      examples: Object.fromEntries(examples),
    }),
  };
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
export function redirectResponse({ pattern }: Route): Json {
  return {
    301: {
      description: 'This path without its last slash (`trailingSlash`).',
      headers: { Location: header(`\`${pattern}\`, with the query.`, z.string()) },
      ...jsonContent(schemaOf(z.strictObject({}), 'output')),
    },
  };
}

const knownHeaders: Readonly<Record<string, Json>> = {
  'www-authenticate': header('The required scheme.', z.literal('Bearer')),
  allow: header('The methods that this path accepts.', z.string()),
  'retry-after': header('Seconds until a request would succeed (ERR-3).', z.int().min(1)),
};

/** Any other header. */
const setByTemplate = header('Set by `replyTemplates`.', z.string());

function header(description: string, schema: z.ZodType): Json {
  return { description, required: true, schema: schemaOf(schema, 'output') };
}
