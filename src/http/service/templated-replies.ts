/**
 * Rewrites replies by the templates in force, so that the twin answers in the words and shapes of
 * another service. By default there are none. Chooses the template of a reply and the values of its
 * placeholders; `fill-template.ts` fills it in. Rules: SEND-5, ERR-3, ERR-4. Assumes:
 * replyTemplates, notFoundBody, malformedJson, validationScope.
 */
import type { EndpointName } from '#contract/limits.ts';
import type { ApiReply, ApiRequest, ReplyTemplate } from '#contract/request-and-reply.ts';
import { matchRoute } from '#contract/routes.ts';
import { isoTime } from '#contract/time.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import type { ServiceError } from '../../sim/errors.ts';
import { drawUuid, Rng } from '../../sim/random.ts';
import { noReplyTemplates, type TemplateName } from '../../sim/reply-templates.ts';
import { codedBody, errorReplies, errorReply } from './error-replies.ts';
import { fillBody, fillTemplate, RawJson, type Values } from './fill-template.ts';
import { matchOtherSpelling } from './other-spellings.ts';

/** The parts of a world that the reply to a request depends on. */
export interface ReplyContext {
  readonly seed: number;
  now(): number;
  readonly assumptions: Registry['assumptions'];
}

/** What every template may say of the request. */
export type TemplatedRequest = Pick<ApiRequest, 'path' | 'method' | 'body'>;

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
export function rewrite(
  world: ReplyContext,
  request: TemplatedRequest,
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

function namedFailures({ failures }: InvalidField, { validationScope }: Assumptions) {
  return validationScope === 'first' ? failures.slice(0, 1) : failures;
}

/** The values that every template may use. */
function requestValues(world: ReplyContext, { path, method, body }: TemplatedRequest): Values {
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
