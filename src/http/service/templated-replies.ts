/**
 * The replies of another service: what the simulator would answer, worded by the templates in
 * force. Without templates, which is the default, a reply leaves as it is.
 * Rules: SEND-5, ERR-3, ERR-4. Assumes: replyTemplates, notFoundBody, malformedJson.
 */
import type { ServiceError } from '../../sim/errors.ts';
import { drawUuid } from '../../sim/ids.ts';
import { isoTime } from '../../sim/iso-time.ts';
import type { EndpointName } from '../../sim/limits.ts';
import {
  noReplyTemplates,
  type ReplyTemplate,
  type TemplateName,
} from '../../sim/reply-templates.ts';
import { Rng } from '../../sim/rng.ts';
import type { World } from '../../sim/world.ts';
import { errorReplies, errorReply } from './error-replies.ts';
import { fillBody, fillText, RawJson, type Values } from './fill-template.ts';
import type { ApiReply, ApiRequest } from './messages.ts';
import { matchOtherSpelling, matchRoute } from './routes.ts';

/** What a template is filled from. */
export interface Setting {
  readonly seed: number;
  now(): number;
  readonly assumptions: World['assumptions'];
}

/** The reply to a refusal. */
export function refuse(world: Setting, request: ApiRequest, error: ServiceError): ApiReply {
  const { assumptions } = world;
  const reply = errorReply(error, assumptions);
  if (assumptions.replyTemplates === noReplyTemplates) return reply;
  const template = templateOf(error, request, assumptions);
  if (template === undefined) return reply;
  const values = {
    ...valuesOf(world, request),
    ...refusalValues(error, request, assumptions),
    status: reply.status,
  };
  const failures = error.kind === 'invalid_field' ? namedFailures(error, assumptions) : [];
  return worded(reply, template, values, failures);
}

/** Another reply; `values` is only called where a template is in force. */
export function reword(
  world: Setting,
  request: ApiRequest,
  name: TemplateName,
  reply: ApiReply,
  values: () => Values,
): ApiReply {
  const template = world.assumptions.replyTemplates[name];
  if (template === undefined) return reply;
  return worded(reply, template, { ...valuesOf(world, request), ...values() });
}

/** The list of a reply, each entry as the template of `name` shapes it. */
export function itemsOf(
  world: Setting,
  request: ApiRequest,
  name: 'received' | 'tasks',
  items: readonly object[],
): RawJson {
  const shape = world.assumptions.replyTemplates[name]?.item;
  const shared = valuesOf(world, request);
  const texts = items.map((item) =>
    shape === undefined ? JSON.stringify(item) : fillBody(shape, { ...shared, ...item }),
  );
  return new RawJson(`[${texts.join(',')}]`);
}

function worded(
  reply: ApiReply,
  template: ReplyTemplate,
  values: Values,
  failures: Parameters<typeof fillBody>[2] = [],
): ApiReply {
  const body =
    template.body === undefined
      ? template.text === undefined
        ? reply.body
        : fillText(template.text, values)
      : fillBody(template.body, values, failures);
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

type Refused = Setting['assumptions'];

/** The template of a refusal, the most specific first. */
function templateOf(
  error: ServiceError,
  request: Pick<ApiRequest, 'path'>,
  assumptions: Refused,
): ReplyTemplate | undefined {
  const { replyTemplates, notFoundBody, malformedJson } = assumptions;
  switch (error.kind) {
    case 'invalid_field':
    case 'throttled':
      return replyTemplates[error.kind];
    case 'not_found':
      return (
        replyTemplates[missing[endpointOf(request, assumptions) ?? 'path'] ?? 'not_found'] ??
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

function endpointOf({ path }: Pick<ApiRequest, 'path'>, assumptions: Refused) {
  return routeOf(path, assumptions)?.endpoint;
}

function routeOf(path: string, assumptions: Refused) {
  return (matchRoute(path) ?? matchOtherSpelling(path, assumptions))?.route;
}

/** What is missing where a path is answered with 404. */
const missing: Readonly<Partial<Record<EndpointName | 'path', TemplateName>>> = {
  path: 'path_not_found',
  tasks: 'device_not_found',
  received: 'page_not_found',
  send: 'path_not_found',
  dashboard_send: 'path_not_found',
  external_send: 'path_not_found',
  stats: 'path_not_found',
};

function namedFailures(
  { failures }: Extract<ServiceError, { kind: 'invalid_field' }>,
  { validationScope }: Setting['assumptions'],
) {
  return validationScope === 'first' ? failures.slice(0, 1) : failures;
}

function valuesOf(world: Setting, { path, method, body }: ApiRequest): Values {
  const nowMs = world.now();
  // Drawn from the request alone: a stream of its own would be one more state to restore.
  const ids = Rng.stream(world.seed, `${method} ${path} ${body.length}`);
  return { now: isoTime(nowMs), uuid: drawUuid(ids), path, method };
}

function refusalValues(error: ServiceError, { path }: ApiRequest, assumptions: Refused): Values {
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
