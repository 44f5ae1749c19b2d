/**
 * The metrics that a fleet adds to those of its shards: how many worlds its users have, and the
 * state of each shard.
 */
import type { FleetParts } from './routes.ts';
import type { Shard } from './shard.ts';

type Parts = Pick<FleetParts, 'shards' | 'routes'>;
/** The requests that HAProxy holds back, by the name of their shard; undefined: not known. */
type Waiting = ReadonlyMap<string, number> | undefined;

interface ShardMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  readonly read: (shard: Shard, parts: Parts, waiting: Waiting) => number | undefined;
}

export const shardMetrics: readonly ShardMetric[] = [
  {
    name: 'smstwin_worlds',
    help: 'Worlds of each shard. The one that the fleet starts with counts on shard 0.',
    type: 'gauge',
    read: (shard, { routes }) =>
      routes.worlds.filter((world) => world.shard === shard).length + (shard.index === 0 ? 1 : 0),
  },
  {
    name: 'smstwin_shard_up',
    help: 'Whether the shard answers: 1, or 0 while it starts again or is silent.',
    type: 'gauge',
    read: ({ state }) => (state === 'ready' ? 1 : 0),
  },
  {
    name: 'smstwin_shard_restarts_total',
    help: 'How often the process of the shard ended and was started again.',
    type: 'counter',
    read: ({ restarts }) => restarts,
  },
  {
    name: 'smstwin_shard_waiting_requests',
    help: 'Requests that wait until the shard is back, or until a change of the world is made.',
    type: 'gauge',
    read: ({ name }, _, waiting) => waiting && (waiting.get(name) ?? 0),
  },
];

/** The lines of each family, by its name, which has no `_total` in OpenMetrics. */
export function shardFamilies(parts: Parts, waiting: Waiting, isOpenMetrics: boolean) {
  return new Map(
    shardMetrics.map(({ name, help, type, read }) => {
      const family = isOpenMetrics ? name.replace(/_total$/, '') : name;
      const samples = parts.shards.flatMap((shard) => {
        const value = read(shard, parts, waiting);
        return value === undefined ? [] : [`${name}{shard="${shard.index}"} ${value}`];
      });
      return [family, [`# HELP ${family} ${help}`, `# TYPE ${family} ${type}`, ...samples]];
    }),
  );
}
