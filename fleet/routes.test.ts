import { expect, test } from 'vitest';
import type { Haproxy } from './haproxy.ts';
import { Routes, type WorldView } from './routes.ts';
import type { Shard } from './shard.ts';

type Lists = Promise<{ readonly worlds: readonly WorldView[] }>;

const world = { world_id: 'w1', name: null, expires_at: null } as unknown as WorldView;

/** The routes of a shard whose worlds have no keys; `list` reads its list of worlds. */
function routesOf(list: () => Lists) {
  const haproxy = { change: async () => {}, maps: { keys: new Map() } };
  const shard = { read: list, ask: async () => ({ status: 200 }), parse: () => ({ keys: [] }) };
  return {
    routes: new Routes(haproxy as unknown as Haproxy),
    shard: shard as unknown as Shard,
  };
}

test('a list that lacks a world which was created meanwhile does not remove its route', async () => {
  let arrive = (_: Awaited<Lists>) => {};
  const { routes, shard } = routesOf(() => new Promise((resolve) => (arrive = resolve)));
  const reading = routes.readShard(shard);
  await routes.readKeys(shard, world);
  arrive({ worlds: [] });
  await reading;
  expect(routes.shardOf('w1')).toBe(shard);
});

test('a world that ended loses its route', async () => {
  const { routes, shard } = routesOf(async () => ({ worlds: [] }));
  await routes.readKeys(shard, world);
  await routes.readShard(shard);
  expect(routes.shardOf('w1')).toBeUndefined();
});
