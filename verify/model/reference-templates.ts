/**
 * Applies reply templates in the reference model. A template replaces the status, body or headers
 * of one kind of reply. An expected value that only the simulator knows becomes a predicate.
 * Rules: SEND-5, ERR-3, ERR-4. Assumes: replyTemplates, notFoundBody, malformedJson.
 */
import type { ApiRequest, ReplyTemplate } from '#contract/request-and-reply.ts';
import { parseJson } from '../testkit/parse-json.ts';
import type { Assumptions } from './answers.ts';
import { anyText, type Expected, isUuid } from './reference-replies.ts';

/** What decides which template applies, and what its placeholders stand for. */
interface Context {
  readonly request: ApiRequest;
  /** Undefined: the path is not one of the document's. */
  readonly endpoint: string | undefined;
  readonly nowMs: number;
  readonly assumptions: Assumptions;
}

/** The values of the placeholders, by name; a function tests the value in its place. */
type Values = Readonly<Record<string, unknown>>;

/** The expected reply in the form of its template; unchanged if no template applies. */
export function applyTemplate(reply: Expected, context: Context): Expected {
  const templates = context.assumptions.replyTemplates as Readonly<Record<string, ReplyTemplate>>;
  const name = templateNamesOf(reply, context).find((each) => Object.hasOwn(templates, each));
  const template = name === undefined ? undefined : templates[name];
  if (template === undefined) return reply;
  const values = valuesOf(reply, template, context);
  const { bytes: _, ...rest } = reply;
  const hasBody = template.body !== undefined;
  return {
    // The exact bytes are no longer known.
    ...(hasBody ? rest : reply),
    status: template.status ?? reply.status,
    ...(hasBody && { body: expectedValue(template.body, values, reply.failing ?? []) }),
    headers: headersOf(reply.headers, template.headers ?? {}, values),
  };
}

/** The templates of statuses that have only one kind of reply. */
const namesByStatus: Readonly<Record<number, readonly string[]>> = {
  301: ['redirect'],
  401: ['invalid_key', 'error'],
  402: ['quota_exceeded', 'error'],
  405: ['method_not_allowed', 'error'],
  409: ['request_id_conflict', 'error'],
  413: ['error'],
  429: ['throttled'],
  503: ['device_inactive', 'error'],
};

/** The templates that apply to this reply, the most specific first. */
function templateNamesOf({ status, body, failing }: Expected, context: Context): readonly string[] {
  const { endpoint, request, assumptions } = context;
  if (status < 300) {
    if (endpoint === 'send' || endpoint === 'read') return ['message'];
    return [endpoint ?? ''];
  }
  if (failing !== undefined) return ['invalid_field'];
  if (status === 400) {
    const coded = assumptions.malformedJson === 'code_400' ? ['error'] : [];
    return [templateOfBadBody(request.body), 'malformed_json', ...coded];
  }
  if (status === 404) {
    const names = { read: 'not_found', tasks: 'device_not_found', received: 'page_not_found' };
    const missing = names[endpoint as keyof typeof names] ?? 'path_not_found';
    return [missing, 'not_found', ...(assumptions.notFoundBody === 'code_detail' ? ['error'] : [])];
  }
  if (status === 403) {
    const isUnknown = codeIn(body) === 'from_number_not_found';
    return [isUnknown ? 'number_not_found' : 'number_access_denied', 'error'];
  }
  if (status === 415) {
    const type = (request.contentType ?? '').split(';')[0]?.trim().toLowerCase();
    const kind = type === 'application/json' ? 'content_encoding' : 'media_type';
    return [`unsupported_${kind}`, 'error'];
  }
  const names = namesByStatus[status];
  if (names === undefined)
    throw new Error(`namesByStatus lacks the status ${status}: name its templates`);
  return names;
}

function templateOfBadBody(body: string | Uint8Array): string {
  if (body.length === 0) return 'empty_body';
  return parseJson(body) === undefined ? 'malformed_json' : 'not_an_object';
}

function codeIn(body: unknown): unknown {
  const { code, error } = body as { code?: unknown; error?: { code?: unknown } };
  return code ?? error?.code;
}

function valuesOf(reply: Expected, template: ReplyTemplate, context: Context): Values {
  const { request, nowMs, endpoint } = context;
  const isGet = endpoint !== undefined && !endpoint.endsWith('send');
  const { status, body, headers, failing = [] } = reply;
  const wait = headers['retry-after'];
  const shared = {
    now: new Date(nowMs).toISOString(),
    uuid: isUuid,
    // The transport refuses a body that is too long before the request is read.
    path: reply.status === 413 ? '' : request.path,
    method: reply.status === 413 ? '' : request.method,
  };
  return {
    ...shared,
    status,
    code: failing[0] ?? (status >= 400 ? codeIn(body) : undefined) ?? anyText,
    detail: anyText,
    field: failing[0],
    retry_after: wait === undefined ? undefined : Number(wait),
    allow: headers['allow'],
    allowed_method: isGet ? 'GET' : 'POST',
    location: headers['location'],
    ...(status < 300 &&
      endpoint !== undefined &&
      endpointValues(endpoint, reply, template, shared)),
  };
}

/** The values of placeholders that only successful replies of one endpoint have. */
function endpointValues(
  endpoint: string,
  { body, page }: Expected,
  template: ReplyTemplate,
  shared: Values,
): Values {
  const fields = body as Values;
  const list = (name: string): readonly unknown[] =>
    Array.isArray(body) ? body : (fields[name] as readonly unknown[]);
  const items = (name: string) =>
    list(name).map((item) =>
      template.item === undefined
        ? item
        : expectedValue(template.item, { ...shared, ...(item as Values) }, []),
    );
  switch (endpoint) {
    case 'stats': {
      const { messages, quota } = fields as Record<string, Record<string, number | null>>;
      const counts = Object.values(messages ?? {}).map(Number);
      const { used = null, limit = null } = quota ?? {};
      return {
        ...messages,
        accepted: counts.reduce((sum, count) => sum + count, 0),
        quota_used: used,
        quota_limit: limit,
        quota_left: limit === null ? null : Math.max(0, limit - Number(used)),
        sims_connected: fields['sims_connected'],
        received: fields['received'],
      };
    }
    case 'received':
      return { ...page, items: items('results') };
    case 'tasks':
      return { count: list('tasks').length, items: items('tasks') };
    default:
      return fields;
  }
}

/**
 * The expected JSON of a template. A list with one entry, or a member, that contains `{field}` is
 * repeated for each failing field of a 400.
 */
function expectedValue(template: unknown, values: Values, failing: readonly string[]): unknown {
  if (typeof template === 'string') return expectedText(template, values);
  if (Array.isArray(template)) {
    const isRepeated =
      template.length === 1 && failing.length > 0 && containsFieldPlaceholder(template[0]);
    return isRepeated
      ? failing.map((field) => expectedValue(template[0], { ...values, field }, []))
      : template.map((item) => expectedValue(item, values, failing));
  }
  if (typeof template !== 'object' || template === null) return template;
  const members: [string, unknown][] = [];
  for (const [name, value] of Object.entries(template)) {
    const fields = containsFieldPlaceholder(name) ? failing : [];
    for (const field of fields) {
      const withField = { ...values, field };
      members.push([fillText(name, withField), expectedValue(value, withField, [])]);
    }
    if (fields.length === 0)
      members.push([fillText(name, values), expectedValue(value, values, failing)]);
  }
  return Object.fromEntries(members);
}

function containsFieldPlaceholder(template: unknown): boolean {
  return JSON.stringify(template).includes('{field}');
}

function fillText(name: string, values: Values): string {
  return name.replaceAll(/\{(\w+)\}/g, (placeholder, each) => String(values[each] ?? placeholder));
}

function expectedText(text: string, values: Values): unknown {
  const placeholder = /^\{(\w+)\}$/.exec(text)?.[1];
  if (placeholder !== undefined && placeholder in values) return values[placeholder];
  // Every second part is the name of a placeholder.
  const parts = text.split(/\{(\w+)\}/);
  const isPlain = (name: string) => typeof values[name] !== 'function';
  if (parts.every((part, i) => i % 2 === 0 || isPlain(part))) return fillText(text, values);
  const pattern = parts.map((part, i) => {
    if (i % 2 === 0) return escaped(part);
    return isPlain(part) ? escaped(String(values[part])) : '.+';
  });
  const expected = new RegExp(`^${pattern.join('')}$`, 's');
  return (value: unknown) => typeof value === 'string' && expected.test(value);
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function headersOf(
  untemplated: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
  values: Values,
): Record<string, string> {
  const headers = { ...untemplated };
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete headers[name];
    else headers[name] = fillText(value, values);
  }
  return headers;
}
