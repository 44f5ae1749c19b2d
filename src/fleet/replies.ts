/**
 * What the shards answered, as replies of the fleet's control port: passed on, or joined to one.
 */
import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import type { ControlReply, SendEvent } from '../http/transport/transport.ts';
import type { Answer } from './ask.ts';

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

/** Open streams of events of some shards, as one. The id of an event is one part for each. */
export function joinedEvents(
  streams: readonly IncomingMessage[],
  close: () => void,
  lastIds: readonly string[],
): ControlReply {
  return {
    status: 200,
    open: (send, end) => {
      const ids = streams.map((_, at) => lastIds[at] ?? '0');
      for (const [at, stream] of streams.entries()) {
        readEvents(stream, (event, data, id) => {
          ids[at] = id ?? '0';
          return send(event, data, ids.join('.'));
        });
        // The reader connects again, and goes on after the last event that it got.
        stream.once('close', end);
      }
      return close;
    },
  };
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
