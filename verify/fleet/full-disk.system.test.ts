/**
 * The disk of one shard of three is full: requests for that shard are refused, health and the log
 * name it, and the other shards go on. With room again, the shard continues from its journals.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { ReadyNumbers } from '#src/operations/worlds/world-view.ts';
import { fillDisk, mountSmallDisk, unmount } from '../testkit/processes/small-disk.ts';
import { FleetFixture, wideWorld } from './fleet-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'fleet-full-disk-'));
const disk = join(folder, 'shard-1');
mkdirSync(disk);
const isMounted = mountSmallDisk(disk);
const filler = join(disk, 'filler');
afterAll(() => {
  if (isMounted) unmount(disk);
  rmSync(folder, { recursive: true });
});

interface World extends ReadyNumbers {
  readonly world_id: string;
}

const flags = ['--shards', '3', '--journal-dir', folder, '--clock', 'manual', '--no-limits'];
const healthOf = async (fleet: FleetFixture) => {
  const { status, body } = await fleet.control('GET', '/control/health');
  const { error, shards } = JSON.parse(body);
  return { status, message: error?.message as string | undefined, shards };
};
const startAgain = async (fleet: FleetFixture) => {
  const { shards } = await healthOf(fleet);
  process.kill(shards[1].pid, 'SIGKILL');
  await expect.poll(async () => (await healthOf(fleet)).status).toBe(200);
};

test.runIf(isMounted)(
  'worlds of other shards go on, and new ones are created there',
  async () => {
    const fleet = await FleetFixture.start(flags);
    try {
      const create = () => fleet.operate<World>('POST', '/control/worlds');
      const worlds = [await create(), await create(), await create()];
      const places = await fleet.map('worlds');
      const send = async ({ accounts: [account] }: World, requestId: string) =>
        (await fleet.send(account?.api_key ?? '', { request_id: requestId })).status;
      const placeOf = ({ world_id: id }: World) => places.get(id);
      const full = worlds.find((world) => placeOf(world) === 's1') as World;
      const others = worlds.filter((world) => world !== full);
      expect(others.map(placeOf).sort()).toEqual(['s0', 's2']);
      fillDisk(filler);
      let sent = 0;
      while ((await send(full, `r${sent}`)) === 202) sent++;
      expect(await send(full, 'r0')).toBe(500);
      for (const world of others) expect(await send(world, 'r0')).toBe(202);
      const { status, message } = await healthOf(fleet);
      expect([status, message]).toEqual([503, expect.stringMatching(/^shard 1: .*ENOSPC/)]);
      expect(fleet.served.errors).toMatch(
        /shard 1: .*ENOSPC.*; every request is 500 until a restart/,
      );
      const later = await Promise.all(Array.from({ length: 6 }, create));
      const laterPlaces = await fleet.map('worlds');
      expect(later.map(({ world_id: id }) => laterPlaces.get(id))).not.toContain('s1');
      rmSync(filler);
      await startAgain(fleet);
      expect(await send(full, 'r0')).toBe(200);
      expect(await send(full, `r${sent}`)).toBe(202);
    } finally {
      await fleet.stop();
    }
  },
  240_000,
);

test.runIf(isMounted)(
  'a wide world brings the shard up to date when it has room',
  async () => {
    const journals = join(folder, 'wide');
    const own = join(journals, 'shard-1');
    mkdirSync(own, { recursive: true });
    mountSmallDisk(own);
    const world = join(folder, 'world.json');
    writeFileSync(world, JSON.stringify(wideWorld));
    const of = ['--shards', '3', '--wide', '--world', world, '--journal-dir', journals];
    let fleet = await FleetFixture.start([...of, '--clock', 'manual', '--no-limits']);
    try {
      const [first, second] = fleet.served.ready.accounts;
      const send = (account: typeof first, n: number) =>
        fleet.send(account?.api_key ?? '', { from: account?.sims[0]?.number, request_id: `r${n}` });
      fillDisk(join(own, 'filler'));
      let sent = 0;
      while ((await send(second, sent)).status === 202) sent++;
      expect((await send(second, 0)).status).toBe(500);
      expect((await send(first, 0)).status).toBe(202);
      await fleet.operate('PATCH', '/control/assumptions', { errorBody: 'nested' });
      const match = { account_id: second?.account_id };
      const fault = { kind: 'status', status: 418 };
      await fleet.operate('POST', '/control/faults', {
        match,
        when: { every: 1 },
        fault,
        times: 1,
      });
      const { now } = await fleet.operate<{ now: string }>('POST', '/control/clock/advance', {
        by: '1h',
      });
      expect((await healthOf(fleet)).message).toMatch(/^shard 1: .*ENOSPC/);
      await fleet.served.kill();
      rmSync(join(own, 'filler'));
      fleet = await FleetFixture.start([...of, '--clock', 'manual', '--no-limits']);
      expect(await fleet.operate('GET', '/control/clock')).toMatchObject({ now });
      expect((await send(second, 0)).status).toBe(418);
      expect((await send(second, 0)).status).toBe(200);
      const refused = await fleet.send(second?.api_key ?? '', { to: 'nonsense' });
      expect(JSON.parse(refused.body)).toHaveProperty('error.code');
    } finally {
      await fleet.stop();
      unmount(own);
    }
  },
  240_000,
);
