/**
 * Recounts the rate limits from a record of requests. Rules: LIMIT-1 to LIMIT-7.
 * A request passes exactly if fewer than N passed in the 60 s up to it, for its user and endpoint.
 * The recount shares no code with the service's limiter: it only keeps the times of accepted
 * requests.
 */
import type { EndpointName } from '../../src/sim/limits.ts';

export interface AuditEntry {
  readonly atMs: number;
  readonly endpoint: EndpointName;
  /** An account, or a client IP for requests without a valid key. */
  readonly user: string;
  readonly passed: boolean;
}

export interface Breach {
  readonly kind: 'over' | 'under';
  readonly endpoint: EndpointName;
  readonly user: string;
  readonly atMs: number;
  /** How many requests had passed in the window before it. */
  readonly passedBefore: number;
}

export interface EndpointAudit {
  readonly endpoint: EndpointName;
  readonly limit: number;
  readonly users: number;
  readonly passed: number;
  readonly refused: number;
  /** The most requests that any user passed within 60 s. */
  readonly fullestWindow: number;
  /** Requests accepted above the limit (`over`) and refused below it (`under`). */
  readonly over: number;
  readonly under: number;
  readonly firstBreaches: readonly Breach[];
}

export const windowMs = 60_000;
const shownBreaches = 5;

/** `entries`: in the order of the service's decisions. Endpoints without a limit are skipped. */
export function audit(
  entries: readonly AuditEntry[],
  limits: Readonly<Partial<Record<EndpointName, number | null>>>,
): EndpointAudit[] {
  const windows = new Map<string, Window>();
  const audits = new Map<EndpointName, Draft>();
  for (const entry of entries) {
    const limit = limits[entry.endpoint];
    if (limit === null || limit === undefined) continue;
    const draft = entryOf(audits, entry.endpoint, () => new Draft(limit));
    draft.users.add(entry.user);
    const window = entryOf(windows, `${entry.endpoint} ${entry.user}`, () => new Window());
    const passedBefore = window.countAt(entry.atMs);
    if (entry.passed) {
      draft.passed++;
      window.add(entry.atMs);
      draft.fullest = Math.max(draft.fullest, passedBefore + 1);
      if (passedBefore >= limit) draft.breach({ ...breachOf(entry, 'over'), passedBefore });
    } else {
      draft.refused++;
      if (passedBefore < limit) draft.breach({ ...breachOf(entry, 'under'), passedBefore });
    }
  }
  return [...audits].map(([endpoint, draft]) => ({
    endpoint,
    limit: draft.limit,
    users: draft.users.size,
    passed: draft.passed,
    refused: draft.refused,
    fullestWindow: draft.fullest,
    over: draft.over,
    under: draft.under,
    firstBreaches: draft.breaches,
  }));
}

/** The times of accepted requests, oldest first; those 60 s ago or older are dropped. */
class Window {
  readonly #times: number[] = [];
  #first = 0;

  countAt(nowMs: number): number {
    for (;;) {
      const oldest = this.#times[this.#first];
      if (oldest === undefined || oldest + windowMs > nowMs) break;
      this.#first++;
    }
    return this.#times.length - this.#first;
  }

  add(atMs: number): void {
    this.#times.push(atMs);
  }
}

class Draft {
  readonly limit: number;
  readonly users = new Set<string>();
  readonly breaches: Breach[] = [];
  passed = 0;
  refused = 0;
  fullest = 0;
  over = 0;
  under = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  breach(breach: Breach): void {
    this[breach.kind]++;
    if (this.breaches.length < shownBreaches) this.breaches.push(breach);
  }
}

function breachOf(
  { endpoint, user, atMs }: AuditEntry,
  kind: Breach['kind'],
): Omit<Breach, 'passedBefore'> {
  return { kind, endpoint, user, atMs };
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/**
 * The findings of an audit, of an own or a running simulator.
 */
export interface AuditRun {
  readonly endpoints: readonly EndpointAudit[];
  /** Simulated seconds of load. */
  readonly simulatedSeconds: number;
  readonly requests: number;
  /** Why the counts are not valid, such as a gap in the record. */
  readonly invalid: readonly string[];
  /** Accepted and refused sends per simulated second, for the plot. */
  readonly perSecond: readonly { readonly accepted: number; readonly refused: number }[];
}

export function auditRun(
  entries: readonly AuditEntry[],
  limits: Readonly<Partial<Record<EndpointName, number | null>>>,
  invalid: readonly string[] = [],
): AuditRun {
  const startMs = entries[0]?.atMs ?? 0;
  const endMs = entries.at(-1)?.atMs ?? startMs;
  const perSecond = Array.from({ length: Math.floor((endMs - startMs) / 1_000) + 1 }, () => ({
    accepted: 0,
    refused: 0,
  }));
  for (const { endpoint, atMs, passed } of entries) {
    const second = endpoint === 'send' && perSecond[Math.floor((atMs - startMs) / 1_000)];
    if (second && passed) second.accepted++;
    else if (second) second.refused++;
  }
  return {
    endpoints: audit(entries, limits),
    simulatedSeconds: (endMs - startMs) / 1_000,
    requests: entries.length,
    invalid,
    perSecond,
  };
}

export function isBroken({ endpoints }: AuditRun): boolean {
  return endpoints.some(({ over, under }) => over > 0 || under > 0);
}
