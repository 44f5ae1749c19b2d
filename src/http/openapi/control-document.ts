/**
 * `/control/openapi.json`: the control API's own document, made from the rows that answer it.
 */
import { z } from 'zod';
import { type Route, WholeReply } from '../control/route.ts';
import { type Json, jsonContent, schemaOf } from './json-schema.ts';

export const openApiPath = '/control/openapi.json';

const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.string(),
    message: z.string(),
    path: z.string().optional().describe('Where in the input.'),
  }),
});

const meanings: Readonly<Record<number, string>> = {
  200: 'Done.',
  201: 'Made.',
  202: 'Begun.',
  204: 'Done.',
  400: 'Not understood; the message lists every mistake.',
  401: 'The control token is missing or wrong.',
  403: 'Not from here: the Host, the Origin or the address is refused.',
  404: 'There is none.',
  408: 'Not within the time.',
  409: 'Not in the present state.',
  413: 'The body is longer than this path takes.',
};

/** The row that serves the document, itself a part of it. */
export function openApiRoute(routes: readonly Route[]): Route {
  let text: string | undefined;
  const route: Route = {
    method: 'GET',
    path: openApiPath,
    summary: 'This document.',
    status: 200,
    result: z.object({ openapi: z.literal('3.1.0') }).loose(),
    run: () => {
      text ??= JSON.stringify(openApi([...routes, route]));
      return new WholeReply({ status: 200, body: text });
    },
  };
  return route;
}

export function openApi(routes: readonly Route[]): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const path = paths[route.path] ?? {};
    path[route.method.toLowerCase()] = operation(route);
    paths[route.path] = path;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'smstwin control API',
      version: '1',
      description:
        'The levers of the simulator. Not a part of the service, and never rate-limited.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: { Error: schemaOf(errorSchema, 'output') },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
    security: [{}, { token: [] }],
  };
}

function operation(route: Route): Json {
  const { summary, body, bodyRequired = true } = route;
  const parameters = [...pathParameters(route), ...queryParameters(route)];
  return {
    operationId: operationId(route),
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: bodyRequired, ...jsonContent(schemaOf(body, 'input')) },
    }),
    responses: responses(route),
  };
}

function responses(route: Route): Json {
  const { status, result, contentType = 'application/json', body, query, path } = route;
  const refusals = [401, 403, ...(route.refusals ?? [])];
  if (body !== undefined || query !== undefined) refusals.push(400);
  if (body !== undefined) refusals.push(413);
  if (path.includes('{')) refusals.push(404);
  const hasContent = status !== 204;
  const schema = result === undefined ? { type: 'string' } : schemaOf(result, 'output');
  const success = {
    description: meanings[status],
    ...(hasContent && { content: { [contentType]: { schema } } }),
  };
  const failure = (code: number) => ({
    description: meanings[code],
    ...jsonContent({ $ref: '#/components/schemas/Error' }),
  });
  return Object.fromEntries([
    [status, success],
    ...refusals.sort((a, b) => a - b).map((code) => [code, failure(code)]),
  ]);
}

function pathParameters({ path }: Route): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters({ query }: Route): Json[] {
  if (query === undefined) return [];
  const properties = schemaOf(query, 'input')['properties'] as Readonly<Record<string, Json>>;
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    // What is coerced from a query's text may be any text as far as its schema knows.
    schema: name === 'limit' ? { type: 'integer', minimum: 1, ...schema } : schema,
  }));
}

/** `post_control_accounts_account_id_keys`. */
function operationId({ method, path }: Route): string {
  const words = path.split('/').map((part) => part.replace(/[{}]/g, '').replaceAll('.', '_'));
  return `${method.toLowerCase()}${words.join('_')}`;
}
