/**
 * The kinds of faults, one row each, from the weakest for a client to the strongest. Services,
 * recorder, explorer, schemas, forms and readers follow from the rows. `docs/control-api.md`,
 * `docs/traffic.md` and `docs/explore.md` are checked against them.
 */
import type { EndpointName } from './limits.ts';
import type { SendRefusal } from './refusals.ts';
import { durationText } from './time.ts';

/** How a reply is cut, by what the client sees of it. */
export const cuts = {
  close: 'reply lost: the connection closed before a byte of it',
  truncate: 'reply cut: the connection closed after half of it',
  reset: 'reply lost: the connection was reset before a byte of it',
  hang: 'reply lost: it never comes',
} as const;
export type Cut = keyof typeof cuts;
export const cutNames = Object.keys(cuts) as readonly Cut[];

/**
 * What else becomes of a reply: whether a client can read it, and whether it is the service's own.
 */
const uncut = {
  late: { isReadable: true, isOwn: true },
  malformed: { isReadable: false, isOwn: false },
  stated: { isReadable: true, isOwn: false },
} as const;

export interface FaultKindRow {
  /** What happens to the request, in words. */
  readonly about: string;
  /** True if the service handles the request. */
  readonly isHandled: boolean;
  /**
   * What becomes of the reply: it is cut, comes `late` but whole, has a `malformed` body, or is the
   * one that the fault has `stated`.
   */
  readonly reply: Cut | keyof typeof uncut;
  /**
   * The explorer's names for the kind, from the weakest to the strongest. Default: its own name.
   */
  readonly explored?: readonly string[];
  /** The explorer's name for the kind if it also ends the client's processes. */
  readonly crash?: string;
  /** The refusals of the service (`contract/refusals.ts`) behind some of the explorer's names. */
  readonly refusals?: Readonly<Record<string, SendRefusal>>;
}

export const faultKinds = {
  delay: { about: 'the reply is late', isHandled: true, reply: 'late', explored: ['slow'] },
  status: {
    about: 'another status',
    isHandled: false,
    reply: 'stated',
    explored: ['throttle', 'device_inactive', 'quota', 'unavailable'],
    refusals: { device_inactive: 'device_inactive', quota: 'quota_exceeded' },
  },
  refuse: { about: 'closed before it is accepted', isHandled: false, reply: 'close' },
  reset: { about: 'reset before it is accepted', isHandled: false, reply: 'reset' },
  lost_response: { about: 'accepted, then closed', isHandled: true, reply: 'close' },
  truncate: { about: 'half of the reply', isHandled: true, reply: 'truncate' },
  malformed: { about: 'a reply that is not valid JSON', isHandled: true, reply: 'malformed' },
  lost_request: {
    about: 'never handled; open until the client closes it',
    isHandled: false,
    reply: 'hang',
    crash: 'crash_before',
  },
  hang: {
    about: 'accepted, never answered',
    isHandled: true,
    reply: 'hang',
    crash: 'crash_after',
  },
} as const satisfies Readonly<Record<string, FaultKindRow>>;

export type FaultKinds = typeof faultKinds;
export type FaultKindName = keyof FaultKinds;
export const faultKindNames = Object.keys(faultKinds) as readonly FaultKindName[];

/** False if the client gets no whole reply, or one that it cannot read. */
export function isReadable({ reply }: FaultKindRow): boolean {
  return isUncut(reply) && uncut[reply].isReadable;
}

/**
 * True if a client may get another reply than the service's own: the reply shows nothing about the
 * service then. `kind` may be one of a later version.
 */
export function mayChangeReply(kind: string): boolean {
  if (!Object.hasOwn(faultKinds, kind)) return true;
  const { isHandled, reply } = faultKinds[kind as FaultKindName];
  return !isHandled || (isUncut(reply) && !uncut[reply].isOwn);
}

function isUncut(reply: FaultKindRow['reply']): reply is keyof typeof uncut {
  return reply in uncut;
}

/** The fields of the kinds that have fields. */
export interface FaultFields {
  readonly delay: { readonly ms: number };
  readonly status: {
    readonly status: number;
    readonly body?: unknown;
    /** Checked text, sent unchanged. */
    readonly headers?: Readonly<Record<string, string>>;
  };
}

/** What a fault does to a request or its reply. */
export type FaultKind = {
  [K in FaultKindName]: { readonly kind: K } & (K extends keyof FaultFields
    ? FaultFields[K]
    : unknown);
}[FaultKindName];

/** The fault that struck a request: the one that acts or, if none does, the first delay. */
export interface StrikingFault {
  /** Undefined if the explorer chose it. */
  readonly faultId: string | undefined;
  readonly kind: FaultKindName;
}

type KindWith<Property> = {
  [K in FaultKindName]: FaultKinds[K] extends Property ? K : never;
}[FaultKindName];
/** The faults other than delays. */
export type ActingFault = Exclude<FaultKind, { readonly kind: KindWith<{ reply: 'late' }> }>;
/** The faults that keep the request from the service. */
export type UnhandledFault = Extract<FaultKind, { kind: KindWith<{ isHandled: false }> }>;

/** False if the fault acts before the service handles the request. */
export function isHandled<Fault extends FaultKind>(
  fault: Fault | undefined,
): fault is Exclude<Fault, UnhandledFault> | undefined {
  return fault === undefined || faultKinds[fault.kind].isHandled;
}

/** What a fault did to a request, as the control port shows it. */
interface ShownStrike {
  readonly kind: FaultKindName;
  readonly status: number | null;
  readonly delay_ms: number | null;
  readonly cut: Cut | null;
}

/** What a fault did to a request, in words. */
export function faultText(fault: ShownStrike): string {
  const { kind, status, delay_ms: delayMs, cut } = fault;
  const parts = [
    ...(status === null ? [] : [`fault answered ${status}`]),
    ...(delayMs === null ? [] : [`reply ${delayMs} ms late`]),
    ...(cut === null ? [] : [cuts[cut]]),
  ];
  return parts.join(', ') || faultKinds[kind].about;
}

function ordinals(numbers: readonly number[]): string {
  const endings: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd' };
  const rules = new Intl.PluralRules('en', { type: 'ordinal' });
  return numbers.map((number) => `${number}${endings[rules.select(number)] ?? 'th'}`).join(', ');
}

/** A fault as the control port takes it. A request must match all fields of `match`. */
export interface FaultSpec {
  readonly match: {
    readonly endpoint?: EndpointName | undefined;
    readonly account_id?: string | undefined;
    /** A recipient; `*` matches any digits. */
    readonly to?: string | undefined;
    /** A part of the message's text. */
    readonly text?: string | undefined;
    /** Headers, each by a part of its value; an empty text: any value. */
    readonly headers?: Readonly<Record<string, string>> | undefined;
  };
  /** Which of the matching requests it affects; the first is number 1. */
  readonly when:
    | { readonly nth: readonly number[] }
    | { readonly every: number }
    | { readonly probability: number };
  /** The largest number of times that it acts. */
  readonly times?: number | undefined;
  readonly fault: FaultKind;
}

/** A fault as the control port shows it. */
interface ShownFault extends FaultSpec {
  readonly hits: number;
  readonly seen: number;
}

/** What a fault does, such as `reply 3 s late`. */
export function faultWords({ fault }: Pick<FaultSpec, 'fault'>): string {
  if (fault.kind === 'delay') return `delay: the reply is ${durationText(fault.ms)} late`;
  if (fault.kind === 'status') return `status: ${fault.status} in place of the reply`;
  return `${fault.kind.replace('_', ' ')}: ${faultKinds[fault.kind].about}`;
}

/** Which requests a fault strikes, such as `1st send of acme`. */
export function faultSubject(
  { when, match, times, hits, seen }: ShownFault,
  accountName: (id: string) => string,
): string {
  const { endpoint = 'request', account_id: id, to, text, headers = {} } = match;
  const isSpent = hits >= (times ?? Infinity) || ('nth' in when && seen >= Math.max(...when.nth));
  let which = `every ${endpoint}`;
  if ('nth' in when) which = `${ordinals(when.nth)} ${endpoint}`;
  else if ('every' in when && when.every > 1) which = `every ${ordinals([when.every])} ${endpoint}`;
  else if ('probability' in when) {
    const percent = Math.round(when.probability * 1e4) / 100;
    which = `${percent} % of ${match.endpoint ?? 'all'} requests`;
  }
  return [
    which,
    id === undefined ? '' : ` of ${accountName(id)}`,
    to === undefined ? '' : ` to ${to}`,
    text === undefined ? '' : ` with “${text}”`,
    ...Object.entries(headers).map(([name, part]) => ` with ${name}: ${part}`),
    times === undefined ? '' : `, at most ${times === 1 ? 'once' : `${times} times`}`,
    isSpent ? '; spent: it cannot strike again' : '',
  ].join('');
}
