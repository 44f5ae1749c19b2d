import fc from 'fast-check';
import { expect, test } from 'vitest';
import { latestTimeMs, type Timer, VirtualClock } from './clock.ts';

const start = Date.parse('2026-01-01T00:00:00.000Z');

test('timers fire in order of deadline, and in order of arrival at the same one', () => {
  const clock = new VirtualClock(start);
  const fired: string[] = [];
  for (const [name, delay] of [
    ['c', 2],
    ['a', 1],
    ['d', 2],
    ['b', 1],
    ['now', 0],
  ] as const) {
    clock.setTimeout(() => fired.push(`${name}@${clock.now() - start}`), delay);
  }
  expect(clock.advanceTo(start + 5)).toBe(5);
  expect(fired).toEqual(['now@0', 'a@1', 'b@1', 'c@2', 'd@2']);
  expect(clock.now()).toBe(start + 5);
  expect(clock.pending).toBe(0);
});

test('a timer set by a timer is measured from its own deadline, not from the end of the advance', () => {
  const clock = new VirtualClock(start);
  const times: number[] = [];
  const again = (): void => {
    times.push(clock.now() - start);
    if (times.length < 4) clock.setTimeout(again, 5_000);
  };
  clock.setTimeout(again, 5_000);
  clock.advanceTo(start + 60_000);
  expect(times).toEqual([5_000, 10_000, 15_000, 20_000]);
});

test('a timer without delay set during an advance fires in the same advance, after the timers due then', () => {
  const clock = new VirtualClock(start);
  const fired: string[] = [];
  clock.setTimeout(() => {
    fired.push('first');
    clock.setTimeout(() => fired.push('nested'), 0);
  }, 10);
  clock.setTimeout(() => fired.push('second'), 10);
  expect(clock.advanceTo(start + 10)).toBe(3);
  expect(fired).toEqual(['first', 'second', 'nested']);
});

test('a timer that is cleared while another fires does not fire', () => {
  const clock = new VirtualClock(start);
  const fired: string[] = [];
  const timers: Timer[] = [];
  clock.setTimeout(() => {
    fired.push('first');
    for (const timer of timers) clock.clearTimeout(timer);
  }, 10);
  timers.push(clock.setTimeout(() => fired.push('same deadline'), 10));
  timers.push(clock.setTimeout(() => fired.push('later'), 20));
  clock.advanceTo(start + 100);
  expect(fired).toEqual(['first']);
  expect(clock.pending).toBe(0);
});

test('clearing a fired timer, a cleared one or undefined does nothing', () => {
  const clock = new VirtualClock(start);
  const timer = clock.setTimeout(() => {}, 1);
  clock.advanceTo(start + 1);
  const kept = clock.setTimeout(() => {}, 1);
  clock.clearTimeout(timer);
  clock.clearTimeout(timer);
  clock.clearTimeout(undefined);
  expect(clock.pending).toBe(1);
  clock.clearTimeout(kept);
  clock.clearTimeout(kept);
  expect(clock.pending).toBe(0);
  expect(clock.nextAtMs).toBeUndefined();
});

test('a target in the past moves nothing, and a fraction of a millisecond waits for the whole one', () => {
  const clock = new VirtualClock(start);
  let fired = 0;
  clock.setTimeout(() => fired++, 0.5);
  expect(clock.advanceTo(start - 1)).toBe(0);
  expect(clock.now()).toBe(start);
  expect(clock.nextAtMs).toBe(start + 1);
  clock.advanceTo(start + 1);
  expect(fired).toBe(1);
});

test('a timer whose call throws is gone, and the clock goes on', () => {
  const clock = new VirtualClock(start);
  let fired = 0;
  clock.setTimeout(() => {
    throw new Error('mine');
  }, 1);
  clock.setTimeout(() => fired++, 2);
  expect(() => clock.advanceTo(start + 5)).toThrow('mine');
  expect(clock.pending).toBe(1);
  clock.advanceTo(start + 5);
  expect(fired).toBe(1);
});

test('an advance from inside a timer fires nothing twice and never goes back', () => {
  const clock = new VirtualClock(start);
  const times: number[] = [];
  clock.setTimeout(() => clock.advanceTo(start + 50), 10);
  for (const delay of [20, 30, 80]) clock.setTimeout(() => times.push(clock.now() - start), delay);
  clock.advanceTo(start + 40);
  expect(times).toEqual([20, 30]);
  expect(clock.now()).toBe(start + 50);
});

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
  'the clock does not start at %s',
  (ms) => {
    expect(() => new VirtualClock(ms)).toThrow(RangeError);
  },
);

test.each([Number.NaN, Number.POSITIVE_INFINITY])('%s is no delay', (delay) => {
  const clock = new VirtualClock(start);
  expect(() => clock.setTimeout(() => {}, delay)).toThrow(RangeError);
  expect(clock.pending).toBe(0);
});

interface Plan {
  readonly delayMs: number;
  /** Timers that this one sets when it fires, by delay. */
  readonly sets: readonly number[];
  /** The timer, by place, that this one clears when it fires. */
  readonly clears: number | undefined;
}

const plans = fc.array(
  fc.record({
    delayMs: fc.nat(30),
    sets: fc.array(fc.nat(15), { maxLength: 3 }),
    clears: fc.option(fc.nat(11), { nil: undefined }),
  }),
  { maxLength: 12 },
);

/** What fires when, with the clock moved to each of these times in turn. */
function trace(plan: readonly Plan[], stops: readonly number[]): string[] {
  const clock = new VirtualClock(start);
  const fired: string[] = [];
  const timers: Timer[] = [];
  plan.forEach(({ delayMs, sets, clears }, place) => {
    const fire = (): void => {
      fired.push(`${place}@${clock.now() - start}`);
      sets.forEach((nestedMs, n) => {
        clock.setTimeout(() => fired.push(`${place}.${n}@${clock.now() - start}`), nestedMs);
      });
      if (clears !== undefined) clock.clearTimeout(timers[clears]);
    };
    timers.push(clock.setTimeout(fire, delayMs));
  });
  for (const stop of stops) clock.advanceTo(start + stop);
  clock.advanceTo(start + 100);
  expect(clock.pending).toBe(0);
  return fired;
}

test('one advance and many advances fire the same at the same times', () => {
  fc.assert(
    fc.property(plans, fc.array(fc.nat(60), { maxLength: 20 }), (plan, stops) => {
      expect(trace(plan, stops)).toEqual(trace(plan, []));
    }),
    { numRuns: 200 },
  );
});

test('a heap of timers, some cleared, fires as a sorted list of the others would', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('set' as const), delayMs: fc.nat(50) }),
      fc.record({ kind: fc.constant('clear' as const), at: fc.nat(60) }),
    ),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(steps, (list) => {
      const clock = new VirtualClock(start);
      const fired: number[] = [];
      const live: { id: number; delayMs: number; timer: Timer }[] = [];
      list.forEach((step, id) => {
        if (step.kind === 'set') {
          const timer = clock.setTimeout(() => fired.push(id), step.delayMs);
          live.push({ id, delayMs: step.delayMs, timer });
        } else if (live.length > 0) {
          const [gone] = live.splice(step.at % live.length, 1);
          clock.clearTimeout(gone?.timer);
        }
        expect(clock.pending).toBe(live.length);
      });
      const expected = [...live].sort((a, b) => a.delayMs - b.delayMs || a.id - b.id);
      expect(clock.nextAtMs).toBe(expected[0] && start + expected[0].delayMs);
      clock.advanceTo(start + 50);
      expect(fired).toEqual(expected.map(({ id }) => id));
    }),
    { numRuns: 200 },
  );
});

test('time ends: it moves no further, and later timers never fire', () => {
  const clock = new VirtualClock(latestTimeMs - 10);
  const fired: string[] = [];
  clock.setTimeout(() => fired.push('at the end'), 10);
  clock.setTimeout(() => fired.push('later'), 11);
  expect(clock.advanceTo(latestTimeMs + 1_000)).toBe(1);
  expect(clock.advanceTo(latestTimeMs + 2_000)).toBe(0);
  expect(clock.now()).toBe(latestTimeMs);
  expect(fired).toEqual(['at the end']);
});
