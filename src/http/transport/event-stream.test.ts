import { expect, test } from 'vitest';
import { EventStream } from './event-stream.ts';
import { eventQueueLimitBytes, type SendEvent } from './transport.ts';

function opened(write = (_: string) => true, everyMs?: number, pauseMs?: number) {
  const written: string[] = [];
  let state = 'open';
  const stream = new EventStream(
    {
      write: (text) => {
        written.push(text);
        return write(text);
      },
      end: () => {
        state = 'ended';
      },
      cut: () => {
        state = 'cut';
      },
    },
    everyMs,
  );
  let send: SendEvent = () => false;
  stream.start({
    status: 200,
    pauseMs,
    open: (given) => {
      send = given;
      return () => {};
    },
  });
  return { stream, written, send, state: () => state };
}

test.each([undefined, 200])(
  'events of one turn are written together at its end, and those of the pause after it',
  async (pauseMs) => {
    const { written, send } = opened(undefined, undefined, pauseMs);
    const startedMs = performance.now();
    for (const number of [1, 2]) send('message', { number }, String(number));
    await Promise.resolve();
    expect(written).toHaveLength(2);
    for (let number = 3; number <= 100; number++) {
      send('message', { number }, String(number));
      await Promise.resolve();
    }
    await expect.poll(() => written.length).toBe(3);
    expect(performance.now() - startedMs).toBeGreaterThan((pauseMs ?? 40) - 2);
    expect(written.map((text) => text.match(/^id: /gm)?.length)).toEqual([undefined, 2, 98]);
  },
);

test('what waits is written before the stream ends', () => {
  const { stream, written, send, state } = opened();
  for (const number of [1, 2]) send('message', { number }, String(number));
  stream.finish();
  expect(written.at(-1)).toContain('"number":2');
  expect(state()).toBe('ended');
});

test('more events than may wait are written early to a reader that keeps up, and cut one that does not', () => {
  const text = 'x'.repeat(eventQueueLimitBytes / 2);
  const quick = opened();
  for (let number = 1; number <= 5; number++) quick.send('message', { text }, undefined);
  expect(quick.state()).toBe('open');
  const slow = opened(() => false);
  for (let number = 1; number <= 5; number++) slow.send('message', { text }, undefined);
  expect(slow.state()).toBe('cut');
});

test('a comment comes again and again to a reader that keeps up, until the stream ends', async () => {
  const quick = opened(undefined, 1);
  await expect.poll(() => quick.written.length).toBeGreaterThan(3);
  expect(new Set(quick.written)).toEqual(new Set([': open\n\n']));
  const slow = opened(() => false, 1);
  quick.stream.finish();
  const count = quick.written.length;
  const witness = opened(undefined, 1);
  await expect.poll(() => witness.written.length).toBeGreaterThan(3);
  expect([quick.written.length, slow.written]).toEqual([count, [': open\n\n']]);
});
