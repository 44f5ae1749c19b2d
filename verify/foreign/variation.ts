/**
 * Variations of the foreign service: how it answers where the document is silent. The document
 * permits all of them, so the harness must not fail a rule on any.
 */
import type { Assumptions } from '../model/answers.ts';
import type { wordings } from './wording.ts';

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

/** Tests of a few take every second one, or every fourth: those differ most from the simulator. */
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
