import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answersOf } from '#contract/assumptions.ts';
import { documentedLimitsPerMinute, endpointNames } from '#contract/limits.ts';
import { minuteMs } from '#contract/time.ts';
import { type Assumptions, defaultAssumptions, SwitchableAssumptions } from '../assumptions.ts';
import { VirtualClock } from '../clock.ts';
import { createBucket } from './buckets.ts';
import { addressCaller, Limiter, mostAddresses } from './limiter.ts';

type Refill = Assumptions['limiterRefill'];
type YesNo = Assumptions['refusedSpendsToken'];

const refills = answersOf('limiterRefill') as readonly Refill[];
const refusals: readonly YesNo[] = ['no', 'yes'];
const laws = refills.flatMap((refill) => refusals.map((refused) => [refill, refused] as const));
/** A full minute of the clock. */
const start = Date.parse('2026-01-01T00:00:00.000Z');

interface Setup {
  readonly clock: VirtualClock;
  readonly limiter: Limiter;
  readonly assumptions: SwitchableAssumptions;
}

function setUp(limit: number, refill: Refill, refused: YesNo, startMs = start): Setup {
  const clock = new VirtualClock(startMs);
  const limits = { ...documentedLimitsPerMinute, send: limit };
  const assumptions = new SwitchableAssumptions({
    ...defaultAssumptions,
    limiterRefill: refill,
    refusedSpendsToken: refused,
  });
  const limiter = new Limiter(clock.now, limits, assumptions);
  return { clock, limiter, assumptions };
}

/** One caller's bucket that keeps everything and drops nothing, in other words than the code's. */
class NaiveBucket {
  readonly #limit: number;
  readonly #refill: Refill;
  readonly #refused: YesNo;
  /** Every request that counts. */
  #spentAtMs: number[] = [];
  /** `continuous`: the time, in 1/limit ms, at which the bucket will be full. */
  #fullAt = 0;

  constructor(limit: number, refill: Refill, refused: YesNo) {
    this.#limit = limit;
    this.#refill = refill;
    this.#refused = refused;
  }

  /** 0 when the request passes, else whole seconds. `neutral`: it gives its token back. */
  request(nowMs: number, neutral: boolean): number {
    return Math.ceil(this.#waitMs(nowMs, neutral) / 1_000);
  }

  #waitMs(nowMs: number, neutral: boolean): number {
    if (this.#refill === 'continuous') return this.#drip(nowMs, neutral);
    if (this.#refill === 'sliding_counter') return this.#weigh(nowMs, neutral);
    return this.#count(nowMs, neutral);
  }

  #weigh(nowMs: number, neutral: boolean): number {
    const countIn = (minute: number) =>
      this.#spentAtMs.filter((at) => Math.floor(at / minuteMs) === minute).length;
    const isFull = (atMs: number) => {
      const minute = Math.floor(atMs / minuteMs);
      const uncovered = atMs % minuteMs;
      const weighed = countIn(minute - 1) * (minuteMs - uncovered);
      return countIn(minute) * minuteMs + weighed >= this.#limit * minuteMs;
    };
    const wasFull = isFull(nowMs);
    const isCounted = wasFull
      ? this.#refused === 'yes' && countIn(Math.floor(nowMs / minuteMs)) < this.#limit
      : !neutral;
    if (isCounted) this.#spentAtMs.push(nowMs);
    if (!wasFull) return 0;
    let [full, free] = [nowMs, nowMs + 2 * minuteMs];
    while (free - full > 1) {
      const middle = Math.floor((full + free) / 2);
      if (isFull(middle)) full = middle;
      else free = middle;
    }
    return free - nowMs;
  }

  #drip(nowMs: number, neutral: boolean): number {
    const now = nowMs * this.#limit;
    const full = Math.max(this.#fullAt, now);
    const room = (this.#limit - 1) * minuteMs;
    if (full - now <= room) {
      if (!neutral) this.#fullAt = full + minuteMs;
      return 0;
    }
    // Debt goes down to 1 − N tokens, which is 2N − 1 below full.
    if (this.#refused === 'yes')
      this.#fullAt = Math.min(full + minuteMs, now + (2 * this.#limit - 1) * minuteMs);
    return Math.ceil((Math.max(this.#fullAt, full) - now - room) / this.#limit);
  }

  #count(nowMs: number, neutral: boolean): number {
    const counted = this.#spentAtMs.filter((at) => at > this.#windowStart(nowMs));
    if (counted.length < this.#limit) {
      if (!neutral) this.#spentAtMs.push(nowMs);
      return 0;
    }
    if (this.#refill === 'interval_aligned') return minuteMs - (nowMs % minuteMs);
    if (this.#refill === 'sliding' && this.#refused === 'yes') {
      counted.shift();
      counted.push(nowMs);
      this.#spentAtMs = counted;
    }
    return (counted[0] ?? 0) + minuteMs - nowMs;
  }

  /** What was spent at or before this time does not count any more. */
  #windowStart(nowMs: number): number {
    if (this.#refill === 'sliding') return nowMs - minuteMs;
    if (this.#refill === 'interval_aligned') return Math.floor(nowMs / minuteMs) * minuteMs - 1;
    let opened = Number.NEGATIVE_INFINITY;
    for (const at of this.#spentAtMs) if (at >= opened + minuteMs) opened = at;
    return nowMs >= opened + minuteMs ? nowMs : opened - 1;
  }
}

/**
 * Waits that tell: within a burst, around the second and the window, and over several generations.
 */
const wait = fc.oneof(
  { weight: 6, arbitrary: fc.nat(2_000) },
  { weight: 2, arbitrary: fc.nat(70_000) },
  { weight: 2, arbitrary: fc.constantFrom(0, 1, 999, 1_000, 59_999, 60_000, 60_001) },
  { weight: 1, arbitrary: fc.constantFrom(119_999, 120_000, 120_001, 180_000, 240_000, 600_000) },
);
const limit = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom(7, 60, 120));
const phase = fc.nat(minuteMs - 1);
const requests = fc.array(
  fc.record({
    afterMs: wait,
    caller: fc.nat(2),
    neutral: fc.boolean(),
    burst: fc.integer({ min: 1, max: 6 }),
  }),
  { maxLength: 40 },
);

test.each(laws)(
  'ERR-3 %s, refused spends %s: answers are those of a bucket that forgets nothing, generation after generation',
  (refill, refused) => {
    fc.assert(
      fc.property(limit, phase, requests, (n, phaseMs, list) => {
        const { clock, limiter } = setUp(n, refill, refused, start + phaseMs);
        const naive = [0, 1, 2].map(() => new NaiveBucket(n, refill, refused));
        for (const { afterMs, caller, neutral, burst } of list) {
          clock.advanceTo(clock.now() + afterMs);
          for (let i = 0; i < burst; i++) {
            const retryAfter = limiter.take('send', `caller ${caller}`);
            if (retryAfter === 0 && neutral) limiter.giveBack('send', `caller ${caller}`);
            expect(retryAfter).toBe(naive[caller]?.request(clock.now(), neutral));
          }
        }
      }),
      { numRuns: 150 },
    );
  },
);

/** Times at which one caller's requests pass, and at which they are refused. */
function play(
  n: number,
  refill: Refill,
  refused: YesNo,
  phaseMs: number,
  waits: readonly number[],
): { passed: number[]; denied: number[] } {
  const { clock, limiter } = setUp(n, refill, refused, start + phaseMs);
  const passed: number[] = [];
  const denied: number[] = [];
  for (const waitMs of waits) {
    clock.advanceTo(clock.now() + waitMs);
    (limiter.take('send', 'caller') === 0 ? passed : denied).push(clock.now());
  }
  return { passed, denied };
}

const smallLimit = fc.integer({ min: 1, max: 6 });
const waits = fc.array(
  fc.oneof(fc.nat(3_000), fc.nat(30_000), fc.constantFrom(0, 0, 59_999, 60_000, 60_001)),
  { maxLength: 80 },
);

test.each(refusals)(
  'LIMIT-1 sliding, refused spends %s: no window of 60 s ever holds more than N',
  (refused) => {
    fc.assert(
      fc.property(smallLimit, phase, waits, (n, phaseMs, list) => {
        const { passed } = play(n, 'sliding', refused, phaseMs, list);
        for (let i = n; i < passed.length; i++)
          expect((passed[i] ?? 0) - (passed[i - n] ?? 0)).toBeGreaterThanOrEqual(minuteMs);
      }),
    );
  },
);

test('LIMIT-1 sliding: no caller is refused below N', () => {
  fc.assert(
    fc.property(smallLimit, phase, waits, (n, phaseMs, list) => {
      const { passed, denied } = play(n, 'sliding', 'no', phaseMs, list);
      for (const at of denied) {
        expect(passed.filter((earlier) => earlier > at - minuteMs && earlier <= at)).toHaveLength(
          n,
        );
      }
    }),
  );
});

test('LIMIT-1 continuous: any interval passes at most N requests plus the refill during it', () => {
  fc.assert(
    fc.property(smallLimit, phase, waits, (n, phaseMs, list) => {
      const { passed } = play(n, 'continuous', 'no', phaseMs, list);
      passed.forEach((from, i) => {
        for (let j = i; j < passed.length; j++) {
          const stretchMs = (passed[j] ?? 0) - from;
          expect(j - i + 1).toBeLessThanOrEqual(n + (stretchMs * n) / minuteMs);
        }
      });
    }),
  );
});

test('LIMIT-1 interval: at most N requests pass in the minute that the first token starts', () => {
  fc.assert(
    fc.property(smallLimit, phase, waits, (n, phaseMs, list) => {
      const { passed } = play(n, 'interval', 'no', phaseMs, list);
      let [opened = 0] = passed;
      let count = 0;
      for (const at of passed) {
        if (at - opened >= minuteMs) [opened, count] = [at, 0];
        expect(++count).toBeLessThanOrEqual(n);
      }
    }),
  );
});

test('LIMIT-1 interval_aligned: each full minute of the clock holds at most N', () => {
  fc.assert(
    fc.property(smallLimit, phase, waits, (n, phaseMs, list) => {
      const { passed } = play(n, 'interval_aligned', 'no', phaseMs, list);
      const minutes = new Map<number, number>();
      for (const at of passed) {
        const count = (minutes.get(Math.floor(at / minuteMs)) ?? 0) + 1;
        minutes.set(Math.floor(at / minuteMs), count);
        expect(count).toBeLessThanOrEqual(n);
      }
    }),
  );
});

test.each(laws)(
  'ERR-3 %s, refused spends %s: waiting Retry-After passes, one second less does not',
  (refill, refused) => {
    fc.assert(
      fc.property(limit, phase, waits, fc.nat(140), (n, phaseMs, list, extra) => {
        /** The same past twice, as asking changes what follows. */
        const past = () => {
          const { clock, limiter } = setUp(n, refill, refused, start + phaseMs);
          for (const waitMs of list) {
            clock.advanceTo(clock.now() + waitMs);
            limiter.take('send', 'caller');
          }
          let seconds = 0;
          for (let i = 0; i < n + extra || seconds === 0; i++)
            seconds = limiter.take('send', 'caller');
          return { clock, limiter, seconds };
        };
        const patient = past();
        expect(patient.seconds).toBeGreaterThan(0);
        expect(patient.seconds).toBeLessThanOrEqual(refill === 'sliding_counter' ? 61 : 60);
        patient.clock.advanceTo(patient.clock.now() + patient.seconds * 1_000);
        expect(patient.limiter.take('send', 'caller')).toBe(0);
        const hasty = past();
        hasty.clock.advanceTo(hasty.clock.now() + (hasty.seconds - 1) * 1_000);
        expect(hasty.limiter.take('send', 'caller')).toBeGreaterThan(0);
      }),
      { numRuns: 60 },
    );
  },
);

test.each([
  ['sliding', 'no', [60, 60, 30, 30]],
  // The N-th last request is a minute from now; each refusal takes the place of the oldest.
  ['sliding', 'yes', [60, 60, 30, 60]],
  ['continuous', 'no', [30, 30, 0, 30]],
  // One below zero is the deepest debt of two; half a minute pays it, and the next refusal makes it
  // again.
  ['continuous', 'yes', [60, 60, 60, 60]],
  ['interval', 'no', [60, 60, 30, 30]],
  ['interval', 'yes', [60, 60, 30, 30]],
  ['interval_aligned', 'no', [45, 45, 15, 15]],
  ['interval_aligned', 'yes', [45, 45, 15, 15]],
  ['sliding_counter', 'no', [46, 46, 16, 16]],
  ['sliding_counter', 'yes', [46, 46, 16, 16]],
] as const)(
  'ERR-3 %s, refused spends %s: two a minute, asked at +0 s and +30 s, wait %j',
  (refill, refused, expected) => {
    const { clock, limiter } = setUp(2, refill, refused, start + 15_000);
    limiter.take('send', 'caller');
    limiter.take('send', 'caller');
    const answers = [limiter.take('send', 'caller'), limiter.take('send', 'caller')];
    clock.advanceTo(start + 45_000);
    answers.push(limiter.take('send', 'caller'), limiter.take('send', 'caller'));
    expect(answers).toEqual(expected);
  },
);

test.each([
  ['sliding', 59_999, 60_000],
  ['continuous', 29_999, 30_000],
  ['interval', 59_999, 60_000],
  ['interval_aligned', 44_999, 45_000],
  ['sliding_counter', 45_000, 45_001],
] as const)('LIMIT-1 %s: refused after %i ms, passing after %i ms', (refill, before, after) => {
  const { clock, limiter } = setUp(2, refill, 'no', start + 15_000);
  expect([1, 2, 3].map(() => limiter.take('send', 'caller') > 0)).toEqual([false, false, true]);
  clock.advanceTo(start + 15_000 + before);
  expect(limiter.take('send', 'caller')).toBe(1);
  clock.advanceTo(start + 15_000 + after);
  expect(limiter.take('send', 'caller')).toBe(0);
});

test('LIMIT-7 endpoints and callers have buckets of their own', () => {
  const { limiter } = setUp(1, 'sliding', 'no');
  expect(limiter.take('send', 'a')).toBe(0);
  expect(limiter.take('send', 'a')).toBe(60);
  expect(limiter.take('send', 'b')).toBe(0);
  expect(limiter.take('dashboard_send', 'a')).toBe(0);
  expect(limiter.available('dashboard_send', 'a')).toBe(119);
  expect(limiter.available('external_send', 'a')).toBe(120);
});

test('LIMIT-6 an endpoint without a limit never refuses and keeps nothing', () => {
  const { limiter } = setUp(1, 'sliding', 'no');
  for (let i = 0; i < 1_000; i++) expect(limiter.take('read', 'a')).toBe(0);
  limiter.giveBack('read', 'a');
  expect(limiter.available('read', 'a')).toBeNull();
  expect(limiter.size).toBe(0);
});

test('a changed limit, a changed refill and a reset start with full buckets; the same refill changes nothing', () => {
  const { limiter, assumptions } = setUp(1, 'sliding', 'no');
  const refill = (limiterRefill: Refill, refusedSpendsToken: YesNo = 'no') => {
    const before = assumptions.answers;
    assumptions.switch({ limiterRefill, refusedSpendsToken });
    limiter.assumptionsSwitched(before);
  };
  expect([limiter.take('send', 'a'), limiter.take('send', 'a')]).toEqual([0, 60]);
  refill('sliding', 'yes');
  expect(limiter.take('send', 'a')).toBe(60);
  refill('interval');
  expect([limiter.take('send', 'a'), limiter.take('send', 'a')]).toEqual([0, 60]);
  limiter.setLimit('send', 2);
  expect([1, 2, 3].map(() => limiter.take('send', 'a'))).toEqual([0, 0, 60]);
  expect(limiter.limits.send).toBe(2);
  limiter.reset();
  expect(limiter.available('send', 'a')).toBe(2);
  limiter.setLimit('send', null);
  expect(limiter.take('send', 'a')).toBe(0);
});

test('memory follows the callers of the last minutes, not all callers ever', () => {
  const { clock, limiter } = setUp(120, 'sliding', 'no');
  for (let second = 0; second < 2_000; second++) {
    clock.advanceTo(start + second * 1_000);
    for (let i = 0; i < 5; i++) limiter.take('send', `address ${second}.${i}`);
    expect(limiter.size).toBeLessThanOrEqual(5 * 240);
  }
});

test.each(refills)(
  '%s: available counts down with each token and back up with each one given back',
  (refill) => {
    const bucket = createBucket(refill, 3);
    const counts = [bucket.available(start)];
    for (let i = 0; i < 3; i++) {
      expect(bucket.take(start)).toBe(true);
      counts.push(bucket.available(start));
    }
    expect(bucket.take(start)).toBe(false);
    expect(bucket.waitMs(start)).toBeGreaterThan(0);
    bucket.giveBack();
    counts.push(bucket.available(start));
    expect(counts).toEqual([3, 2, 1, 0, 1]);
    expect(bucket.waitMs(start)).toBe(0);
  },
);

test('LIMIT-1 to LIMIT-6 the documented numbers', () => {
  expect(documentedLimitsPerMinute).toEqual({
    send: 120,
    dashboard_send: 120,
    external_send: 120,
    received: 120,
    tasks: 60,
    read: null,
    stats: null,
  });
  expect(Object.keys(documentedLimitsPerMinute).sort()).toEqual([...endpointNames].sort());
});

test('AUTH-6 addresses beyond the bound share one bucket; accounts keep their own', () => {
  const { clock, limiter } = setUp(2, 'sliding', 'no');
  limiter.take('send', 'an early account');
  for (let n = 1; n < mostAddresses; n++) limiter.take('send', addressCaller(`forged ${n}`));
  expect(limiter.size).toBe(mostAddresses);
  const stranger = (n: number) => limiter.take('send', addressCaller(`late ${n}`));
  expect([stranger(1), stranger(2), stranger(3)]).toEqual([0, 0, 60]);
  expect(limiter.size).toBe(mostAddresses + 1);
  limiter.giveBack('send', addressCaller('late 2'));
  expect([stranger(4), stranger(5)]).toEqual([0, 60]);
  expect(limiter.take('send', 'a late account')).toBe(0);
  expect(limiter.take('send', addressCaller('forged 1'))).toBe(0);
  clock.advanceTo(start + 4 * minuteMs);
  limiter.take('send', 'time');
  clock.advanceTo(start + 6 * minuteMs);
  limiter.take('send', 'time');
  expect(limiter.size).toBe(1);
});

test('AUTH-6 at most 64 characters of an address are kept', () => {
  expect(addressCaller('x'.repeat(16_000))).toBe(`ip ${'x'.repeat(64)}`);
  expect(addressCaller('2001:0db8:0000:0000:0000:0000:0000:0001')).toHaveLength(42);
});

test('AUTH-6 a counted address keeps nothing else of the header that it came in', () => {
  setFlagsFromString('--expose-gc');
  const heap = () => {
    (runInNewContext('gc') as () => void)();
    return process.memoryUsage().heapUsed;
  };
  const { limiter } = setUp(2, 'sliding', 'no');
  const before = heap();
  for (let n = 0; n < 2_000; n++) {
    const header = Buffer.from(`address ${n} ${'x'.repeat(15_000)}`).toString();
    limiter.take('send', addressCaller(header));
  }
  expect(heap() - before).toBeLessThan(5e6);
  expect(limiter.size).toBe(2_000);
});

test('LIMIT-1 a sliding counter lets pass what it says is available, at every tenth of a second', () => {
  const minute = start / minuteMs;
  const wrong = Array.from({ length: 600 }, (_, tenth) => start + tenth * 100).flatMap((now) =>
    Array.from({ length: 60 }, (_, last) => {
      const bucket = createBucket('sliding_counter', 60, [minute, 0, last + 1]);
      const available = bucket.available(now);
      let passed = 0;
      while (bucket.take(now)) passed++;
      return passed === available ? [] : [{ now: now - start, last: last + 1, available, passed }];
    }).flat(),
  );
  expect(wrong).toEqual([]);
});
