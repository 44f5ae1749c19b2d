/**
 * Rewrites replies by the templates in force, so that the twin answers in the words and shapes of
 * another service. By default there are none. A template is JSON whose texts contain placeholders
 * such as `{code}`. Rules: SEND-5, ERR-3, ERR-4. Assumes: replyTemplates, notFoundBody,
 * malformedJson, validationScope.
 */
import type { EndpointName } from '#contract/limits.ts';
import type { ApiReply, ApiRequest, Json, ReplyTemplate } from '#contract/request-and-reply.ts';
import { matchRoute } from '#contract/routes.ts';
import { isoTime } from '#contract/time.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import type { FieldFailure, ServiceError } from '../../sim/errors.ts';
import { drawUuid, Rng } from '../../sim/random.ts';
import { mentions, noReplyTemplates, type TemplateName } from '../../sim/reply-templates.ts';
import { codedBody, errorReplies, errorReply } from './error-replies.ts';
import { matchOtherSpelling } from './other-spellings.ts';

/** The parts of a world that the reply to a request depends on. */
export interface ReplyContext {
  readonly seed: number;
  now(): number;
  readonly assumptions: Registry['assumptions'];
}

/** The reply to a refused request, in the words of the template if there is one. */
export function refuse(world: ReplyContext, request: ApiRequest, refusal: ServiceError): ApiReply {
  const { assumptions } = world;
  const error = refusal.kind === 'invalid_field' ? inTemplateOrder(refusal, assumptions) : refusal;
  const reply = errorReply(error, assumptions);
  if (assumptions.replyTemplates === noReplyTemplates) return reply;
  const template = templateOf(error, request, assumptions);
  if (template === undefined) return reply;
  const refusalOnly = refusalValues(error, request, assumptions);
  const values = { ...requestValues(world, request), ...refusalOnly, status: reply.status };
  const failures = error.kind === 'invalid_field' ? namedFailures(error, assumptions) : [];
  return fillTemplate(reply, template, values, failures);
}

/** The reply to a request that the transport refuses before its path and method are known. */
export function refuseUnread(
  world: ReplyContext,
  status: number,
  code: string,
  detail: string,
): ApiReply {
  const reply = { status, body: codedBody(code, detail, world.assumptions) };
  const template = world.assumptions.replyTemplates.error;
  if (template === undefined) return reply;
  const values = requestValues(world, { path: '', method: '', body: '' });
  return fillTemplate(reply, template, { ...values, status, code, detail });
}

/** Rewrites a reply by the template of `name`; calls `values` only if there is one. */
export function reword(
  world: ReplyContext,
  request: ApiRequest,
  name: TemplateName,
  reply: ApiReply,
  values: () => Values,
): ApiReply {
  const template = world.assumptions.replyTemplates[name];
  if (template === undefined) return reply;
  return fillTemplate(reply, template, { ...requestValues(world, request), ...values() });
}

/** The list in a reply as JSON text, each entry rewritten by the template of `name`. */
export function itemsOf(
  world: ReplyContext,
  request: ApiRequest,
  name: 'received' | 'tasks',
  items: readonly object[],
): RawJson {
  const template = world.assumptions.replyTemplates[name]?.item;
  const shared = requestValues(world, request);
  const texts = items.map((item) =>
    template === undefined ? JSON.stringify(item) : fillBody(template, { ...shared, ...item }),
  );
  return new RawJson(`[${texts.join(',')}]`);
}

/** Fills in a template. What the template leaves out stays as in `reply`. */
function fillTemplate(
  reply: ApiReply,
  template: ReplyTemplate,
  values: Values,
  failures: readonly FieldFailure[] = [],
): ApiReply {
  const text = template.text === undefined ? reply.body : fillText(template.text, values);
  const body = template.body === undefined ? text : fillBody(template.body, values, failures);
  const headers = headersOf(reply, template, values);
  return {
    ...reply,
    status: template.status ?? reply.status,
    body,
    ...(headers !== undefined && { headers }),
  };
}

function headersOf(
  reply: ApiReply,
  template: ReplyTemplate,
  values: Values,
): ApiReply['headers'] | undefined {
  if (template.headers === undefined) return undefined;
  const headers: Record<string, string> = { ...reply.headers };
  for (const [name, value] of Object.entries(template.headers)) {
    if (value === null) delete headers[name];
    else headers[name] = fillText(value, values);
  }
  return headers;
}

type Assumptions = ReplyContext['assumptions'];
type InvalidField = Extract<ServiceError, { kind: 'invalid_field' }>;

/**
 * The template of a refusal: the most specific one wins. The template `error` is for refusals with
 * a code: not for a 404 or a malformed body if an assumption gives that no code.
 */
function templateOf(
  error: ServiceError,
  request: Pick<ApiRequest, 'path'>,
  assumptions: Assumptions,
): ReplyTemplate | undefined {
  const { replyTemplates, notFoundBody, malformedJson } = assumptions;
  switch (error.kind) {
    case 'invalid_field':
    case 'throttled':
      return replyTemplates[error.kind];
    case 'not_found':
      return (
        replyTemplates[notFoundName(routeOf(request.path, assumptions)?.endpoint)] ??
        replyTemplates.not_found ??
        (notFoundBody === 'code_detail' ? replyTemplates.error : undefined)
      );
    case 'malformed_json':
      return (
        replyTemplates[error.mistake] ??
        replyTemplates.malformed_json ??
        (malformedJson === 'code_400' ? replyTemplates.error : undefined)
      );
    case 'overloaded':
      return replyTemplates.error;
    default:
      return replyTemplates[error.kind] ?? replyTemplates.error;
  }
}

function routeOf(path: string, assumptions: Assumptions) {
  return (matchRoute(path) ?? matchOtherSpelling(path, assumptions))?.route;
}

/** The template for a 404 of an endpoint. Other endpoints answer 404 only to an unknown path. */
function notFoundName(endpoint: EndpointName | undefined): TemplateName {
  switch (endpoint) {
    case 'read':
      return 'not_found';
    case 'tasks':
      return 'device_not_found';
    case 'received':
      return 'page_not_found';
    default:
      return 'path_not_found';
  }
}

/** The failing fields in the order of the template, in which `from` also means `from_number`. */
function inTemplateOrder(error: InvalidField, { replyTemplates }: Assumptions): InvalidField {
  const order = replyTemplates.invalid_field?.fields;
  if (order === undefined) return error;
  const rankOf = (field: string) => {
    const index = order.indexOf(field === 'from_number' ? 'from' : field);
    return index < 0 ? order.length : index;
  };
  // Sorting keeps the failures, of which there is at least one: its type does not say so.
  const failures = error.failures.toSorted((a, b) => rankOf(a.field) - rankOf(b.field));
  return { ...error, failures: failures as unknown as InvalidField['failures'] };
}

/** The failing fields that the reply names. */
function namedFailures({ failures }: InvalidField, { validationScope }: Assumptions) {
  return validationScope === 'first' ? failures.slice(0, 1) : failures;
}

/** The values that every template may use. */
function requestValues(
  world: ReplyContext,
  { path, method, body }: Pick<ApiRequest, 'path' | 'method' | 'body'>,
): Values {
  const nowMs = world.now();
  // The stream follows from the request alone, so a snapshot need not save its position.
  const ids = Rng.stream(world.seed, `${method} ${path} ${body.length}`);
  return { now: isoTime(nowMs), uuid: drawUuid(ids), path, method };
}

/** The values that only the templates of refusals may use. */
function refusalValues(
  error: ServiceError,
  { path }: ApiRequest,
  assumptions: Assumptions,
): Values {
  const { code, detail } = errorReplies[error.kind];
  switch (error.kind) {
    case 'invalid_field': {
      const [first] = error.failures;
      return { code: first.field, field: first.field, detail: first.detail };
    }
    case 'throttled':
      return { code: 'throttled', detail, retry_after: error.retryAfterSeconds };
    case 'malformed_json':
      return { code, detail: error.detail };
    case 'method_not_allowed':
      return {
        code,
        detail,
        allow: error.allow,
        allowed_method: routeOf(path, assumptions)?.method ?? '',
      };
    default:
      return { code, detail };
  }
}

/** The values of placeholders, by name. */
type Values = Readonly<Record<string, unknown>>;

/** A value that is already JSON text, such as the list of `{items}`. */
class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/**
 * The filled template as JSON text. A text that is exactly one placeholder becomes its value, of
 * any type. Two parts are repeated for each failing field: a member of an object whose name has the
 * placeholder `{field}`, and the only entry of a list if it has that placeholder. `failures`: the
 * failing fields that are not filled in yet.
 */
function fillBody(template: Json, values: Values, failures: readonly FieldFailure[] = []): string {
  if (typeof template === 'string') return jsonOf(filledValue(template, values));
  if (isList(template)) return fillList(template, values, failures);
  if (typeof template !== 'object' || template === null) return JSON.stringify(template);
  // Built as text: an object literal would lose a field called __proto__.
  const members = Object.entries(template).flatMap(([name, value]) =>
    failures.length > 0 && mentions(name, 'field')
      ? failures.map((failure) => member(name, value, { ...values, ...failure }, []))
      : [member(name, value, values, failures)],
  );
  return `{${members.join(',')}}`;
}

function isList(template: Json): template is readonly Json[] {
  return Array.isArray(template);
}

function fillList(
  template: readonly Json[],
  values: Values,
  failures: readonly FieldFailure[],
): string {
  const [onlyItem] = template;
  const isRepeated = template.length === 1 && failures.length > 0 && mentions(onlyItem, 'field');
  const items = isRepeated
    ? failures.map((failure) => fillBody(onlyItem as Json, { ...values, ...failure }))
    : template.map((item) => fillBody(item, values, failures));
  return `[${items.join(',')}]`;
}

function member(
  name: string,
  value: Json,
  values: Values,
  failures: readonly FieldFailure[],
): string {
  return `${JSON.stringify(fillText(name, values))}:${fillBody(value, values, failures)}`;
}

const placeholder = /\{([a-z_]+)\}/g;

/** Replaces the placeholders that have a value; others stay as they are. */
function fillText(template: string, values: Values): string {
  return template.replaceAll(placeholder, (unchanged, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : unchanged,
  );
}

function filledValue(template: string, values: Values): unknown {
  const name = /^\{([a-z_]+)\}$/.exec(template)?.[1];
  return name !== undefined && Object.hasOwn(values, name)
    ? values[name]
    : fillText(template, values);
}

function jsonOf(value: unknown): string {
  return value instanceof RawJson ? value.text : JSON.stringify(value);
}
