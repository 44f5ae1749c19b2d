/**
 * Reply templates: they give replies the wording of another service where the document leaves it
 * open. Placeholders such as `{field}` stand for values of the current reply;
 * `src/http/service/fill-template.ts` fills them in. The schema refuses a template that changes
 * what the document states: statuses, the header `Retry-After`, the fields of a message.
 */
import { z } from 'zod';
import { statuses as messageStatuses } from '#contract/message-status.ts';
import { isObject, type ReplyTemplate } from '#contract/request-and-reply.ts';

// The placeholders of all replies, of listed items, of refusals, and of the two other sends.
const everywhere = ['now', 'uuid', 'path', 'method'];
const ofItems = ['message_id', 'device_id', 'from_number', 'to', 'message'];
const ofRefusals = [...everywhere, 'status', 'code', 'detail'];
const ofSends = [
  ...everywhere,
  'status',
  'message_id',
  'request_id',
  'device_id',
  'from_number',
  'to',
  'created_at',
];

/** What the template of one reply may choose and use. */
interface TemplateRow {
  readonly placeholders: readonly string[];
  /** The statuses that a template may choose; if absent, the status is fixed. */
  readonly statuses?: readonly [from: number, to: number];
  /** Set if the reply is a list: the placeholders of `item`, which shapes each entry. */
  readonly itemPlaceholders?: readonly string[];
}

const anyRefusal = { placeholders: ofRefusals, statuses: [400, 599] } as const;
const documented = { placeholders: ofRefusals } as const;

/** Every reply that may have a template. */
export const templateRows = {
  /** Refusals that have a code but no template of their own. */
  error: documented,
  invalid_field: { placeholders: [...ofRefusals, 'field'] },
  invalid_key: documented,
  quota_exceeded: documented,
  number_not_found: documented,
  number_access_denied: documented,
  not_found: documented,
  path_not_found: documented,
  device_not_found: documented,
  page_not_found: documented,
  throttled: { placeholders: [...ofRefusals, 'retry_after'] },
  device_inactive: documented,
  malformed_json: anyRefusal,
  not_an_object: anyRefusal,
  empty_body: anyRefusal,
  method_not_allowed: { ...anyRefusal, placeholders: [...ofRefusals, 'allow', 'allowed_method'] },
  request_id_conflict: anyRefusal,
  unsupported_media_type: anyRefusal,
  unsupported_content_encoding: anyRefusal,
  redirect: { placeholders: [...everywhere, 'location'], statuses: [300, 399] },
  stats: {
    placeholders: [
      ...everywhere,
      'accepted',
      ...messageStatuses,
      'received',
      'quota_used',
      'quota_limit',
      'quota_left',
      'sims_connected',
    ],
  },
  received: {
    placeholders: [...everywhere, 'items', 'count', 'next', 'previous'],
    itemPlaceholders: [...everywhere, ...ofItems, 'received_at'],
  },
  tasks: {
    placeholders: [...everywhere, 'items', 'count'],
    itemPlaceholders: [...everywhere, ...ofItems, 'request_id', 'created_at'],
  },
  /** Replies with a message: headers only, because RES-1 states the body. */
  message: { placeholders: everywhere },
  dashboard_send: { placeholders: ofSends, statuses: [200, 299] },
  external_send: { placeholders: ofSends, statuses: [200, 299] },
} as const satisfies Record<string, TemplateRow>;

export type TemplateName = keyof typeof templateRows;
export const templateNames = Object.keys(templateRows) as TemplateName[];

export type ReplyTemplates = { readonly [N in TemplateName]?: ReplyTemplate };

/**
 * The default. It is recognised by identity, so that replies are not inspected while it is in
 * force.
 */
export const noReplyTemplates: ReplyTemplates = {};

/** The longest template in characters of JSON. A longer one is a mistake, such as an HTML page. */
const longestTemplate = 16_384;

const headerName = /^[a-z][a-z0-9-]*$/;
/** Headers that the transport writes or that rules state: a template may not set them. */
const keptHeaders = ['content-length', 'connection', 'date', 'retry-after', 'transfer-encoding'];
const headerPlaceholders = ['allow', 'allowed_method', 'location'];

const templateSchema = z
  .strictObject({
    status: z.int().exactOptional(),
    headers: z
      .record(
        z.string(),
        z
          .string()
          .regex(/^[ -~]*$/, 'expected printable ASCII')
          .nullable(),
      )
      .exactOptional(),
    body: z.json().exactOptional().describe('JSON with placeholders such as {field}.'),
    text: z.string().exactOptional().describe('The body as literal text, if it is not JSON.'),
    item: z.json().exactOptional().describe('One entry of {items}.'),
    fields: z
      .array(z.string())
      .exactOptional()
      .describe('invalid_field: the order in which failing fields are named.'),
  })
  .meta({ id: 'ReplyTemplate' });

export const replyTemplatesSchema = z
  .partialRecord(z.enum(templateNames), templateSchema)
  .superRefine((templates, context) => {
    for (const [name, template] of Object.entries(templates)) {
      if (!isObject(template)) continue;
      check(name as TemplateName, template as Template, (path, message) =>
        context.addIssue({ code: 'custom', path: [name, ...path], message }),
      );
    }
  })
  .overwrite((given) =>
    Object.keys(given).length === 0 ? (noReplyTemplates as typeof given) : given,
  );

type Template = z.output<typeof templateSchema>;

type Report = (path: readonly string[], mistake: string) => void;

/** Reports every mistake of one template. */
function check(name: TemplateName, template: Template, report: Report): void {
  const { statuses, itemPlaceholders, placeholders } = templateRows[name] as TemplateRow;
  const { status, headers = {}, body, text, item, fields } = template;
  if (status !== undefined) checkStatus(status, statuses, report);
  for (const [header, value] of Object.entries(headers)) {
    if (!headerName.test(header) || keptHeaders.includes(header))
      report(['headers', header], 'a template cannot set this header; leave it out');
    else checkPlaceholders(['headers', header], value, headerPlaceholders, report);
  }
  if (body !== undefined || text !== undefined) checkBody(name, template, report);
  if (item !== undefined && itemPlaceholders === undefined)
    report(['item'], 'this reply is not a list');
  if (item !== undefined && !mentions(body, 'items'))
    report(['item'], 'put "{items}" into `body`, where the list belongs');
  if (fields !== undefined && name !== 'invalid_field')
    report(['fields'], 'this reply names no failing fields');
  checkPlaceholders(['body'], body, placeholders, report);
  checkPlaceholders(['text'], text, placeholders, report);
  checkPlaceholders(['item'], item, itemPlaceholders ?? [], report);
  if (JSON.stringify(template).length > longestTemplate)
    report([], `expected at most ${longestTemplate} characters`);
}

function checkStatus(status: number, permitted: TemplateRow['statuses'], report: Report): void {
  if (permitted === undefined) {
    report(['status'], 'the document states the status of this reply; leave it out');
    return;
  }
  const [from, to] = permitted;
  if (status < from || status > to) report(['status'], `expected ${from} to ${to}`);
}

/** Checks that a body keeps what rules require under every template. */
function checkBody(name: TemplateName, { body, text }: Template, report: Report): void {
  if (body !== undefined && text !== undefined)
    report([], 'expected `body`, which is JSON, or `text`, not both');
  if (name === 'message')
    report([], 'the document states the body of a message (RES-1); give only `headers`');
  if (name === 'invalid_field' && !mentions(body, 'field'))
    report([], 'the body must name the failing field (SEND-5): use {field}');
  const detail = isObject(body) ? body['detail'] : undefined;
  const statesWait = typeof detail === 'string' && detail.includes('{retry_after}');
  if (name === 'throttled' && !statesWait)
    report([], 'the body needs a text `detail` that states the wait (ERR-4): use {retry_after}');
}

function checkPlaceholders(
  path: readonly string[],
  value: unknown,
  permitted: readonly string[],
  report: Report,
): void {
  for (const used of placeholdersIn(value)) {
    if (permitted.includes(used)) continue;
    const list = permitted.map((each) => `{${each}}`).join(', ') || 'none';
    report(path, `unknown placeholder {${used}}; known here: ${list}`);
  }
}

/** A placeholder, such as `{field}`, and its name. */
export const placeholder = /\{([a-z_]+)\}/g;

function placeholdersIn(value: unknown): string[] {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return [...text.matchAll(placeholder)].map(([, name = '']) => name);
}

/** True if a template uses this placeholder anywhere, also in a member's name. */
export function mentions(value: unknown, name: string): boolean {
  return placeholdersIn(value).includes(name);
}
