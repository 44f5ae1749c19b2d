/**
 * What the shards answered, as replies of the fleet's control port: passed on, or joined to one.
 */
import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import type { ControlReply, SendEvent } from '../http/transport/transport.ts';
import type { Answer, Asked } from './ask.ts';
import type { Shard } from './shard.ts';

const passedHeaders = ['allow', 'www-authenticate', 'retry-after'] as const;

export function passedReply({ status, headers: all, body }: Answer): ControlReply {
  const headers: Record<string, string> = {};
  for (const name of passedHeaders) {
    const value = all[name];
    if (typeof value === 'string') headers[name] = value;
  }
  const type = all['content-type'] ?? '';
  return type === '' || type.startsWith('application/json')
    ? { status, body, headers }
    : { status, content: body, contentType: type, headers };
}

export function okReply(body: unknown): ControlReply {
  return { status: 200, body: JSON.stringify(body) };
}

/** The same answer with a body that says something else. */
export function changedReply<T>(answer: Answer, change: (value: T) => unknown): ControlReply {
  const body = JSON.stringify(change(JSON.parse(answer.body) as T));
  return passedReply({ ...answer, body });
}

/** The metrics of several shards as one exposition: each sample gets the label `shard`. */
export function joinedMetrics(texts: readonly string[]): string {
  const families = new Map<string, { readonly head: Set<string>; readonly samples: string[] }>();
  for (const [shard, text] of texts.entries()) {
    let family = '';
    for (const line of text.split('\n')) {
      if (line === '' || line === '# EOF') continue;
      const [, named] = /^# \w+ (\S+)/.exec(line) ?? [];
      family = named ?? family;
      const place = families.get(family) ?? { head: new Set(), samples: [] };
      families.set(family, place);
      if (named === undefined) place.samples.push(withLabel(line, `shard="${shard}"`));
      else place.head.add(line);
    }
  }
  const lines = [...families.values()].flatMap(({ head, samples }) => [...head, ...samples]);
  const end = texts.some((text) => text.includes('\n# EOF')) ? ['# EOF'] : [];
  return `${[...lines, ...end].join('\n')}\n`;
}

function withLabel(sample: string, label: string): string {
  const [name = ''] = /^[^{ ]+/.exec(sample) ?? [];
  const rest = sample.slice(name.length);
  if (rest.startsWith('{}')) return `${name}{${label}}${rest.slice(2)}`;
  return rest.startsWith('{') ? `${name}{${label},${rest.slice(1)}` : `${name}{${label}}${rest}`;
}

/** The events of these shards as one stream. The id of an event has one part for each. */
export async function openEvents(shards: readonly Shard[], asked: Asked): Promise<ControlReply> {
  const { 'last-event-id': lastId, ...headers } = asked.headers ?? {};
  const lastIds = lastId?.split('.') ?? [];
  const leaving = new AbortController();
  const streams = await Promise.all(
    shards.map((shard, at) => {
      const id = lastIds[at];
      const own = { ...headers, ...(id !== undefined && { 'last-event-id': id }) };
      return shard.open({ ...asked, headers: own }, leaving.signal);
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
    const ids = shards.map((_, at) => lastIds[at] ?? '0');
    for (const [at, stream] of streams.entries()) {
      readEvents(stream, (event, data, id) => {
        ids[at] = id ?? '0';
        return send(event, data, ids.join('.'));
      });
      // The reader connects again, and goes on after the last event that it got.
      stream.once('close', end);
    }
    return () => leaving.abort();
  };
  return { status: 200, open };
}

function readEvents(stream: IncomingMessage, send: SendEvent): void {
  let fields: Record<string, string> = {};
  createInterface({ input: stream }).on('line', (line) => {
    const [, name = '', value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (line !== '') {
      if (name !== '') fields[name] = value;
      return;
    }
    const { event, data, id } = fields;
    fields = {};
    if (event !== undefined && data !== undefined) send(event, JSON.parse(data), id);
  });
  stream.on('error', () => {});
}
