/** The audit of planted limiters with one fault each: a statement or its sentence names it. */
import { expect, test } from 'vitest';
import { type AuditOptions, audit, type Statements } from '#audit/audit.ts';
import { reportText } from '#audit/report/report.ts';
import { sample } from '../testkit/runs.ts';
import {
  blocking,
  type Decision,
  failingOpen,
  fixedWindow,
  LimitedServer,
  perKey,
  prolonged,
  racy,
  restarting,
  slidingLog,
  together,
  windowAndBucket,
  workers,
} from './limiters.ts';

const log = () => perKey(slidingLog(5, 2_000));
const window = () => perKey(fixedWindow(5, 1_000));

function saying(waitOf: (waitMs: number) => number) {
  return ({ passes, waitMs }: Decision): Record<string, string> =>
    passes ? {} : { 'retry-after': `${waitOf(waitMs)}` };
}

interface Row {
  readonly fault: string;
  readonly bench: () => Pick<LimitedServer, 'request' | 'clock'>;
  readonly options?: Partial<AuditOptions>;
  readonly statement: keyof Statements;
  readonly value: unknown;
  readonly says: string;
}

const none = { statement: 'algorithm', value: 'none_of_these' } as const;

const rows: readonly Row[] = [
  {
    fault: 'a counter that is read before it is written',
    bench: () => racy(5, 2_000),
    statement: 'at_once',
    value: expect.any(Number),
    says: 'more pass when',
  },
  {
    fault: 'two workers with a counter each',
    bench: () => new LimitedServer(workers(window, 8)),
    ...none,
    says: 'several counters share the requests',
  },
  {
    fault: 'a window that each request prolongs',
    bench: () => new LimitedServer(perKey(prolonged(120, 60_000))),
    ...none,
    says: 'it ends after a pause',
  },
  {
    fault: 'a wait that is read before its window is prolonged',
    bench: () => new LimitedServer(perKey(prolonged(8, 2_000, { isStale: true }))),
    statement: 'retry_after',
    value: 'short',
    says: 'it said 1 s',
  },
  {
    fault: 'a wait that is rounded down',
    bench: () =>
      new LimitedServer(
        log(),
        undefined,
        saying((waitMs) => Math.floor(waitMs / 1_000)),
      ),
    statement: 'retry_after',
    value: 'short',
    says: 'too short',
  },
  {
    fault: 'a wait that is always the same',
    bench: () =>
      new LimitedServer(
        log(),
        undefined,
        saying(() => 60),
      ),
    statement: 'retry_after',
    value: 'sufficient',
    says: 'always says 60 s',
  },
  {
    fault: 'a key that forgets what tells callers apart',
    bench: () => new LimitedServer(log(), () => 'the address without its port'),
    options: { paths: ['/orders', '/other?x=1'] },
    statement: 'keyed_by',
    value: ['all'],
    says: 'all callers that were tried share one limit',
  },
  {
    fault: 'a key of the bytes of the path',
    bench: () => new LimitedServer(window(), ({ path }) => path.split('?', 1).join()),
    options: { paths: ['/orders', '/%6frders', '/orders?x=1'] },
    statement: 'keyed_by',
    value: ['path'],
    says: 'each path has a limit of its own',
  },
  {
    fault: 'a restart that forgets what was spent',
    bench: () => new LimitedServer(restarting(window, 94)),
    ...none,
    says: 'it restarted, and forgot what was spent (all answers fit one that forgets before #94)',
  },
  {
    fault: 'one that fails open at every 500th request',
    bench: () => new LimitedServer(failingOpen(window(), 500, 418)),
    ...none,
    says: 'it fails open now and then',
  },
  {
    fault: 'two windows at once',
    bench: () =>
      new LimitedServer(together(perKey(fixedWindow(10, 1_000)), perKey(fixedWindow(100, 60_000)))),
    ...none,
    says: 'it has a second limit over a longer time (100 had passed',
  },
];

// `SMSTWIN_RUNS=2` tries all of them.
test.each(sample(rows, rows.length / 2))(
  '$fault is named',
  async ({ bench, options, statement, value, says }) => {
    const { request, clock } = bench();
    const result = await audit({ request, ...clock, ...options });
    const { statements } = result;
    expect(statements[statement]).toMatchObject({ value, certainty: 'certain' });
    expect(statements[statement].sentence).toContain(says);
    // A long sentence stands in one row alone.
    const text = reportText({ url: 'http://127.0.0.1/', result, differences: [] });
    if (value === none.value) expect(text.split(says)).toHaveLength(2);
  },
);

test('a restart in a block does not look like windows of the clock', async () => {
  const limiter = restarting(() => perKey(blocking(5, 4_000, 7_000)), 34);
  const { request, clock } = new LimitedServer(limiter, undefined, () => ({}));
  // Ends before it learns all again.
  const { statements } = await audit({ request, ...clock, timeout: 250_000 });
  expect(statements.algorithm.value).not.toBe('aligned_window');
});

test.each([
  { limit: 5, other: 'sliding_counter' },
  { limit: 20, other: 'fixed_window' },
])('a window and a bucket of $limit at once are no $other', async ({ limit, other }) => {
  const server = new LimitedServer(
    perKey(windowAndBucket(limit, 1_000)),
    () => 'all',
    () => ({}),
  );
  // With these times, all answers to the 5 but the last ones fit a sliding counter of 5 in 0.9 s.
  let drawn = 102;
  const draw = () => {
    drawn = (drawn * 16_807) % 2_147_483_647;
    return drawn / 2_147_483_647;
  };
  server.now += Math.floor(draw() * 1_000);
  server.takesMs = () => 1 + draw();
  server.clock.sleep = async (ms) => {
    server.now += ms + 4 * draw();
  };
  const { statements } = await audit({
    request: server.request,
    ...server.clock,
    paths: ['/', '/other', '/?x=1'],
    // Ends before it learns all again.
    timeout: 60_000,
  });
  expect(statements.algorithm.value).not.toBe(other);
});
