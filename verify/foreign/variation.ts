/**
 * The answers of the foreign server where the document is silent. Every combination is permitted:
 * the harness must not fail a rule on any of them.
 */
export interface Variation {
  /** How the 120 requests a minute refill; by default sliding. */
  readonly refill?: 'sliding' | 'interval_aligned' | 'interval' | 'continuous';
  /** A 429 counts as a request too; only for the sliding refill. */
  readonly refusalsSpend?: boolean;
  /** `detail` states the wait with decimals; the header rounds it up. */
  readonly statesFractions?: boolean;
  readonly errorsAreFree?: boolean;
  readonly errorShape?: 'code_detail' | 'field_map' | 'nested' | 'title' | 'framework' | 'jsonapi';
  readonly namesAllFields?: boolean;
  readonly wrongMethodIs404?: boolean;
  readonly redirectsToSlash?: boolean;
  readonly readsAnyContentType?: boolean;
  readonly coercesText?: boolean;
  readonly acceptsBlank?: boolean;
  readonly acceptsOffsets?: boolean;
  readonly countsGraphemes?: boolean;
  readonly refusesUnknownFields?: boolean;
  readonly nullIsAbsent?: boolean;
  readonly aliasWins?: boolean;
  readonly replayBeforeThrottle?: boolean;
  readonly replayOfOtherBodyIs409?: boolean;
  readonly replayPerEndpoint?: boolean;
  readonly foreignNumberIsUnknown?: boolean;
  readonly upperCaseIds?: boolean;
  readonly arrays?: boolean;
  readonly unauthenticatedIsNever429?: boolean;
  /** Adds headers that differ from reply to reply, as a CDN does. */
  readonly addsRequestHeaders?: boolean;
  readonly holdsAsScheduled?: boolean;
  readonly asksKeyFirst?: boolean;
  readonly refusesHead?: boolean;
  readonly servesWithoutSlash?: boolean;
  readonly readsAnyPathCase?: boolean;
  readonly emptyBodyHasNoFields?: boolean;
  readonly emptySendAtIsAbsent?: boolean;
  readonly readsSpaceInTime?: boolean;
  /** Reports the failing field that comes last in the document's table. */
  readonly namesLastFirst?: boolean;
  /** Seconds between two polls of a device; by default one. */
  readonly pollSeconds?: number;
  /** Messages that a device takes at one poll. */
  readonly sendsPerPoll?: number;
  /** Every message fails once it was sent. */
  readonly messagesFail?: boolean;
  /** A refused send uses up its `request_id`. */
  readonly burnsRequestIds?: boolean;
  /** The caller's address is taken from `X-Forwarded-For`. */
  readonly readsForwardedFor?: boolean;
  /** Sends bodies in chunks and with line breaks, then closes the connection. */
  readonly answersInChunks?: boolean;
}

/** Differs from the simulator's defaults wherever it can. */
const odd: Variation = {
  refill: 'interval_aligned',
  errorsAreFree: true,
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
  replayPerEndpoint: true,
  foreignNumberIsUnknown: true,
  upperCaseIds: true,
  arrays: true,
  unauthenticatedIsNever429: true,
  addsRequestHeaders: true,
  holdsAsScheduled: true,
};

export const variations: Readonly<Record<string, Variation>> = {
  plain: {},
  odd,
  django: {
    errorShape: 'field_map',
    namesAllFields: true,
    redirectsToSlash: true,
    coercesText: true,
    acceptsOffsets: true,
    upperCaseIds: true,
  },
  gateway: {
    refill: 'continuous',
    errorsAreFree: true,
    errorShape: 'title',
    addsRequestHeaders: true,
    replayBeforeThrottle: true,
    readsAnyContentType: true,
  },
  framework: {
    refill: 'interval_aligned',
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
  /** Errors as JSON:API words them: a pointer to the failing field; figures that stay the same. */
  jsonapi: {
    errorShape: 'jsonapi',
    namesAllFields: true,
    redirectsToSlash: true,
    refusesUnknownFields: true,
    replayOfOtherBodyIs409: true,
  },
  /** Slow telephones that take a few messages at a time; all messages fail. */
  telecom: {
    refill: 'interval',
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
    refusalsSpend: true,
    statesFractions: true,
    errorShape: 'nested',
    refusesUnknownFields: true,
    replayPerEndpoint: true,
    addsRequestHeaders: true,
    arrays: true,
    pollSeconds: 3,
  },
};
