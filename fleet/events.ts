/** Joins the streams of events of all shards into one. */
import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import type { ControlReply, SendEvent } from '#src/http/transport/transport.ts';
import { passedReply, type ShardRequest } from './ask.ts';
import type { Shard } from './shard.ts';

/** The stream of all shards. An id has one part for each shard, so all of them can resume. */
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
