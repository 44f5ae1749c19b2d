/**
 * For tests: the OpenAPI document of the service under some assumptions, and whether requests and
 * replies match it. An independent JSON Schema validator decides.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { documentedLimitsPerMinute, type EndpointName } from '#contract/limits.ts';
import type { ApiReply } from '#contract/request-and-reply.ts';
import { routes } from '#contract/routes.ts';
import { getOrAdd } from '#io/grouped.ts';
import { openApi } from '#src/control/openapi/service-document.ts';
import { type Assumptions, defaultAssumptions } from '#src/sim/assumptions.ts';

/** The parts of the document that this file reads. */
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

/** A document is compiled for a few dozen bodies only, and linters check that it is valid. */
const quickCompilation = { meta: false, validateSchema: false, code: { optimize: false } };

/** The service as its document describes it under some assumptions. */
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
    if (response === undefined)
      throw new Error(
        `the document has no such status: ${where} (src/control/openapi/refusals.ts)`,
      );
    const names = Object.keys(response.headers ?? {});
    const documented = names.map((name) => name.toLowerCase()).sort();
    const sent = Object.keys(reply.headers ?? {}).sort();
    if (documented.join() !== sent.join())
      throw new Error(`the document names other headers than ${sent.join()}: ${where}`);
    for (const name of names) this.#checkHeader(endpoint, reply, name, where);
    const body: unknown = JSON.parse(reply.body);
    const pointer = `${pointerTo(endpoint, reply.status)}/content/application~1json/schema`;
    if (this.#validator(pointer)(body) !== true)
      throw new Error(`the document permits no such body: ${where}`);
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
    if (this.#validator(pointer)(value) !== true)
      throw new Error(`the document permits no such ${name}: ${where}`);
  }

  #validator(pointer: string): ValidateFunction {
    const compiled = () => this.#ajv.compile({ $ref: `service${pointer}` });
    return getOrAdd(this.#validators, pointer, compiled);
  }
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
