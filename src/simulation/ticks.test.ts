/**
 * Clocks are looked at when they have something to do: at their deadline, after a request, and once
 * a second.
 */
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Ticks } from './ticks.ts';

function listener(act: () => number) {
  const calls = vi.fn(act);
  const ticks = new Ticks(calls);
  onTestFinished(() => ticks.stop());
  ticks.start();
  return { calls, ticks };
}

/** Far more than a tick, far less than the second after which all are looked at again. */
const someTicks = () => setTimeout(400);

test('a clock with nothing to do rests, and a busy one is called every 25 ms', async () => {
  const idle = listener(() => Number.POSITIVE_INFINITY);
  const busy = listener(() => 0);
  await vi.waitFor(() => expect(busy.calls.mock.calls.length).toBeGreaterThan(5));
  expect(idle.calls.mock.calls.length).toBeLessThanOrEqual(2);
  await vi.waitFor(() => expect(idle.calls.mock.calls.length).toBeGreaterThan(2), 10_000);
});

test('a clock is called when its deadline has come', async () => {
  const startedAt = performance.now();
  const deadlineAt = startedAt + 300;
  const reached = new Promise<number>((resolve) => {
    listener(() => {
      const leftMs = deadlineAt - performance.now();
      if (leftMs <= 0) resolve(performance.now());
      return Math.max(leftMs, 0);
    });
  });
  expect(await reached).toBeGreaterThanOrEqual(deadlineAt);
});

test('a hurried clock is called soon', async () => {
  const { calls, ticks } = listener(() => Number.POSITIVE_INFINITY);
  await vi.waitFor(() => expect(calls).toHaveBeenCalled());
  const before = calls.mock.calls.length;
  ticks.hurry();
  const other = listener(() => 0);
  await vi.waitFor(() => expect(other.calls.mock.calls.length).toBeGreaterThan(2));
  expect(calls.mock.calls.length).toBeGreaterThan(before);
});

test('a stopped clock is not called, also if another one stops it at the same time', async () => {
  const second = { stop: () => {} };
  const first = listener(() => {
    second.stop();
    return 0;
  });
  const { calls, ticks } = listener(() => 0);
  second.stop = () => ticks.stop();
  await someTicks();
  expect(first.calls).toHaveBeenCalled();
  expect(calls).not.toHaveBeenCalled();
  ticks.hurry();
  ticks.stop();
  await someTicks();
  expect(calls).not.toHaveBeenCalled();
});
