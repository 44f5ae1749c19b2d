/**
 * The assumptions ledger: every gap that the document leaves ("not shown"), as one typed record.
 * Names, answers and defaults match `docs/assumptions.md`; the default comes first. Code reads an
 * assumption by name, so an `if` never decides a gap silently.
 */
import { z } from 'zod';
import { noReplyTemplates, replyTemplatesSchema, templateNames } from './reply-templates.ts';

interface LedgerEntry {
  /** What the document leaves open. */
  readonly open: string;
  /** The closed list of named answers, default first; empty when any number is an answer. */
  readonly answers: readonly string[];
  readonly schema: z.ZodType;
  readonly default: unknown;
  /** The format of an answer that is not a name, for help texts and error messages. */
  readonly alsoAccepts?: string;
}

function choice<const A extends readonly [string, ...string[]]>(open: string, answers: A) {
  return { open, answers, schema: z.enum(answers), default: answers[0] as A[number] } as const;
}

/** A named answer, or a list of its parts for a combination that has no name. */
function choiceOrList<
  const A extends readonly [string, ...string[]],
  const I extends readonly [string, ...string[]],
>(open: string, answers: A, items: I) {
  const list = z
    .array(z.enum(items))
    .overwrite((given) => items.filter((item) => given.includes(item as never)) as typeof given);
  return {
    open,
    answers,
    schema: z.union([z.enum(answers), list]),
    default: answers[0] as A[number] | readonly I[number][],
    alsoAccepts: `a list of ${items.join(', ')}, which may be empty`,
  } as const;
}

interface Range {
  readonly min: number;
  readonly max: number;
  readonly integer?: boolean;
}

function number(open: string, fallback: number, range: Range) {
  return { open, answers: [], default: fallback, ...numberRange(range) } as const;
}

function numberOrWord<const W extends string>(
  open: string,
  fallback: number | W,
  range: Range,
  word: W,
) {
  const { schema, alsoAccepts } = numberRange(range);
  return {
    open,
    answers: [word],
    schema: z.union([schema, z.literal(word)]),
    default: fallback,
    alsoAccepts,
  } as const;
}

function numberRange(range: Range) {
  const kind = range.integer === false ? 'number' : 'whole number';
  const schema = (range.integer === false ? z.number() : z.int()).min(range.min).max(range.max);
  return { schema, alsoAccepts: `a ${kind} from ${range.min} to ${range.max}` };
}

/** A status from which a message may still fail (STATE-4): those that are not final. */
export const unfinishedStatuses = ['queued', 'sending', 'sent'] as const;
export type UnfinishedStatus = (typeof unfinishedStatuses)[number];

const failsFromSchema = z
  .array(z.enum(unfinishedStatuses))
  .transform((list) => unfinishedStatuses.filter((status) => list.includes(status)));

/** The fields for which `null` may count as absent. */
const nullableFields = ['from', 'from_number', 'request_id', 'send_at'] as const;

/** Forms of `send_at` besides `YYYY-MM-DDThh:mm:ss`; seconds have up to six decimals. */
export const sendAtForms = [
  'lower_case',
  'space',
  'no_seconds',
  'no_minutes',
  'date_only',
  'basic',
  'week_date',
  'ordinal_date',
  'decimal_comma',
  'decimals_of_any_unit',
  'nine_decimals',
  'long_decimals',
  'hour_24',
  'leap_second',
  'short_offset',
] as const;
export type SendAtForm = (typeof sendAtForms)[number];

/** A text that has only these characters is blank. */
export const blankKinds = [
  'empty',
  'space',
  'control',
  'no_break',
  'unicode',
  'byte_order_mark',
  'next_line',
  'zero_width',
  'separator',
] as const;
export type BlankKind = (typeof blankKinds)[number];

/** What is read in a query: `007` as 7, `%37` as 7, and the last of two parameters of one name. */
export const queryForms = ['leading_zeros', 'escaped', 'last'] as const;
export type QueryForm = (typeof queryForms)[number];

/** The fields of a send, in the order of the document's table; `unknown`: those beyond it. */
export const checkedFields = ['to', 'from', 'message', 'request_id', 'send_at', 'unknown'] as const;
export type CheckedField = (typeof checkedFields)[number];

const fieldOrderSchema = z
  .array(z.enum(checkedFields))
  .length(checkedFields.length)
  .refine((order) => new Set(order).size === order.length, 'a field is named twice');

/**
 * A key is a prefix and 40 letters and digits. The prefix may hold any character of a bearer token.
 */
const keyPrefixSchema = z.string().regex(/^[A-Za-z0-9_.~-]{0,32}$/, {
  message: 'expected at most 32 characters of A-Z, a-z, 0-9, "_", ".", "~", "-"',
});

export const assumptionLedger = {
  limiterRefill: choice('how "N per minute" refills', [
    'sliding',
    'continuous',
    'interval',
    'interval_aligned',
  ]),
  refusedSpendsToken: choice('whether a 429 counts', ['no', 'yes']),
  errorsSpendToken: choice('whether 400, 401 (by IP), 402, 403, 404, 409, 415, 503 count', [
    'yes',
    'no',
  ]),
  failedRequestId: choice('is the `request_id` of a refused send used up', ['free', 'burned']),
  gateOrder: choice('order of the checks', [
    'replay_first',
    'validate_first',
    'quota_before_sender',
  ]),
  bothSenderFields: choice('`from` and `from_number` both present', [
    'from_wins',
    'alias_wins',
    'reject',
    'reject_if_different',
  ]),
  replayScope: choice('whose `request_id`', ['account', 'api_key']),
  replayDifferentBody: choice('same key, another body', ['return_original', 'conflict']),
  replayAcrossEndpoints: choice('do dashboard and external send share the keys of v1 send', [
    'shared',
    'separate',
  ]),
  replaySpends: choice('what a replay costs', ['throttle', 'nothing']),
  errorBody: choice('body of errors other than 429', ['code_detail', 'field_map', 'nested']),
  notFoundBody: choice('body of the 404', ['detail_only', 'code_detail']),
  malformedJson: choice('body that is no JSON object', ['detail_400', 'code_400']),
  emptyBody: choice('a send without a body', ['malformed', 'no_fields']),
  contentType: choice('body not declared as JSON', ['reject_415', 'ignore']),
  trailingSlash: choice('path without the last slash', ['not_found', 'redirect', 'served']),
  pathCase: choice('capitals in a path', ['exact', 'any']),
  bearerSpace: choice('what may stand between `Bearer` and the key', ['any', 'one']),
  methodNotAllowed: choice('another method on a known path', ['405', '404']),
  headMethod: choice('HEAD where GET is known', ['as_get', 'refused']),
  keyCheck: choice('what is looked at before the key', ['after_method', 'before_method', 'first']),
  unknownFields: choice('fields the document does not name', ['ignore', 'reject']),
  nullFields: choiceOrList('`null` for an optional field', ['reject', 'absent'], nullableFields),
  typeCoercion: choice('a number or boolean where the table says string', [
    'reject',
    'coerce',
    'numbers',
  ]),
  validationScope: choice('which failing fields a 400 names', ['first', 'all']),
  fieldOrder: {
    open: 'in which order failing fields are named',
    answers: [],
    schema: fieldOrderSchema,
    default: checkedFields as readonly CheckedField[],
    alsoAccepts: `each of ${checkedFields.join(', ')} once, in any order`,
  },
  senderFieldName: choice('the name of a failing sender that was given as `from_number`', [
    'as_given',
    'from',
  ]),
  sendAtFormats: choiceOrList('which ISO 8601 forms are read', ['rfc3339', 'iso8601'], sendAtForms),
  emptySendAt: choice('`send_at: ""`', ['reject', 'absent']),
  pathIdForm: choice('upper-case or hyphenless UUIDs in a path', ['canonical', 'any', 'any_case']),
  emptyRequestId: choice('`request_id: ""`', ['none_supplied', 'reject']),
  requestIdMaxLength: number('longest `request_id`', 255, { min: 1, max: 65_536 }),
  requestIdUnit: choice('what one character of a `request_id` is', [
    'code_points',
    'utf16_units',
    'bytes',
  ]),
  characterUnit: choice('what one of the 1,600 characters is', [
    'code_points',
    'utf16_units',
    'graphemes',
  ]),
  blankMessage: choiceOrList('`""` or white space only', ['reject', 'accept'], blankKinds),
  numberCheck: choice('how strictly E.164 is checked', ['possible', 'shape', 'valid']),
  numberMinDigits: number('fewest digits of a number', 2, { min: 2, max: 15 }),
  sendAtZone: choice('offsets other than UTC', ['utc_only', 'any_offset', 'naive_is_utc', 'any']),
  sendAtMaxAheadDays: numberOrWord(
    'how far ahead `send_at` may be',
    'unlimited',
    { min: 1, max: 36_500 },
    'unlimited',
  ),
  heldStatus: choice('status shown while `send_at` holds', ['queued', 'scheduled']),
  progressPace: choice('how fast sending → sent → delivered', ['per_poll', 'own_delay']),
  pollIntervalSeconds: number("the device's poll period", 20, { min: 1, max: 86_400 }),
  sendsPerPoll: numberOrWord(
    'how many messages one poll picks up',
    'all',
    { min: 1, max: 1_000_000 },
    'all',
  ),
  failsFrom: {
    open: 'states a message may fail from',
    answers: [],
    schema: failsFromSchema,
    default: unfinishedStatuses as readonly UnfinishedStatus[],
    alsoAccepts: `a list of ${unfinishedStatuses.join(', ')}, which may be empty`,
  },
  failureRate: number('share of messages that fail unprompted', 0, {
    min: 0,
    max: 1,
    integer: false,
  }),
  deactivation: choice('queued work of a SIM that is deactivated', ['fails', 'stays_queued']),
  disconnectedSim: choice("sending from the account's own SIM that is not connected", [
    'queues',
    'device_inactive',
    'access_denied',
    'pool',
  ]),
  foreignNumber: choice("`from` is another account's number", ['access_denied', 'not_found']),
  poolBesideOwnSim: choice('pool number while the account has a connected SIM', [
    'access_denied',
    'allow',
    'not_found',
  ]),
  monthlyQuota: numberOrWord(
    "the plan's size",
    10_000,
    { min: 0, max: 1_000_000_000 },
    'unlimited',
  ),
  quotaUnit: choice('what the quota counts', ['messages', 'segments']),
  quotaMonth: choice('when the quota starts again', ['calendar_utc', 'rolling_30_days']),
  quotaRefund: choice('does a failed message give its quota back', ['no', 'yes']),
  messageRetention: numberOrWord(
    'how many days after its end a message can be read',
    'forever',
    { min: 1, max: 36_500 },
    'forever',
  ),
  keyFormat: {
    open: "the key's look: a prefix, then 40 letters and digits",
    answers: [],
    schema: keyPrefixSchema,
    default: 'smst_' as string,
    alsoAccepts: 'any prefix of at most 32 characters that a bearer token may carry',
  },
  dashboardSendShape: choice('body and reply of the dashboard send', ['same_as_v1']),
  externalSendShape: choice('body and reply of the external send', ['same_as_v1']),
  receivedShape: choice('the list of inbound messages', ['page', 'array']),
  receivedQuery: choice('`page` or `page_size` of another value', [
    'reject',
    'not_found',
    'ignore',
  ]),
  queryForms: choiceOrList('how a query may be written', ['lenient', 'strict'], queryForms),
  tasksShape: choice('what a polling device gets', ['tasks', 'array']),
  tasksAccess: choice("who may poll a device's tasks", ['owner']),
  statsShape: choice('account statistics', ['counts']),
  unauthenticatedThrottle: choice("when an unauthenticated call meets its IP's limit", [
    'then_429',
    'always_401',
  ]),
  clientIp: choice('whose address a client IP is', ['peer', 'x_forwarded_for']),
  replyTemplates: {
    open: 'the wording of replies whose shape is none of the above',
    answers: [],
    schema: replyTemplatesSchema,
    default: noReplyTemplates,
    alsoAccepts: `an object of templates by reply (${templateNames.join(', ')}), which may be empty`,
  },
} as const satisfies Record<string, LedgerEntry>;

export type AssumptionName = keyof typeof assumptionLedger;

/** One answer per gap: what the simulator does where the document is silent. */
export type Assumptions = {
  readonly [N in AssumptionName]: (typeof assumptionLedger)[N]['default'];
};

export const assumptionNames = Object.keys(assumptionLedger) as readonly AssumptionName[];

export const defaultAssumptions = Object.fromEntries(
  assumptionNames.map((name) => [name, assumptionLedger[name].default]),
) as Assumptions;

/** Overrides by name, as settings, world files and the control port give them. */
export const assumptionOverridesSchema = z.strictObject(
  // Exactly optional: an explicit `undefined` would leave a gap without an answer.
  Object.fromEntries(
    assumptionNames.map((name) => [name, z.exactOptional(assumptionLedger[name].schema)]),
  ),
) as unknown as z.ZodType<Partial<Assumptions>>;
