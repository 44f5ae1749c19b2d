/** The metrics of a fleet: those of all shards in one text, and those of the shards themselves. */
import { getOrAdd } from '#io/grouped.ts';
import type { FleetParts } from './routes.ts';
import type { Shard } from './shard.ts';

/** The lines of one metric family: each line about it once, and the samples of all shards. */
interface FamilyLines {
  readonly head: Set<string>;
  readonly samples: string[];
}

/**
 * Joins the metrics of all shards by metric family. Each sample gets the label `shard`. `own`: the
 * lines of families that the fleet adds or replaces.
 */
export function joinedMetrics(
  texts: readonly string[],
  own: ReadonlyMap<string, readonly string[]>,
): string {
  const families = new Map<string, FamilyLines>();
  for (const [shard, text] of texts.entries()) {
    let family = '';
    for (const line of text.split('\n')) {
      if (line === '' || line === '# EOF') continue;
      const [, named] = /^# \w+ (\S+)/.exec(line) ?? [];
      family = named ?? family;
      const lines = getOrAdd(
        families,
        family,
        (): FamilyLines => ({ head: new Set(), samples: [] }),
      );
      if (named === undefined) lines.samples.push(withLabel(line, `shard="${shard}"`));
      else lines.head.add(line);
    }
  }
  const ofShards = [...families].filter(([name]) => !own.has(name));
  const lines = ofShards.flatMap(([, { head, samples }]) => [...head, ...samples]);
  return `${[...lines, ...[...own.values()].flat(), '# EOF'].join('\n')}\n`;
}

function withLabel(sample: string, label: string): string {
  const [name = ''] = /^[^{ ]+/.exec(sample) ?? [];
  const rest = sample.slice(name.length);
  if (rest.startsWith('{}')) return `${name}{${label}}${rest.slice(2)}`;
  return rest.startsWith('{') ? `${name}{${label},${rest.slice(1)}` : `${name}{${label}}${rest}`;
}

type Parts = Pick<FleetParts, 'shards' | 'routes'>;
/** The number of requests that wait, by the name of their shard; undefined if it is unknown. */
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
    read: ({ life }) => (life.state === 'ready' ? 1 : 0),
  },
  {
    name: 'smstwin_shard_restarts_total',
    help: 'How often the process of the shard ended and was started again.',
    type: 'counter',
    read: ({ life }) => life.restarts,
  },
  {
    name: 'smstwin_shard_waiting_requests',
    help: 'Requests that wait until the shard is back, or until a change of the world is made.',
    type: 'gauge',
    read: ({ name }, _, waiting) => waiting && (waiting.get(name) ?? 0),
  },
];

/** The lines of each metric family about shards, by the name of the family. */
export function shardFamilies(
  parts: Parts,
  waiting: Waiting,
  { isOpenMetrics }: { readonly isOpenMetrics: boolean },
) {
  return new Map(
    shardMetrics.map(({ name, help, type, read }) => {
      // In OpenMetrics, `_total` belongs to the sample and not to the family.
      const family = isOpenMetrics ? name.replace(/_total$/, '') : name;
      const samples = parts.shards.flatMap((shard) => {
        const value = read(shard, parts, waiting);
        return value === undefined ? [] : [`${name}{shard="${shard.index}"} ${value}`];
      });
      return [family, [`# HELP ${family} ${help}`, `# TYPE ${family} ${type}`, ...samples]];
    }),
  );
}
