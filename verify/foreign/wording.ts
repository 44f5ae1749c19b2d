/**
 * How a foreign server words its replies, as templates: the document shows only the body of a 429,
 * so every wording is permitted.
 */
import type { Json, ReplyTemplate } from '#contract/request-and-reply.ts';

type Templates = Readonly<Record<string, ReplyTemplate>>;

const html = { 'content-type': 'text/html; charset=utf-8' };

/**
 * The templates of a wording. `error`: the body of errors with a code; `invalid`: the body of a 400
 * that names fields; `others`: templates in place of the shared ones.
 */
function wording(error: Json | undefined, invalid: Json | undefined, others: Templates): Templates {
  const errorBody = error === undefined ? {} : { body: error };
  return {
    ...(error !== undefined && { error: errorBody }),
    ...(invalid !== undefined && { invalid_field: { body: invalid } }),
    not_found: { body: { detail: 'No Message matches the given query.' } },
    malformed_json: { body: { detail: 'JSON parse error' } },
    invalid_key: { headers: { 'www-authenticate': null }, ...errorBody },
    method_not_allowed: { headers: { allow: '{allowed_method}' }, ...errorBody },
    throttled: {
      body: { detail: 'Request was throttled. Expected available in {retry_after} seconds.' },
    },
    stats: { body: { sent: '{accepted}' } },
    received: { body: { results: '{items}' } },
    tasks: { body: { tasks: '{items}' } },
    ...others,
  };
}

const byField = { '{field}': ['{detail}'] };
const coded = { code: '{code}', message: '{detail}' };
const frameworkError = { detail: coded, status: '{status}' };

export const wordings = {
  code_detail: wording(undefined, undefined, {}),
  arrays: wording(
    { error: coded },
    { error: { ...coded, fields: byField } },
    { received: { body: '{items}' }, tasks: { body: '{items}' } },
  ),
  title: wording(
    { title: '{detail}', code: '{code}', type: 'about:blank' },
    { title: 'Invalid', code: '{field}', errors: byField },
    {},
  ),
  /** The errors of a web framework, a page of HTML for unknown paths, and other names in lists. */
  framework: wording(
    frameworkError,
    { detail: [{ loc: ['body', '{field}'], msg: '{detail}', type: 'invalid' }] },
    {
      malformed_json: { body: { ...frameworkError, detail: { ...coded, code: 'json_invalid' } } },
      path_not_found: { body: '<p>Cannot find {path}.</p>', headers: html },
      method_not_allowed: { body: '', headers: { ...html, allow: '{allowed_method}, OPTIONS' } },
      stats: { body: { data: { usage: { total: '{accepted}' }, plan: 'basic' } } },
      received: {
        body: { items: '{items}', total: '{count}' },
        item: {
          uid: '{message_id}',
          line: '{device_id}',
          sender: '{from_number}',
          recipient: '{to}',
          body: '{message}',
          at: '{received_at}',
          channel: 'sms',
        },
      },
      tasks: {
        body: { items: '{items}', total: '{count}' },
        item: {
          id: '{message_id}',
          recipient: '{to}',
          sender: '{from_number}',
          body: '{message}',
          channel: 'sms',
        },
      },
    },
  ),
  /** A 400 points to the failing field. The statistics contain constants. */
  jsonapi: wording(
    { errors: [{ status: '{status}', code: '{code}', detail: '{detail}' }] },
    {
      errors: [
        {
          status: '400',
          code: '{field}',
          title: 'Invalid Attribute',
          detail: '{detail}',
          source: { pointer: '/{field}' },
        },
      ],
    },
    {
      stats: {
        body: {
          data: {
            type: 'stats',
            attributes: { accepted: '{accepted}', inbound: '{received}', monthly: '{quota_limit}' },
          },
        },
      },
    },
  ),
} as const satisfies Readonly<Record<string, Templates>>;
