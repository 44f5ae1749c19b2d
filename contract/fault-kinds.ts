/**
 * The kinds of faults, one row each, from the weakest for a client to the strongest. Services,
 * recorder, explorer, schemas, forms and readers follow from the rows. `docs/control-api.md`,
 * `docs/traffic.md` and `docs/explore.md` are checked against them.
 */
import type { SendRefusal } from './refusals.ts';

/** How a reply is cut, by what the client sees of it. */
export const cuts = {
  close: 'reply lost: the connection closed before a byte of it',
  truncate: 'reply cut: the connection closed after half of it',
  reset: 'reply lost: the connection was reset before a byte of it',
  hang: 'reply lost: it never comes',
} as const;
export type Cut = keyof typeof cuts;
export const cutNames = Object.keys(cuts) as readonly Cut[];

/** What else becomes of a reply, and whether a client can read it then. */
const uncut = { late: true, malformed: false, stated: true } as const;

export interface FaultKindRow {
  /** What happens to the request, in words. */
  readonly about: string;
  /** Whether the service handles the request. */
  readonly isHandled: boolean;
  /**
   * What becomes of the reply: it is cut, comes `late` but whole, has a `malformed` body, or is the
   * one that the fault has `stated`.
   */
  readonly reply: Cut | keyof typeof uncut;
  /** The explorer's names for it, from the weakest to the strongest. Default: that of the kind. */
  readonly explored?: readonly string[];
  /** The explorer's name for it where it also ends the client's processes. */
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
  return reply in uncut && uncut[reply as keyof typeof uncut];
}

/** The fields of the kinds that have some. */
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
export interface Struck {
  /** Undefined if the explorer chose it. */
  readonly faultId: string | undefined;
  readonly kind: FaultKindName;
}

type KindWith<Property> = {
  [K in FaultKindName]: FaultKinds[K] extends Property ? K : never;
}[FaultKindName];
/** The faults that act besides delays. */
export type ActingFault = Exclude<FaultKind, { readonly kind: KindWith<{ reply: 'late' }> }>;
/** The faults that keep the request from the service. */
export type UnhandledFault = Extract<FaultKind, { kind: KindWith<{ isHandled: false }> }>;

/** False if the fault acts before the service handles the request. */
export function isHandled<Fault extends FaultKind>(
  fault: Fault | undefined,
): fault is Exclude<Fault, UnhandledFault> | undefined {
  return fault === undefined || faultKinds[fault.kind].isHandled;
}
