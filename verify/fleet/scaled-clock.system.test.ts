/**
 * A scaled clock of a world that spans all shards: every shard counts from one anchor, so that
 * `simulated = anchor + (real - anchor) * rate` holds with the same numbers everywhere.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FleetFixture, wideWorld } from './fleet-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'fleet-clock-'));
const world = join(folder, 'world.json');
let fleet: FleetFixture;

beforeAll(async () => {
  writeFileSync(world, JSON.stringify(wideWorld));
  const clock = ['--clock', 'scaled', '--rate', '1000', '--no-limits'];
  const journals = ['--journal-dir', join(folder, 'journals')];
  fleet = await FleetFixture.start([
    '--wide',
    '--shards',
    '2',
    '--world',
    world,
    ...clock,
    ...journals,
  ]);
});
afterAll(async () => {
  await fleet.stop();
  rmSync(folder, { recursive: true });
});

const putClock = (mode: object) => fleet.operate<{ now: string }>('PUT', '/control/clock', mode);

test('all shards count from one anchor, also with another rate and after a jump', async () => {
  await expectOneLine(1_000);
  await putClock({ mode: 'scaled', rate: 700 });
  await expectOneLine(700);
  await fleet.operate('POST', '/control/clock/advance', { by: '3d' });
  await expectOneLine(700);
  await fleet.operate('POST', '/control/reset');
  await expectOneLine(1_000);
});

test('a clock that is stopped stands still on all shards', async () => {
  await putClock({ mode: 'scaled', rate: 1_000 });
  const { now } = await putClock({ mode: 'manual' });
  for (const { api_key: key, sims } of fleet.served.ready.accounts.slice(0, 2)) {
    const { body } = await fleet.send(key, { from: sims[0]?.number });
    expect(JSON.parse(body).created_at).toBe(now);
  }
});

test('a shard that starts again counts from the same anchor', async () => {
  await putClock({ mode: 'scaled', rate: 900 });
  let line = await expectOneLine(900);
  for (const at of [0, 1]) {
    const { shards } = await fleet.operate<{ shards: { pid: number }[] }>('GET', '/control/health');
    process.kill(shards[at]?.pid ?? 0, 'SIGKILL');
    await expect.poll(async () => (await fleet.control('GET', '/control/health')).status).toBe(200);
    line = await expectOneLine(900, line);
  }
});

/** What messages show about the line `simulated = offset + real * rate`. */
interface Line {
  readonly leastOffsetMs: number;
  readonly mostOffsetMs: number;
  /** The remainders of simulated times by the rate: one, as real time is whole milliseconds. */
  readonly remainders: ReadonlySet<number>;
}
const unknown: Line = {
  leastOffsetMs: Number.NEGATIVE_INFINITY,
  mostOffsetMs: Number.POSITIVE_INFINITY,
  remainders: new Set(),
};

/** Expects that messages of both shards are created on one line, that of the earlier ones. */
async function expectOneLine(rate: number, earlier = unknown): Promise<Line> {
  let { leastOffsetMs, mostOffsetMs } = earlier;
  const remainders = new Set(earlier.remainders);
  for (const account of fleet.served.ready.accounts.slice(0, 10)) {
    const from = account.sims[0]?.number ?? fleet.served.ready.pool[0]?.number;
    const startMs = Date.now();
    const { body } = await fleet.send(account.api_key, { from });
    const endMs = Date.now();
    const atMs = Date.parse(JSON.parse(body).created_at);
    remainders.add(atMs % rate);
    leastOffsetMs = Math.max(leastOffsetMs, atMs - endMs * rate);
    mostOffsetMs = Math.min(mostOffsetMs, atMs - startMs * rate);
  }
  expect([remainders.size, leastOffsetMs <= mostOffsetMs]).toEqual([1, true]);
  return { leastOffsetMs, mostOffsetMs, remainders };
}
