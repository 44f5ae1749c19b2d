/**
 * ServiceError: the closed union of what the service refuses. Refusals are values, never thrown.
 * Rules: SEND-5, READ-2, AUTH-3 to AUTH-5, ERR-1 to ERR-4. Status and code stand in
 * `http/error-replies.ts` alone.
 */

/** One field that failed validation, by the name the caller used for it (SEND-5). */
export interface FieldFailure {
  readonly field: string;
  readonly detail: string;
}

export type ServiceError =
  | {
      readonly kind: 'invalid_field';
      readonly failures: readonly [FieldFailure, ...FieldFailure[]];
    }
  | { readonly kind: 'invalid_key' }
  | { readonly kind: 'quota_exceeded' }
  | { readonly kind: 'number_not_found' }
  | { readonly kind: 'number_access_denied' }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number }
  | { readonly kind: 'device_inactive' }
  | UndocumentedError;

/** Refusals that the document does not list, each an answer of an assumption. */
export type UndocumentedError =
  | {
      readonly kind: 'malformed_json';
      readonly detail: string;
      readonly mistake: 'malformed_json' | 'empty_body' | 'not_an_object';
    }
  | { readonly kind: 'unsupported_media_type' }
  | { readonly kind: 'unsupported_content_encoding' }
  | { readonly kind: 'method_not_allowed'; readonly allow: string }
  | { readonly kind: 'request_id_conflict' }
  /** `--max-messages` is reached, and no message that could be forgotten is final. */
  | { readonly kind: 'overloaded' };

/** A bug, not a refusal: the request answers 500 and a test that sees it fails. */
export function assert(condition: unknown, why: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${why}`);
}
