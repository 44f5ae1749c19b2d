/** The result of one load, whichever generator made it, and whether a measurement is valid. */
import { createHistogram } from 'node:perf_hooks';
import { counted } from '#io/terminal.ts';

/** Replies of one second: below 400; 429; all others, and requests without a reply. */
export interface Second {
  accepted: number;
  refused: number;
  failed: number;
}

export type LoadResult = ReturnType<Tally['finish']>;

export class Tally {
  /** Microseconds; in open loop since the intended start of each request. */
  readonly latency = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 });
  readonly seconds: Second[] = [];
  readonly statuses: Record<string, number> = {};
  readonly #startedMs = performance.now();
  readonly #cpu = process.cpuUsage();
  readonly #expected: readonly number[];
  /** The number of replies. */
  requests = 0;
  /** Unexpected statuses, timeouts and broken connections. */
  errors = 0;
  /** Open loop: requests that the generator sent later than intended. */
  late = 0;
  /** Open loop: requests that found no free connection, or got no reply before the end. */
  dropped = 0;

  constructor(expected: readonly number[]) {
    this.#expected = expected;
  }

  reply(status: number, latencyMs: number, nowMs: number): void {
    this.requests++;
    this.latency.record(Math.max(1, Math.round(latencyMs * 1_000)));
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    const second = this.#second(nowMs);
    if (status === 429) second.refused++;
    else if (status < 400) second.accepted++;
    else second.failed++;
    if (!this.#expected.includes(status)) this.errors++;
  }

  error(): void {
    this.errors++;
    this.#second(performance.now()).failed++;
  }

  finish() {
    const { latency, seconds, statuses, requests, errors, late, dropped } = this;
    const durationMs = performance.now() - this.#startedMs;
    const { user, system } = process.cpuUsage(this.#cpu);
    /** The CPU cores that the generator's process used; 1 is a full core. */
    const generatorCores = (user + system) / 1_000 / durationMs;
    const counts = { requests, errors, late, dropped };
    return { latency, seconds, statuses, ...counts, durationMs, generatorCores };
  }

  #second(nowMs: number): Second {
    const index = Math.floor((nowMs - this.#startedMs) / 1_000);
    while (this.seconds.length <= index) this.seconds.push({ accepted: 0, refused: 0, failed: 0 });
    return this.seconds[index] as Second;
  }
}

/** A generator that uses more of a core only measures itself. */
const fullCore = 0.95;
/** Above this share of late requests the load is not the intended one. */
const mostLateShare = 0.01;

/** Why the rounds are not valid, one line each; empty if they are. */
export function invalidity(
  loads: readonly LoadResult[],
  { isOpenLoop }: { readonly isOpenLoop: boolean },
): string[] {
  const total = (name: 'requests' | 'errors' | 'late' | 'dropped') =>
    loads.reduce((sum, load) => sum + load[name], 0);
  const [requests, errors] = [total('requests'), total('errors')];
  const [late, dropped] = [total('late'), total('dropped')];
  const reasons: string[] = [];
  if (requests === 0) reasons.push('no reply arrived');
  if (errors > 0)
    reasons.push(
      `${counted(errors, 'request')} got no reply or an unexpected one; ${counted(requests, 'reply', 'replies')} arrived`,
    );
  if (!isOpenLoop) return reasons;
  const cores = Math.max(...loads.map((load) => load.generatorCores));
  if (cores >= fullCore)
    reasons.push(`the generator was saturated: it used ${cores.toFixed(2)} of a core`);
  if (late > requests * mostLateShare)
    reasons.push(`the generator sent ${late} of ${requests} requests later than intended`);
  if (dropped > 0) reasons.push(`no free connection for ${counted(dropped, 'request')}`);
  return reasons;
}
