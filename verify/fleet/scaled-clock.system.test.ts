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
}, 240_000);

/** What is known of simulated time at the real time 0: its bounds, and its rests by the rate. */
interface Line {
  readonly least: number;
  readonly most: number;
  readonly rests: ReadonlySet<number>;
}
const unknown: Line = { least: -Infinity, most: Infinity, rests: new Set() };

/** Messages of both shards are created on one line, that of the earlier ones. */
async function expectOneLine(rate: number, earlier = unknown): Promise<Line> {
  let { least, most } = earlier;
  const rests = new Set(earlier.rests);
  for (const account of fleet.served.ready.accounts.slice(0, 10)) {
    const from = account.sims[0]?.number ?? fleet.served.ready.pool[0]?.number;
    const startMs = Date.now();
    const { body } = await fleet.send(account.api_key, { from });
    const endMs = Date.now();
    const atMs = Date.parse(JSON.parse(body).created_at);
    rests.add(atMs % rate);
    least = Math.max(least, atMs - endMs * rate);
    most = Math.min(most, atMs - startMs * rate);
  }
  expect([rests.size, least <= most]).toEqual([1, true]);
  return { least, most, rests };
}
