/**
 * The OpenAPI document of the control port, generated from the declarations of its operations
 * (`src/operations/define.ts`).
 */
import { z } from 'zod';
import {
  needsInput,
  nounOf,
  type Operation,
  successStatus,
  takesQuery,
} from '../../operations/define.ts';
import type { OperationName } from '../../operations/table.ts';
import {
  componentRef,
  type Json,
  jsonContent,
  namedSchemaOf,
  type Schemas,
} from './json-schema.ts';

const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.string(),
    message: z.string(),
    path: z.string().optional().describe('The path in the input.'),
  }),
});

const statusMeanings: Readonly<Record<number, string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Started.',
  204: 'Done.',
  400: '`invalid`: the input is invalid; the message lists every mistake.',
  401: '`unauthorized`: the control token is missing or wrong.',
  403: '`forbidden`: the Host, the Origin or the address is refused.',
  404: '`not_found`: nothing has this id.',
  408: '`timeout`: the timeout passed first.',
  409: '`conflict`: not possible in the present state.',
  413: '`request_too_large`: the body exceeds the limit of this path.',
  503: '`unavailable`: a journal cannot be written; the message says why.',
};

type NounOf<Name> = Name extends `${infer Noun}.${string}` ? Noun : never;

/** Describes the noun of each operation's name; a missing noun does not compile. */
const tags: Readonly<Record<NounOf<OperationName> | 'documents' | 'probes', string>> = {
  simulator: 'The simulator as a whole: health, state, reset, journal.',
  clock: 'Simulated time.',
  accounts: 'Accounts and their API keys.',
  sims: 'SIMs, the shared pool, and inbound messages.',
  messages: 'Messages with their history.',
  outcomes: 'Scripted fates, by recipient.',
  limits: 'Rate limits and their buckets.',
  assumptions: 'The answers in force where the document is silent.',
  faults: 'Injected failures.',
  requests: 'The last requests of the service.',
  exchanges: 'Requests of the service made with a key of an account.',
  referee: 'What the client did wrong, by the rules of a good client.',
  events: 'Events as they happen.',
  snapshots: 'The whole state, saved and restored.',
  past: 'Earlier instants, rebuilt from the journal.',
  worlds: 'Isolated worlds on this server.',
  documents: 'OpenAPI documents.',
  probes: 'For whatever watches the process, without the token.',
};

/** The document as a value; `operations` in the order of its paths. */
export function controlDocument(operations: readonly Operation[]): Json {
  const schemas: Schemas = {};
  namedSchemaOf('Error', errorSchema, 'output', schemas);
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    const path = paths[operation.path] ?? {};
    path[operation.verb.toLowerCase()] = operationObject(operation, schemas);
    paths[operation.path] = path;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'smstwin control API',
      version: '1',
      description:
        'Operations on the simulator; not part of the service, and never rate-limited. Every ' +
        'operation is also a JavaScript method: `clock.advance` is `sim.clock.advance()`.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(({ name }) => nounOf(name)))].map((name) => ({
      name,
      description: tags[name as keyof typeof tags],
    })),
    paths,
    components: {
      schemas,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'Required only with --control-token.',
        },
      },
    },
    security: [{}, { token: [] }],
  };
}

/** The operation object of OpenAPI; adds the schemas that it refers to. */
function operationObject(operation: Operation, schemas: Schemas): Json {
  const { name, summary, description, input, inputFrom, examples } = operation;
  const title = titleOf(name);
  const takesBody = input !== undefined && inputFrom === undefined && !takesQuery(operation);
  const parameters = [...pathParameters(operation), ...queryParameters(operation, schemas)];
  return {
    operationId: name,
    summary,
    description: description ?? summary,
    tags: [nounOf(name)],
    ...(parameters.length > 0 && { parameters }),
    ...(takesBody && {
      requestBody: {
        required: needsInput(operation),
        ...jsonContent(namedSchemaOf(`${title}Input`, input, 'input', schemas), {
          ...(examples.length > 0 && { examples: examplesOf(examples) }),
        }),
      },
    }),
    ...(operation.isOpen && { security: [] }),
    responses: responses(operation, schemas),
  };
}

function responses(operation: Operation, schemas: Schemas): Json {
  const { name, output, isOpen, contentType = 'application/json' } = operation;
  const status = successStatus(operation);
  const content =
    output !== undefined &&
    (contentType === 'application/json'
      ? jsonContent(namedSchemaOf(`${titleOf(name)}Reply`, output, 'output', schemas))
      : { content: { [contentType]: { schema: { type: 'string' } } } });
  const refusal = (code: number) => ({
    description: statusMeanings[code],
    // A probe shows only its status.
    ...(isOpen && code === 503 ? content : jsonContent(componentRef('Error'))),
  });
  return Object.fromEntries([
    [status, { description: statusMeanings[status], ...content }],
    ...refusalStatuses(operation).map((code) => [code, refusal(code)]),
  ]);
}

export function refusalStatuses(operation: Operation): number[] {
  const { input, inputFrom, target, isOpen, refusals = [] } = operation;
  const takesInput = input !== undefined && inputFrom === undefined;
  const statuses = [...(isOpen ? [] : [401]), 403, ...refusals];
  if (takesInput) statuses.push(400);
  if (takesInput && !takesQuery(operation)) statuses.push(413);
  if (target !== undefined) statuses.push(404);
  return statuses.sort((a, b) => a - b);
}

function pathParameters({ target }: Operation): Json[] {
  if (target === undefined) return [];
  const description =
    target === 'account_id'
      ? 'The id or the name of the account.'
      : 'An id from the reply of another operation.';
  return [{ name: target, in: 'path', required: true, description, schema: { type: 'string' } }];
}

function queryParameters(operation: Operation, schemas: Schemas): Json[] {
  const { name, input } = operation;
  if (input === undefined || !takesQuery(operation)) return [];
  const title = `${titleOf(name)}Query`;
  // Named only to read its properties, whose own schemas may become components.
  namedSchemaOf(title, input, 'input', schemas);
  const { properties } = schemas[title] as { properties: Readonly<Record<string, Json>> };
  delete schemas[title];
  return Object.entries(properties).map(([parameter, { description, ...schema }]) => ({
    name: parameter,
    in: 'query',
    required: false,
    ...(description !== undefined && { description }),
    schema,
  }));
}

function examplesOf(examples: readonly unknown[]): Json {
  return Object.fromEntries(examples.map((value, index) => [`example${index + 1}`, { value }]));
}

/** The start of schema names: `AccountsCreate` for `accounts.create`. */
function titleOf(name: string): string {
  return name.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
