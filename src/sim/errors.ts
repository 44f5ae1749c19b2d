/**
 * What the service refuses is a value: `ServiceError`, a closed union. What an operation refuses is
 * thrown: `OperationRefused`. A bug is an assertion that fails.
 * Rules: SEND-5, READ-2, AUTH-3 to AUTH-5, ERR-1 to ERR-4. Only `contract/refusals.ts` holds the
 * statuses and codes of the service.
 */

/** One field that failed validation, under the name that the caller used (SEND-5). */
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

/** Refusals that the document does not list: answers of assumptions, and `overloaded`. */
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
  /** `--max-messages` is reached, and every message that could be forgotten is unfinished. */
  | { readonly kind: 'overloaded' };

/**
 * Throws if `condition` is false: a bug, not a refusal. The request answers 500, and a test that
 * sees it fails.
 */
export function assert(condition: unknown, why: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${why}`);
}

/**
 * A mistake of the simulator's user, not a refusal by the service. Methods throw it; the control
 * port answers it as a JSON error.
 */
export class OperationRefused extends Error {
  /** The kind of mistake. */
  readonly code: 'invalid' | 'not_found' | 'conflict' | 'timeout' | 'unavailable';
  /** Where in the input, such as `sims[0].number`. */
  readonly path: string | undefined;

  constructor(code: OperationRefused['code'], message: string, path?: string) {
    super(message);
    this.name = 'OperationRefused';
    this.code = code;
    this.path = path;
  }
}

/** The refusal of an operation that the present state does not allow. */
export function conflict(message: string, path?: string): OperationRefused {
  return new OperationRefused('conflict', message, path);
}

/** Throws if there are already `most`. */
export function refuseMore(count: number, most: number, what: string): void {
  if (count >= most) throw conflict(`there are ${most} ${what} already`);
}
