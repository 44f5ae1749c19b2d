/**
 * Turns replies of shards into replies of the fleet's control port. A reply is passed on, or those
 * of several shards are joined: metrics into one text, events into one stream.
 */
import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import type { ControlReply, SendEvent } from '#src/http/transport/transport.ts';
import type { ShardReply, ShardRequest } from './ask.ts';
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
