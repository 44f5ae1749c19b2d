/**
 * Variations of the foreign service: how it answers where the document is silent. The document
 * permits all of them, so the harness must not fail a rule on any. It shows only the body of a 429,
 * so every wording is permitted, too.
 */
import type { Json, ReplyTemplate } from '#contract/request-and-reply.ts';
import type { Assumptions } from '../model/answers.ts';

/** In what a variation differs from `plain`. */
export interface Variation {
  /** Answers other than those that all variations share. */
  readonly answers?: Partial<Assumptions>;
  /** How replies are worded; by default `code_detail`. */
  readonly wording?: keyof typeof wordings;
  /** `detail` states the wait with decimals; the header rounds it up. */
  readonly statesFractions?: boolean;
  /** Writes device ids in capitals. */
  readonly upperCaseIds?: boolean;
  /** Adds headers that differ from reply to reply, as a CDN does. */
  readonly addsRequestHeaders?: boolean;
  /** Reads a `send_at` with a space in place of its T. */
  readonly readsSpaceInTime?: boolean;
  /** Every message fails once it was sent. */
  readonly messagesFail?: boolean;
  /** Sends bodies in chunks and with line breaks, then closes the connection. */
  readonly answersInChunks?: boolean;
  readonly contentType?: string;
}

/**
 * The order counts: tests of a few take every second one, or every fourth, and those are placed
 * there that differ most from the simulator.
 */
export const variations: Readonly<Record<string, Variation>> = {
  /** Differs from the simulator's defaults wherever it can. */
  odd: {
    answers: {
      limiterRefill: 'interval_aligned',
      errorsSpendToken: 'no',
      validationScope: 'all',
      methodNotAllowed: '404',
      trailingSlash: 'redirect',
      contentType: 'ignore',
      typeCoercion: 'coerce',
      blankMessage: 'accept',
      sendAtZone: 'any_offset',
      characterUnit: 'graphemes',
      unknownFields: 'reject',
      nullFields: 'absent',
      bothSenderFields: 'alias_wins',
      replaySpends: 'nothing',
      replayDifferentBody: 'conflict',
      replayAcrossEndpoints: 'separate',
      foreignNumber: 'not_found',
      unauthenticatedThrottle: 'always_401',
      heldStatus: 'scheduled',
      pathIdForm: 'any_case',
    },
    wording: 'arrays',
    upperCaseIds: true,
    addsRequestHeaders: true,
  },
  plain: {},
  /** Slow telephones that take a few messages at a time; all messages fail. */
  telecom: {
    answers: {
      limiterRefill: 'interval',
      pollIntervalSeconds: 7,
      sendsPerPoll: 12,
      failedRequestId: 'burned',
      clientIp: 'x_forwarded_for',
      trailingSlash: 'redirect',
    },
    messagesFail: true,
    answersInChunks: true,
    contentType: 'application/json; charset=UTF-8',
  },
  gateway: {
    answers: {
      limiterRefill: 'continuous',
      errorsSpendToken: 'no',
      replaySpends: 'nothing',
      contentType: 'ignore',
    },
    wording: 'title',
    addsRequestHeaders: true,
  },
  /** Counts refused requests. */
  strict: {
    answers: {
      refusedSpendsToken: 'yes',
      unknownFields: 'reject',
      replayAcrossEndpoints: 'separate',
      pollIntervalSeconds: 3,
    },
    wording: 'arrays',
    statesFractions: true,
    addsRequestHeaders: true,
  },
  framework: {
    answers: {
      limiterRefill: 'interval_aligned',
      validationScope: 'all',
      nullFields: 'absent',
      keyCheck: 'first',
      headMethod: 'refused',
      trailingSlash: 'served',
      pathCase: 'any',
      emptyBody: 'no_fields',
      emptySendAt: 'absent',
    },
    wording: 'framework',
    readsSpaceInTime: true,
    contentType: 'application/json; charset=utf-8',
  },
  django: {
    answers: {
      errorBody: 'field_map',
      validationScope: 'all',
      trailingSlash: 'redirect',
      typeCoercion: 'coerce',
      sendAtZone: 'any_offset',
      pathIdForm: 'any_case',
    },
    upperCaseIds: true,
  },
  jsonapi: {
    answers: {
      validationScope: 'all',
      trailingSlash: 'redirect',
      unknownFields: 'reject',
      replayDifferentBody: 'conflict',
    },
    wording: 'jsonapi',
  },
};

type Templates = Readonly<Record<string, ReplyTemplate>>;

const html = { 'content-type': 'text/html; charset=utf-8' };

interface Wording {
  readonly error?: Json;
  /** The body of a 400 that names fields. */
  readonly invalid?: Json;
  /** Templates in place of the shared ones. */
  readonly others?: Templates;
}

function templatesOf({ error, invalid, others }: Wording): Templates {
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
  code_detail: templatesOf({}),
  arrays: templatesOf({
    error: { error: coded },
    invalid: { error: { ...coded, fields: byField } },
    others: { received: { body: '{items}' }, tasks: { body: '{items}' } },
  }),
  title: templatesOf({
    error: { title: '{detail}', code: '{code}', type: 'about:blank' },
    invalid: { title: 'Invalid', code: '{field}', errors: byField },
  }),
  /** The errors of a web framework, a page of HTML for unknown paths, and other names in lists. */
  framework: templatesOf({
    error: frameworkError,
    invalid: { detail: [{ loc: ['body', '{field}'], msg: '{detail}', type: 'invalid' }] },
    others: {
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
  }),
  /** A 400 points to the failing field. The statistics contain constants. */
  jsonapi: templatesOf({
    error: { errors: [{ status: '{status}', code: '{code}', detail: '{detail}' }] },
    invalid: {
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
    others: {
      stats: {
        body: {
          data: {
            type: 'stats',
            attributes: { accepted: '{accepted}', inbound: '{received}', monthly: '{quota_limit}' },
          },
        },
      },
    },
  }),
} as const satisfies Readonly<Record<string, Templates>>;
