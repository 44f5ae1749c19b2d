/**
 * For tests: the OpenAPI document of the service under some assumptions, and whether requests and
 * replies match it. An independent JSON Schema validator decides.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { answersOf } from '#contract/assumptions.ts';
import { documentedLimitsPerMinute, type EndpointName } from '#contract/limits.ts';
import type { ApiReply } from '#contract/request-and-reply.ts';
import { routes } from '#contract/routes.ts';
import { openApi } from '#src/control/openapi/service-document.ts';
import { type AssumptionName, type Assumptions, defaultAssumptions } from '#src/sim/assumptions.ts';

interface ResponseObject {
  readonly headers?: Readonly<Record<string, object>>;
  readonly content: {
    readonly 'application/json': { readonly schema: { readonly anyOf?: readonly Ref[] } & Ref };
  };
}
interface Ref {
  readonly $ref?: string;
}
interface OperationObject {
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

/** Each document is compiled for a few dozen bodies. Two linters check that it is valid. */
const quickCompilation = { meta: false, validateSchema: false, code: { optimize: false } };

export class DescribedService {
  readonly document: ReturnType<typeof openApi>;
  readonly #ajv = new Ajv2020({ strict: false, coerceTypes: false, ...quickCompilation });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(overrides: Partial<Assumptions> = {}) {
    this.document = openApi({
      assumptions: { ...defaultAssumptions, ...overrides },
      limits: documentedLimitsPerMinute,
      baseUrl: 'http://127.0.0.1:8080',
    });
    formats.default(this.#ajv);
    this.#ajv.addSchema({ ...this.document, $id: 'service' });
  }

  /** True if the document permits this body of a send. */
  takes(body: unknown): boolean {
    return this.#validator('#/components/schemas/SendRequest')(body) === true;
  }

  /** The document's entry for an endpoint. */
  operation(endpoint: EndpointName): OperationObject {
    const { pattern, method } = routes[endpoint];
    const paths = this.document['paths'] as Record<string, Record<string, OperationObject>>;
    const operation = paths[pattern]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`no operation for ${endpoint}`);
    return operation;
  }

  /** `status schema` for every documented reply of the operation. */
  documented(endpoint: EndpointName): string[] {
    return Object.entries(this.operation(endpoint).responses).flatMap(([status, response]) =>
      schemaNames(response).map((name) => `${status} ${name}`),
    );
  }

  /** The documented replies that match this reply; throws if there are none. */
  recognise(endpoint: EndpointName, reply: ApiReply): string[] {
    const where = `${endpoint} ${reply.status} ${reply.body}`;
    const response = this.operation(endpoint).responses[reply.status];
    if (response === undefined) throw new Error(`undocumented: ${where}`);
    const names = Object.keys(response.headers ?? {});
    const documented = names.map((name) => name.toLowerCase()).sort();
    const sent = Object.keys(reply.headers ?? {}).sort();
    if (documented.join() !== sent.join()) throw new Error(`headers ${sent.join()}: ${where}`);
    for (const name of names) this.#checkHeader(endpoint, reply, name, where);
    const body: unknown = JSON.parse(reply.body);
    const pointer = `${pointerTo(endpoint, reply.status)}/content/application~1json/schema`;
    if (this.#validator(pointer)(body) !== true) throw new Error(`another body: ${where}`);
    return schemaNames(response)
      .filter(
        (name) =>
          name === 'inline' || this.#validator(`#/components/schemas/${name}`)(body) === true,
      )
      .map((name) => `${reply.status} ${name}`);
  }

  #checkHeader(endpoint: EndpointName, reply: ApiReply, name: string, where: string): void {
    const text = reply.headers?.[name.toLowerCase()] ?? '';
    const pointer = `${pointerTo(endpoint, reply.status)}/headers/${name}/schema`;
    const value = name === 'Retry-After' ? Number(text) : text;
    if (this.#validator(pointer)(value) !== true) throw new Error(`header ${name}: ${where}`);
  }

  #validator(pointer: string): ValidateFunction {
    let validator = this.#validators.get(pointer);
    if (validator === undefined) {
      validator = this.#ajv.compile({ $ref: `service${pointer}` });
      this.#validators.set(pointer, validator);
    }
    return validator;
  }
}

/**
 * Combinations of assumptions that change the documented requests or replies. A run draws two of
 * them, so do not add a new answer here: it is then played alone in each run.
 */
export const mixtures: readonly Partial<Assumptions>[] = [
  {},
  { errorBody: 'nested', notFoundBody: 'code_detail', malformedJson: 'code_400' },
  { errorBody: 'field_map', notFoundBody: 'code_detail', bothSenderFields: 'alias_wins' },
  { errorBody: 'field_map', unknownFields: 'reject', sendAtZone: 'naive_is_utc' },
  { errorBody: 'nested', unknownFields: 'reject', replayDifferentBody: 'conflict' },
  { validationScope: 'all', errorBody: 'code_detail', pathIdForm: 'any', typeCoercion: 'coerce' },
  { validationScope: 'all', errorBody: 'field_map', gateOrder: 'quota_before_sender' },
  { validationScope: 'all', errorBody: 'nested', unknownFields: 'reject', nullFields: 'absent' },
  { trailingSlash: 'redirect', methodNotAllowed: '404', contentType: 'ignore' },
  { nullFields: 'absent', bothSenderFields: 'reject', unknownFields: 'reject' },
  { nullFields: 'absent', bothSenderFields: 'reject_if_different', emptyRequestId: 'reject' },
  { nullFields: 'absent', bothSenderFields: 'alias_wins', sendAtZone: 'any_offset' },
  { requestIdMaxLength: 3, sendAtMaxAheadDays: 7, characterUnit: 'utf16_units', sendAtZone: 'any' },
  { sendAtFormats: 'iso8601' },
  { emptySendAt: 'absent', typeCoercion: 'numbers' },
  { bothSenderFields: 'reject', receivedQuery: 'ignore' },
  { receivedQuery: 'not_found', headMethod: 'refused', trailingSlash: 'served' },
  { sendAtFormats: 'iso8601', sendAtZone: 'any' },
  { blankMessage: 'accept', characterUnit: 'graphemes', numberCheck: 'shape' },
  {
    replyTemplates: {
      error: { body: { title: '{detail}', code: '{code}' } },
      invalid_field: { body: { errors: [{ field: '{field}', why: '{detail}' }] } },
      invalid_key: { body: { code: '{code}' }, headers: { 'www-authenticate': null } },
      method_not_allowed: { headers: { allow: '{allow}, OPTIONS' } },
      stats: { body: { total: '{accepted}' } },
      tasks: { body: '{items}', item: { id: '{message_id}' } },
    },
  },
  { receivedShape: 'array', tasksShape: 'array', heldStatus: 'scheduled', numberCheck: 'valid' },
];

/** A named answer of these assumptions that no mixture has, such as a new one, is played alone. */
const mixed = new Set(mixtures.flatMap((each) => Object.keys(each) as AssumptionName[]));
export const unmixed: readonly Partial<Assumptions>[] = [...mixed].flatMap((name) =>
  answersOf(name)
    .slice(1)
    .filter((answer) => !mixtures.some((each) => each[name] === answer))
    .map((answer) => ({ [name]: answer })),
);

/** The assumptions as the name of a test. */
export function named(assumptions: Partial<Assumptions>): string {
  return Object.entries(assumptions).join(' ') || 'the defaults';
}

function schemaNames({ content }: ResponseObject): string[] {
  const { schema } = content['application/json'];
  return (schema.anyOf ?? [schema]).map(({ $ref }) => $ref?.split('/').at(-1) ?? 'inline');
}

function pointerTo(endpoint: EndpointName, status: number): string {
  const { pattern, method } = routes[endpoint];
  const path = encodeURIComponent(pattern.replaceAll('/', '~1'));
  return `#/paths/${path}/${method.toLowerCase()}/responses/${status}`;
}
