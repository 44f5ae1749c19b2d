/**
 * The answers of the foreign server where the document is silent. Every combination is permitted:
 * the harness must not fail a rule on any of them.
 */
export interface Variation {
  /** How the 120 requests a minute refill. */
  readonly refill: 'sliding' | 'fixed_window' | 'from_first' | 'token_bucket';
  /** A 429 counts as a request too; only for the sliding refill. */
  readonly refusalsSpend: boolean;
  /** `detail` states the wait with decimals; the header rounds it up. */
  readonly statesFractions: boolean;
  readonly errorsSpend: boolean;
  readonly errorShape: 'code_detail' | 'field_map' | 'nested' | 'title' | 'framework';
  readonly namesAllFields: boolean;
  readonly wrongMethodIs404: boolean;
  readonly redirectsToSlash: boolean;
  readonly readsAnyContentType: boolean;
  readonly coercesText: boolean;
  readonly acceptsBlank: boolean;
  readonly acceptsOffsets: boolean;
  readonly countsGraphemes: boolean;
  readonly refusesUnknownFields: boolean;
  readonly nullIsAbsent: boolean;
  readonly aliasWins: boolean;
  readonly replayBeforeThrottle: boolean;
  readonly replayOfOtherBodyIs409: boolean;
  readonly replaySharedByEndpoints: boolean;
  readonly foreignNumberIsUnknown: boolean;
  readonly upperCaseIds: boolean;
  readonly arrays: boolean;
  readonly unauthenticatedIsNever429: boolean;
  /** Adds headers that differ from reply to reply, as a CDN does. */
  readonly addsRequestHeaders: boolean;
  readonly holdsAsScheduled: boolean;
  readonly asksKeyFirst: boolean;
  readonly refusesHead: boolean;
  readonly servesWithoutSlash: boolean;
  readonly readsAnyPathCase: boolean;
  readonly emptyBodyHasNoFields: boolean;
  readonly emptySendAtIsAbsent: boolean;
  readonly readsSpaceInTime: boolean;
  /** Reports the failing field that comes last in the document's table. */
  readonly namesLastFirst: boolean;
  /** Seconds between two polls of a device. */
  readonly pollSeconds: number;
  /** Messages that a device takes at one poll. */
  readonly sendsPerPoll: number;
  /** Every message fails once it was sent. */
  readonly messagesFail: boolean;
  /** A refused send uses up its `request_id`. */
  readonly burnsRequestIds: boolean;
  /** The caller's address is taken from `X-Forwarded-For`. */
  readonly readsForwardedFor: boolean;
  /** Sends bodies in chunks and with line breaks, then closes the connection. */
  readonly answersInChunks: boolean;
}

export const plain: Variation = {
  refill: 'sliding',
  refusalsSpend: false,
  errorsSpend: true,
  errorShape: 'code_detail',
  namesAllFields: false,
  wrongMethodIs404: false,
  redirectsToSlash: false,
  readsAnyContentType: false,
  coercesText: false,
  acceptsBlank: false,
  acceptsOffsets: false,
  countsGraphemes: false,
  refusesUnknownFields: false,
  nullIsAbsent: false,
  aliasWins: false,
  replayBeforeThrottle: false,
  replayOfOtherBodyIs409: false,
  replaySharedByEndpoints: true,
  foreignNumberIsUnknown: false,
  upperCaseIds: false,
  arrays: false,
  unauthenticatedIsNever429: false,
  addsRequestHeaders: false,
  holdsAsScheduled: false,
  asksKeyFirst: false,
  refusesHead: false,
  servesWithoutSlash: false,
  readsAnyPathCase: false,
  emptyBodyHasNoFields: false,
  emptySendAtIsAbsent: false,
  readsSpaceInTime: false,
  namesLastFirst: false,
  pollSeconds: 1,
  sendsPerPoll: Number.POSITIVE_INFINITY,
  statesFractions: false,
  messagesFail: false,
  burnsRequestIds: false,
  readsForwardedFor: false,
  answersInChunks: false,
};

/** Differs from the simulator's defaults wherever it can. */
export const odd: Variation = {
  ...plain,
  refill: 'fixed_window',
  refusalsSpend: false,
  errorsSpend: false,
  errorShape: 'nested',
  namesAllFields: true,
  wrongMethodIs404: true,
  redirectsToSlash: true,
  readsAnyContentType: true,
  coercesText: true,
  acceptsBlank: true,
  acceptsOffsets: true,
  countsGraphemes: true,
  refusesUnknownFields: true,
  nullIsAbsent: true,
  aliasWins: true,
  replayBeforeThrottle: true,
  replayOfOtherBodyIs409: true,
  replaySharedByEndpoints: false,
  foreignNumberIsUnknown: true,
  upperCaseIds: true,
  arrays: true,
  unauthenticatedIsNever429: true,
  addsRequestHeaders: true,
  holdsAsScheduled: true,
  pollSeconds: 1,
};

export const variations: Readonly<Record<string, Variation>> = {
  plain,
  odd,
  django: {
    ...plain,
    refill: 'sliding',
    errorShape: 'field_map',
    namesAllFields: true,
    redirectsToSlash: true,
    coercesText: true,
    acceptsOffsets: true,
    upperCaseIds: true,
  },
  gateway: {
    ...plain,
    refill: 'token_bucket',
    refusalsSpend: false,
    errorsSpend: false,
    errorShape: 'title',
    addsRequestHeaders: true,
    replayBeforeThrottle: true,
    readsAnyContentType: true,
  },
  framework: {
    ...plain,
    refill: 'fixed_window',
    errorShape: 'framework',
    namesAllFields: true,
    nullIsAbsent: true,
    asksKeyFirst: true,
    refusesHead: true,
    servesWithoutSlash: true,
    readsAnyPathCase: true,
    emptyBodyHasNoFields: true,
    emptySendAtIsAbsent: true,
    readsSpaceInTime: true,
    namesLastFirst: true,
  },
  /** Slow telephones that take a few messages at a time; all messages fail. */
  telecom: {
    ...plain,
    refill: 'from_first',
    pollSeconds: 7,
    sendsPerPoll: 12,
    messagesFail: true,
    burnsRequestIds: true,
    readsForwardedFor: true,
    answersInChunks: true,
    redirectsToSlash: true,
  },
  /** Counts refused requests. */
  strict: {
    ...plain,
    refusalsSpend: true,
    statesFractions: true,
    errorShape: 'nested',
    refusesUnknownFields: true,
    replaySharedByEndpoints: false,
    addsRequestHeaders: true,
    arrays: true,
    pollSeconds: 3,
  },
};
