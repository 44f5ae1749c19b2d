/** A queue that delays before it refuses, in simulated time: requests at once wait in it together. */
import { expect, test } from 'vitest';
import { audit, type Subject } from '#audit/audit.ts';

/** Time that passes when all wait: the earliest wait ends first. */
class Waits {
  now = 0;
  #waits: { readonly at: number; readonly end: () => void }[] = [];
  #isRunning = false;

  readonly until = (at: number): Promise<void> =>
    new Promise((resolve) => {
      this.#waits.push({ at, end: resolve });
      if (!this.#isRunning) void this.#run();
    });

  readonly clock = {
    now: () => this.now,
    sleep: (ms: number) => this.until(this.now + ms),
  };

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (;;) {
      // All that react to the last end have reacted.
      await new Promise(setImmediate);
      const [first] = this.#waits.toSorted((one, other) => one.at - other.at);
      if (first === undefined) break;
      this.#waits = this.#waits.filter((wait) => wait !== first);
      this.now = Math.max(this.now, first.at);
      first.end();
    }
    this.#isRunning = false;
  }
}

const wayMs = 2;

interface QueueOptions {
  readonly limit: number;
  readonly gapMs: number;
  readonly keyOf?: (subject: Subject) => string;
  /** How much a refused request delays those that come later, in gaps. */
  readonly refusalCosts?: number;
}

/** A service behind a queue. */
function queued(waits: Waits, { limit, gapMs, refusalCosts = 0, keyOf = () => '' }: QueueOptions) {
  const freeAt = new Map<string, number>();
  return async (subject: Subject) => {
    await waits.until(waits.now + wayMs);
    const key = keyOf(subject);
    const leavesAt = Math.max(waits.now, freeAt.get(key) ?? 0);
    const passes = leavesAt - waits.now <= (limit - 1) * gapMs;
    freeAt.set(key, leavesAt + (passes ? 1 : refusalCosts) * gapMs);
    if (passes) await waits.until(leavesAt);
    await waits.until(waits.now + wayMs);
    return { status: passes ? 200 : 429 };
  };
}

const paths = ['/', '/other', '/?x=1'];

test.each([
  { limit: 5, gapMs: 200, keyOf: ({ caller }: Subject) => caller, keys: ['address'] },
  { limit: 20, gapMs: 50, keyOf: () => '', keys: ['all'] },
  { limit: 3, gapMs: 1_000, keyOf: ({ path }: Subject) => path, keys: ['path', 'query'] },
])('a queue of $limit in gaps of $gapMs ms, for each $keys', async ({ keys, ...options }) => {
  const waits = new Waits();
  const request = queued(waits, options);
  const { statements, requests } = await audit({ request, ...waits.clock, paths });
  const { limit, gapMs } = options;
  expect(statements).toMatchObject({
    algorithm: { value: 'leaky_queue', certainty: 'certain' },
    limit: { value: limit, certainty: 'certain' },
    window_seconds: { value: (limit * gapMs) / 1_000, certainty: 'certain' },
    refill_per_second: { value: 1_000 / gapMs, certainty: 'certain' },
    keyed_by: { value: keys, certainty: 'certain' },
    refusals_spend: { value: false, certainty: 'certain' },
    retry_after: { value: 'absent', certainty: 'certain' },
  });
  expect(requests).toBeLessThan(4 * limit + 100);
});

test('of a queue in which refused requests delay others, nothing false is certain', async () => {
  const waits = new Waits();
  const request = queued(waits, { limit: 5, gapMs: 200, refusalCosts: 1 });
  const { statements } = await audit({ request, ...waits.clock, paths });
  expect(statements.algorithm.value).toBe('leaky_queue');
  expect(statements.refusals_spend.certainty).toBe('undetermined');
  expect(statements.keyed_by.value).toEqual(['all']);
});

test('replies that are delayed evenly, but come together if asked at once, are no queue', async () => {
  const waits = new Waits();
  let [passed, lastAt] = [0, Number.NEGATIVE_INFINITY];
  const request = async () => {
    passed = waits.now === lastAt ? passed + 1 : 1;
    const isFirst = lastAt === Number.NEGATIVE_INFINITY;
    lastAt = waits.now;
    const passes = passed <= 10;
    await waits.until(waits.now + (isFirst || !passes ? wayMs : 100));
    return { status: passes ? 200 : 429 };
  };
  const { statements } = await audit({ request, ...waits.clock, paths });
  expect(statements.algorithm.certainty).toBe('undetermined');
  expect(statements.algorithm.sentence).toMatch(/of \d+ at once \d+ were refused/);
});

test('a queue whose first reply is slow is recognised after the burst', async () => {
  const waits = new Waits();
  const queue = queued(waits, { limit: 5, gapMs: 200 });
  let asked = 0;
  const request = async (subject: Subject) => {
    asked += 1;
    if (asked === 1) await waits.until(waits.now + 150);
    return queue(subject);
  };
  const { statements } = await audit({ request, ...waits.clock, paths });
  expect(statements.algorithm.value).toBe('leaky_queue');
  expect(statements.limit.value).toBe(5);
});

test('a queue that the way there and back outlasts is not measured', async () => {
  const waits = new Waits();
  const queue = queued(waits, { limit: 5, gapMs: 200 });
  const request = async (subject: Subject) => {
    await waits.until(waits.now + 250);
    return queue(subject);
  };
  const { statements } = await audit({ request, ...waits.clock, paths });
  expect(statements.algorithm.certainty).toBe('undetermined');
});

test('a limit is open if some have left while those at once arrived', async () => {
  const waits = new Waits();
  const queue = queued(waits, { limit: 5, gapMs: 200 });
  let inFlight = 0;
  const request = async (subject: Subject) => {
    inFlight += 1;
    // The server's queue of connections has no room for the last ten.
    if (inFlight > 40) await waits.until(waits.now + 300);
    const reply = await queue(subject);
    inFlight -= 1;
    return reply;
  };
  const { statements } = await audit({ request, ...waits.clock, paths });
  expect(statements.algorithm.value).toBe('leaky_queue');
  expect(statements.limit.certainty).toBe('undetermined');
});

test('a reply that comes late does not lengthen the gap', async () => {
  const waits = new Waits();
  const queue = queued(waits, { limit: 5, gapMs: 200 });
  let asked = 0;
  const request = async (subject: Subject) => {
    asked += 1;
    if ([7, 15, 23].includes(asked)) await waits.until(waits.now + 300);
    return queue(subject);
  };
  const { statements } = await audit({ request, ...waits.clock, paths });
  expect(statements.limit).toMatchObject({ value: 5, certainty: 'certain' });
  if (statements.window_seconds.value !== null) expect(statements.window_seconds.value).toBe(1);
});

test('a queue with more places than an audit fills is said to delay', async () => {
  const waits = new Waits();
  const request = queued(waits, { limit: 500, gapMs: 50 });
  const { statements } = await audit({ request, ...waits.clock, budget: 400 });
  expect(statements.algorithm.value).toBe('no_limit_seen');
  expect(statements.algorithm.sentence).toContain('something delays them to 20 a second');
});
