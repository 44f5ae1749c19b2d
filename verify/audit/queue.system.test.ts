/** A queue that delays before it refuses, in simulated time: requests at once wait in it together. */
import { expect, test } from 'vitest';
import { audit, type Subject } from '#audit/audit.ts';
import { differencesFrom, expectValue } from '#audit/report/expectations.ts';

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
  /** When a refused request lets the queue be free, at the earliest. */
  readonly refusedUntil?: (now: number, freeAt: number) => number;
  /** The one worker of several queues; otherwise each queue has its own. */
  readonly workerOf?: (key: string) => string;
}

/** A service behind a queue. */
function queued(waits: Waits, options: QueueOptions) {
  const { limit, gapMs, keyOf = () => '' } = options;
  const { refusedUntil = (_, freeAt) => freeAt, workerOf = (key) => key } = options;
  const freeAt = new Map<string, number>();
  const inside = new Map<string, number>();
  return async (subject: Subject) => {
    await waits.until(waits.now + wayMs);
    const key = keyOf(subject);
    const worker = workerOf(key);
    const leavesAt = Math.max(waits.now, freeAt.get(worker) ?? 0);
    const isShared = worker !== key;
    const waiting = isShared ? (inside.get(key) ?? 0) : Math.ceil((leavesAt - waits.now) / gapMs);
    const passes = waiting < limit;
    freeAt.set(worker, passes ? leavesAt + gapMs : refusedUntil(waits.now, leavesAt));
    inside.set(key, (inside.get(key) ?? 0) + (passes ? 1 : 0));
    if (passes) await waits.until(leavesAt);
    if (passes) inside.set(key, (inside.get(key) ?? 1) - 1);
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
  expect(requests).toBeLessThan(4 * limit + 140);
  const differences = (window: number) =>
    differencesFrom(expectValue(`window=${window}`), statements);
  // What the requests permit is as expected, whatever the round number in it is.
  expect(differences(((limit * gapMs) / 1_000) * 0.99)).toEqual([]);
  expect(differences(((limit * gapMs) / 1_000) * 0.9)).toHaveLength(1);
});

test.each([
  ['adds a gap', (_: number, freeAt: number) => freeAt + 200],
  ['fills the queue', (now: number) => now + 1_200],
  ['blocks', (now: number) => now + 3_000],
])(
  'of a queue in which a refused request %s, nothing false is certain',
  async (_, refusedUntil) => {
    const waits = new Waits();
    const request = queued(waits, { limit: 5, gapMs: 200, refusedUntil });
    const { statements } = await audit({ request, ...waits.clock, paths });
    expect(statements.algorithm.value).toBe('leaky_queue');
    expect(statements.refusals_spend.certainty).toBe('undetermined');
    expect(statements.keyed_by.value).toEqual(['all']);
  },
);

test.each([
  [60, 10],
  [45, 5],
  [21, 8],
])(
  'in gaps of %i ms with %i places, a caller that comes late has no queue of its own',
  async (gapMs, limit) => {
    const waits = new Waits();
    const queue = queued(waits, { limit, gapMs });
    // A request of another caller comes when a place is free.
    const request = async (subject: Subject) => {
      if (subject.caller !== 'caller-1') await waits.until(waits.now + 1.5 * gapMs);
      return queue(subject);
    };
    const { statements } = await audit({ request, ...waits.clock, paths });
    expect(statements.algorithm.value).toBe('leaky_queue');
    expect(statements.limit.value).toBe(limit);
    expect(statements.keyed_by.value).toBeNull();
  },
);

test('a worker that serves the queues of all callers leaves open who shares it', async () => {
  const waits = new Waits();
  const options = { limit: 5, gapMs: 200, workerOf: () => 'one' };
  const request = queued(waits, { ...options, keyOf: ({ caller }) => caller });
  const { statements } = await audit({ request, ...waits.clock, paths });
  expect(statements.algorithm.value).toBe('leaky_queue');
  expect(statements.keyed_by.certainty).toBe('undetermined');
});

test('a queue that serves the latest first leaves open who shares it', async () => {
  const waits = new Waits();
  const waiting: (() => void)[] = [];
  let isBusy = false;
  const serveAll = async () => {
    isBusy = true;
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      next();
      await waits.until(waits.now + 200);
    }
    isBusy = false;
  };
  const request = async ({ caller }: Subject) => {
    await waits.until(waits.now + wayMs);
    // Another caller always has a place.
    const passes = waiting.length < 4 || caller !== 'caller-1';
    const served = new Promise<void>((resolve) => waiting.push(resolve));
    if (!passes) waiting.pop();
    else if (!isBusy) void serveAll();
    if (passes) await served;
    await waits.until(waits.now + wayMs);
    return { status: passes ? 200 : 429 };
  };
  const { statements } = await audit({ request, ...waits.clock, paths });
  expect(statements.algorithm.value).toBe('leaky_queue');
  expect(statements.keyed_by.value).toBeNull();
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

test('if fewer pass at once than must, a limit is not called exact at once', async () => {
  const waits = new Waits();
  const log: number[] = [];
  let inFlight = 0;
  const request = async () => {
    await waits.until(waits.now + wayMs);
    const isInLog = log.filter((at) => at > waits.now - 4_000).length < 20;
    const passes = isInLog && inFlight < 5;
    if (passes) {
      log.push(waits.now);
      inFlight += 1;
      await waits.until(waits.now + 10);
      inFlight -= 1;
    }
    await waits.until(waits.now + wayMs);
    return { status: passes ? 200 : 429 };
  };
  const { statements } = await audit({ request, ...waits.clock, paths });
  expect(statements.at_once.certainty).toBe('undetermined');
  expect(statements.at_once.sentence).toContain('only 5 of 36 at once passed, though 20 had to');
});

test('a status of refusals that was not named is said', async () => {
  const waits = new Waits();
  const request = queued(waits, { limit: 5, gapMs: 200 });
  const { statements } = await audit({ request, ...waits.clock, paths, refused: [503] });
  expect(statements.algorithm.certainty).toBe('undetermined');
  expect(statements.algorithm.sentence).toMatch(
    /were answered 429: if that is how it refuses, add/,
  );
});

test('an audit whose budget ends while it fills a queue says what it has learned', async () => {
  const waits = new Waits();
  const request = queued(waits, { limit: 40, gapMs: 50 });
  // 30 one by one, 50 at once, and 41 to fill the queue each time.
  const { statements, stopped } = await audit({ request, ...waits.clock, paths, budget: 200 });
  expect(stopped).toBe('budget');
  expect(statements.algorithm.value).toBe('leaky_queue');
  expect(statements.limit.value).toBe(40);
});

test('a queue with more places than an audit fills is said to delay', async () => {
  const waits = new Waits();
  const request = queued(waits, { limit: 500, gapMs: 50 });
  const { statements } = await audit({ request, ...waits.clock, budget: 400 });
  expect(statements.algorithm.value).toBe('no_limit_seen');
  expect(statements.algorithm.sentence).toContain('something delays them to 20 a second');
});
