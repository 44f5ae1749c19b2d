/**
 * Every refusal of the simulator, declared once: status, code and text. The service answers with
 * them. The harness compares a target's refusals with them, so that its discovered assumptions
 * state only differences. Rules: SEND-5, READ-2, AUTH-3 to AUTH-5, ERR-1 to ERR-4.
 */
import type { limitsAndReplays } from './assumptions/limits-and-devices.ts';

interface Refusal {
  readonly status: number;
  /**
   * Undefined: the body has no code, or the code is taken from the refusal, such as a field name.
   */
  readonly code: string | undefined;
  readonly detail: string;
  /** True for the rows of the document's Errors part. */
  readonly isDocumented: boolean;
}

export const refusals = {
  // The code is the name of the failing field.
  invalid_field: {
    status: 400,
    code: undefined,
    detail: 'A field failed validation.',
    isDocumented: true,
  },
  // sic: the document's spelling.
  invalid_key: {
    status: 401,
    code: 'auth_invalid_keyy',
    detail: 'The API key is missing, wrong or revoked.',
    isDocumented: true,
  },
  quota_exceeded: {
    status: 402,
    code: 'quota_exceeded',
    detail: 'The monthly SMS limit of the plan is reached.',
    isDocumented: true,
  },
  number_not_found: {
    status: 403,
    code: 'from_number_not_found',
    detail: 'The sender number is not registered to any SIM on the account.',
    isDocumented: true,
  },
  // sic: the document's spelling.
  number_access_denied: {
    status: 403,
    code: 'from_number_access_deniedd',
    detail: 'The account is not allowed to send from this number.',
    isDocumented: true,
  },
  not_found: { status: 404, code: 'not_found', detail: 'Not found.', isDocumented: true },
  // The body has only `detail`; the wait is also in the header Retry-After.
  throttled: { status: 429, code: undefined, detail: 'Request was throttled.', isDocumented: true },
  device_inactive: {
    status: 503,
    code: 'device_inactive',
    detail: 'The SIM behind the sender number has been deactivated.',
    isDocumented: true,
  },
  malformed_json: {
    status: 400,
    code: 'malformed_json',
    detail: 'The body is not a JSON object.',
    isDocumented: false,
  },
  method_not_allowed: {
    status: 405,
    code: 'method_not_allowed',
    detail: 'This path does not take this method.',
    isDocumented: false,
  },
  request_id_conflict: {
    status: 409,
    code: 'request_id_conflict',
    detail: 'This request_id was used for another message.',
    isDocumented: false,
  },
  overloaded: {
    status: 503,
    code: 'overloaded',
    detail: 'The service holds as many unfinished messages as it can; try again later.',
    isDocumented: false,
  },
  unsupported_media_type: {
    status: 415,
    code: 'unsupported_media_type',
    detail: 'The body must be declared as application/json.',
    isDocumented: false,
  },
  unsupported_content_encoding: {
    status: 415,
    code: 'unsupported_content_encoding',
    detail: 'The body must be sent without a Content-Encoding such as gzip.',
    isDocumented: false,
  },
} as const satisfies Record<string, Refusal>;

type ReplyToOtherBody = keyof typeof limitsAndReplays.replayDifferentBody.answers;

/** The status of the reply to a used `request_id` with another body, by the answer of the assumption. */
export const statusOfOtherBody: Readonly<Record<ReplyToOtherBody, number>> = {
  return_original: 200,
  conflict: refusals.request_id_conflict.status,
};
/** Those of `statusOfOtherBody` that refuse. */
export const conflictStatuses = Object.values(statusOfOtherBody).filter((status) => status >= 400);

/** The refusals of a send whose reply follows from the kind alone. */
export type SendRefusal =
  | 'quota_exceeded'
  | 'number_not_found'
  | 'number_access_denied'
  | 'device_inactive';

/** The refusals that a world can script for a recipient, by their names in a world file. */
export const scriptedRefusals = {
  quota_exceeded: 'quota_exceeded',
  from_number_not_found: 'number_not_found',
  from_number_access_deniedd: 'number_access_denied',
  device_inactive: 'device_inactive',
  throttled: 'throttled',
} as const satisfies Readonly<Record<string, SendRefusal | 'throttled'>>;
export type ScriptedRefusal = keyof typeof scriptedRefusals;
/** The recipients that every world scripts, by the outcome, unless its own outcomes differ. */
export const scriptedRecipients = {
  failsQueued: '+12025550160',
  failsSending: '+12025550161',
  failsSent: '+12025550162',
  staysQueued: '+12025550163',
  staysSending: '+12025550164',
  staysSent: '+12025550165',
  slow: '+12025550166',
  overQuota: '+12025550170',
  unknownSender: '+12025550171',
  deniedSender: '+12025550172',
  inactiveSender: '+12025550173',
  throttled: '+12025550174',
} as const;

/** What a refusal with `malformed_json` says, by the mistake. */
export const malformedDetails = {
  malformed_json: 'The body is not valid JSON.',
  not_an_object: 'The body is not a JSON object.',
  empty_body: 'The body is empty; a JSON object is expected.',
} as const;
