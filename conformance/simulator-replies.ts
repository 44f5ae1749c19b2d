/**
 * The simulator's wording of refusals, so that a discovered file names only differences. A test
 * compares this table with the simulator.
 */
import type { Json } from '../src/ledger/reply-template.ts';

/** Status, code and text of each refusal that never varies. */
export const simulatorRefusals = {
  invalid_key: [401, 'auth_invalid_keyy', 'The API key is missing, wrong or revoked.'],
  quota_exceeded: [402, 'quota_exceeded', 'The monthly SMS limit of the plan is reached.'],
  number_not_found: [
    403,
    'from_number_not_found',
    'The sender number is not registered to any SIM on the account.',
  ],
  number_access_denied: [
    403,
    'from_number_access_deniedd',
    'The account is not allowed to send from this number.',
  ],
  not_found: [404, 'not_found', 'Not found.'],
  device_inactive: [
    503,
    'device_inactive',
    'The SIM behind the sender number has been deactivated.',
  ],
  malformed_json: [400, 'malformed_json', 'The body is not valid JSON.'],
  not_an_object: [400, 'malformed_json', 'The body is not a JSON object.'],
  empty_body: [400, 'malformed_json', 'The body is empty; a JSON object is expected.'],
  method_not_allowed: [405, 'method_not_allowed', 'This path does not take this method.'],
  request_id_conflict: [
    409,
    'request_id_conflict',
    'This request_id was used for another message.',
  ],
  unsupported_media_type: [
    415,
    'unsupported_media_type',
    'The body must be declared as application/json.',
  ],
  unsupported_content_encoding: [
    415,
    'unsupported_content_encoding',
    'The body must be sent without a Content-Encoding such as gzip.',
  ],
} as const satisfies Record<string, readonly [number, string, string]>;

export type Refusal = keyof typeof simulatorRefusals;

/** The body of a refusal in each shape that an assumption names. */
export function ownBodies(kind: Refusal): Readonly<Record<'flat' | 'nested' | 'detail', Json>> {
  const [, code, detail] = simulatorRefusals[kind];
  return {
    flat: { code, detail },
    nested: { error: { code, message: detail } },
    detail: { detail },
  };
}
