/**
 * Recounts the rate limits from a record of requests. Rules: LIMIT-1 to LIMIT-7.
 * A request passes exactly if fewer than N passed in the 60 s up to it, for its user and endpoint.
 * The recount shares no code with the service's limiter: it only keeps the times of accepted
 * requests.
 */
import type { RequestView } from '../../src/operations/request-views.ts';
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

export const windowMs = 60_000;
const shownBreaches = 5;

/** `entries`: in the order of the service's decisions. Endpoints without a limit are skipped. */
export function audit(
  entries: readonly AuditEntry[],
  limits: Readonly<Partial<Record<EndpointName, number | null>>>,
) {
  const windows = new Map<string, Window>();
  const audits = new Map<EndpointName, Draft>();
  for (const { passed, ...request } of entries) {
    const { endpoint, user, atMs } = request;
    const limit = limits[endpoint];
    if (limit === null || limit === undefined) continue;
    const found = entryOf(audits, endpoint, () => newDraft(endpoint, limit));
    const window = entryOf(windows, `${endpoint} ${user}`, () => new Window());
    const passedBefore = window.countAt(atMs);
    found.users.add(user);
    found[passed ? 'passed' : 'refused']++;
    if (passed) {
      window.add(atMs);
      found.fullestWindow = Math.max(found.fullestWindow, passedBefore + 1);
    }
    if (passed === passedBefore < limit) continue;
    const kind = passed ? 'over' : 'under';
    found[kind]++;
    if (found.firstBreaches.length < shownBreaches) {
      found.firstBreaches.push({ kind, ...request, passedBefore });
    }
  }
  return [...audits.values()].map((found) => ({ ...found, users: found.users.size }));
}

type Draft = ReturnType<typeof newDraft>;

function newDraft(endpoint: EndpointName, limit: number) {
  return {
    endpoint,
    limit,
    users: new Set<string>(),
    passed: 0,
    refused: 0,
    /** The most requests that any user passed within 60 s. */
    fullestWindow: 0,
    /** Requests accepted above the limit (`over`) and refused below it (`under`). */
    over: 0,
    under: 0,
    firstBreaches: [] as Breach[],
  };
}

/** The times of accepted requests, oldest first; those 60 s ago or older are dropped. */
class Window {
  readonly #times: number[] = [];
  #first = 0;

  countAt(nowMs: number): number {
    while ((this.#times[this.#first] ?? nowMs) + windowMs <= nowMs) this.#first++;
    return this.#times.length - this.#first;
  }

  add(atMs: number): void {
    this.#times.push(atMs);
  }
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/** The requests of the service's own record, read piece by piece before it overflows. */
export class RecordReader {
  readonly entries: AuditEntry[] = [];
  /** Numbers that were read; those of a fleet have gaps, and do not come in order. */
  readonly #read = new Set<number>();

  /** `views`: newest first, as the record lists them. Keeps those of `isOurs`. */
  take(views: readonly RequestView[], isOurs: (accountId: string) => boolean = () => true): void {
    for (const { number, at, endpoint, account_id: user, status } of views.toReversed()) {
      if (this.#read.has(number)) continue;
      this.#read.add(number);
      if (endpoint === null || user === null || !isOurs(user)) continue;
      this.entries.push({ atMs: Date.parse(at), endpoint, user, passed: status !== 429 });
    }
  }
}

/** The findings of an audit, of an own or a running simulator. */
export type AuditRun = ReturnType<typeof auditRun>;

/** `sent`: how many requests were sent, all of which the entries should show. */
export function auditRun(
  entries: readonly AuditEntry[],
  limits: Readonly<Partial<Record<EndpointName, number | null>>>,
  sent = entries.length,
) {
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
    /** Of load. */
    simulatedSeconds: (endMs - startMs) / 1_000,
    requests: entries.length,
    /** Why the counts are not valid, such as a gap in the record. */
    invalid: doubtsOf(entries, sent),
    /** Accepted and refused sends per simulated second, for the plot. */
    perSecond,
  };
}

function doubtsOf(entries: readonly AuditEntry[], sent: number): readonly string[] {
  const doubts: string[] = [];
  if (entries.length !== sent) {
    doubts.push(`${sent} requests were sent, but the record has ${entries.length}`);
  }
  if (entries.every(({ passed }) => passed)) {
    doubts.push('nothing was refused: no limit was reached');
  }
  return doubts;
}

export function isBroken({ endpoints }: AuditRun): boolean {
  return endpoints.some(({ over, under }) => over > 0 || under > 0);
}
