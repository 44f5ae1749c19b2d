/**
 * Recounts the rate limits from a record of requests. Rules: LIMIT-1 to LIMIT-7.
 * With a limit of N, a request must pass exactly if fewer than N requests of its user to its
 * endpoint passed in the 60 s before it. The recount shares no code with the service's limiter: it
 * only keeps the times of accepted requests.
 */
import { type EndpointName, type LimitsPerMinute, limitWindowMs } from '#contract/limits.ts';
import { getOrAdd } from '#io/grouped.ts';
import { counted } from '#io/terminal.ts';

export interface AuditEntry {
  readonly atMs: number;
  readonly endpoint: EndpointName;
  /** An account, or a client IP for requests without a valid key. */
  readonly user: string;
  readonly passed: boolean;
}

/** A request that was accepted above its limit (`over`) or refused below it (`under`). */
export interface Breach {
  readonly kind: 'over' | 'under';
  readonly endpoint: EndpointName;
  readonly user: string;
  readonly atMs: number;
  /** How many requests had passed in the window before it. */
  readonly passedBefore: number;
}

const shownBreaches = 5;

/** Counts each endpoint that has a limit. `entries`: in the order of the service's decisions. */
export function recount(entries: readonly AuditEntry[], limits: Partial<LimitsPerMinute>) {
  const windows = new Map<string, Window>();
  const tallies = new Map<EndpointName, ReturnType<typeof newTally>>();
  for (const { passed, ...request } of entries) {
    const { endpoint, user, atMs } = request;
    const limit = limits[endpoint];
    if (limit === null || limit === undefined) continue;
    const tally = getOrAdd(tallies, endpoint, () => newTally(endpoint, limit));
    const window = getOrAdd(windows, `${endpoint} ${user}`, () => new Window());
    const passedBefore = window.countAt(atMs);
    tally.users.add(user);
    tally[passed ? 'passed' : 'refused']++;
    if (passed) {
      window.add(atMs);
      tally.fullestWindow = Math.max(tally.fullestWindow, passedBefore + 1);
    }
    const mustPass = passedBefore < limit;
    if (passed === mustPass) continue;
    const kind = passed ? 'over' : 'under';
    tally[kind]++;
    if (tally.firstBreaches.length < shownBreaches)
      tally.firstBreaches.push({ kind, ...request, passedBefore });
  }
  return [...tallies.values()].map((tally) => ({ ...tally, users: tally.users.size }));
}

function newTally(endpoint: EndpointName, limit: number) {
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

/** The accepted requests of the last 60 s. */
class Window {
  /** Their times, oldest first. Those before `#first` are out of the window. */
  readonly #times: number[] = [];
  #first = 0;

  countAt(nowMs: number): number {
    while ((this.#times[this.#first] ?? nowMs) + limitWindowMs <= nowMs) this.#first++;
    return this.#times.length - this.#first;
  }

  add(atMs: number): void {
    this.#times.push(atMs);
  }
}

export type AuditRun = ReturnType<typeof auditRun>;

/** `sent`: how many requests were sent; the entries must show all of them. */
export function auditRun(
  entries: readonly AuditEntry[],
  limits: Partial<LimitsPerMinute>,
  sent = entries.length,
) {
  const startMs = entries[0]?.atMs ?? 0;
  const endMs = entries.at(-1)?.atMs ?? startMs;
  const perSecond = Array.from({ length: Math.floor((endMs - startMs) / 1_000) + 1 }, () => ({
    accepted: 0,
    refused: 0,
  }));
  for (const { endpoint, atMs, passed } of entries) {
    const second = perSecond[Math.floor((atMs - startMs) / 1_000)];
    if (endpoint === 'send' && second !== undefined) second[passed ? 'accepted' : 'refused']++;
  }
  return {
    endpoints: recount(entries, limits),
    /** The duration of the load. */
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
  if (entries.length !== sent)
    doubts.push(`sent ${counted(sent, 'request')}, but the record has ${entries.length}`);
  if (entries.every(({ passed }) => passed))
    doubts.push('nothing was refused: no limit was reached');
  return doubts;
}

export function isBroken({ endpoints }: AuditRun): boolean {
  return endpoints.some(({ over, under }) => over > 0 || under > 0);
}
