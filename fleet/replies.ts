/**
 * Turns replies of shards into replies of the fleet's control port. A reply is passed on, or those
 * of several shards are joined: metrics into one text, with those of the shards themselves, and events
 * into one stream.
 */
import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import type { ControlReply, SendEvent } from '#src/http/transport/transport.ts';
import type { ShardReply, ShardRequest } from './ask.ts';
import type { FleetParts } from './routes.ts';
import type { Shard } from './shard.ts';

/** The headers of a shard's reply that the fleet passes on, and the content type. */
const passedHeaders = ['allow', 'www-authenticate', 'retry-after'] as const;

export function passedReply({ status, headers: received, body }: ShardReply): ControlReply {
  const headers: Record<string, string> = {};
  for (const name of passedHeaders) {
    const value = received[name];
    if (typeof value === 'string') headers[name] = value;
  }
  const contentType = received['content-type'] ?? '';
  return contentType === '' || contentType.startsWith('application/json')
    ? { status, body, headers }
    : { status, content: body, contentType, headers };
}

export function okReply(body: unknown): ControlReply {
  return { status: 200, body: JSON.stringify(body) };
}

export function changedReply<T>(reply: ShardReply, change: (value: T) => unknown): ControlReply {
  const body = JSON.stringify(change(JSON.parse(reply.body) as T));
  return passedReply({ ...reply, body });
}

/**
 * Joins the metrics of all shards by metric family. Each sample gets the label `shard`. `own`: the
 * lines of families that the fleet adds or replaces.
 */
export function joinedMetrics(
  texts: readonly string[],
  own: ReadonlyMap<string, readonly string[]>,
): string {
  const families = new Map<string, { readonly head: Set<string>; readonly samples: string[] }>();
  for (const [shard, text] of texts.entries()) {
    let family = '';
    for (const line of text.split('\n')) {
      if (line === '' || line === '# EOF') continue;
      const [, named] = /^# \w+ (\S+)/.exec(line) ?? [];
      family = named ?? family;
      const lines = families.get(family) ?? { head: new Set(), samples: [] };
      families.set(family, lines);
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

/** Joins the events of shards into one stream. An id has one part for each shard, so all resume. */
export async function openEvents(
  shards: readonly Shard[],
  request: ShardRequest,
): Promise<ControlReply> {
  const { 'last-event-id': lastId, ...headers } = request.headers ?? {};
  const lastIds = lastId?.split('.') ?? [];
  const leaving = new AbortController();
  const streams = await Promise.all(
    shards.map((shard, index) => {
      const id = lastIds[index];
      const ownHeaders = { ...headers, ...(id !== undefined && { 'last-event-id': id }) };
      return shard.openReply({ ...request, headers: ownHeaders }, leaving.signal);
    }),
  );
  for (const stream of streams) {
    if (stream.statusCode === 200) continue;
    let body = '';
    for await (const piece of stream) body += String(piece);
    leaving.abort();
    return passedReply({ status: stream.statusCode ?? 0, headers: stream.headers, body });
  }
  const open = (send: SendEvent, end: () => void) => {
    const ids = shards.map((_, index) => lastIds[index] ?? '0');
    for (const [index, stream] of streams.entries()) {
      readEvents(stream, (event, data, id) => {
        ids[index] = id ?? '0';
        return send(event, data, ids.join('.'));
      });
      // A shard has ended: the client connects again and resumes after its last event.
      stream.once('close', end);
    }
    return () => leaving.abort();
  };
  return { status: 200, open };
}

/** Parses server-sent events: an empty line ends each of them. */
function readEvents(stream: IncomingMessage, send: SendEvent): void {
  let fields: Record<string, string> = {};
  createInterface({ input: stream }).on('line', (line) => {
    const [, name, value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name !== undefined) fields[name] = value;
    if (line !== '') return;
    const { event, data, id } = fields;
    fields = {};
    if (event !== undefined && data !== undefined) send(event, JSON.parse(data), id);
  });
  stream.on('error', () => {});
}

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
