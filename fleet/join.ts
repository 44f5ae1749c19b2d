/**
 * Joins the replies of all shards of a wide world (a world that spans all shards) into the reply
 * that one process would give: bodies field by field, as the operation declares, and streams of
 * events. Every shard lists every account, SIM and fault. But only one shard, the owner, serves the
 * requests of an account, so the entries of an account are those of its owner.
 */

import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '#contract/request-and-reply.ts';
import { isoTime } from '#contract/time.ts';
import { getOrAdd } from '#io/grouped.ts';
import type { ControlReply, SendEvent } from '#src/http/transport/transport.ts';
import type { AnyJoin } from '#src/operations/joins.ts';
import { widthFor } from '#src/operations/requests/requests.ts';
import type { Share } from '#src/worlds/address.ts';
import { passedReply, type ShardRequest } from './ask.ts';
import type { Shard } from './shard.ts';

export type Fields = { readonly [name: string]: Json };
type AnyFields = Exclude<AnyJoin, string | readonly string[]>;
/** One value or list for each shard, in their order; null: this shard has none. */
type ValuesOfShards = readonly Json[];
type ListsOfShards = readonly (readonly Json[] | null)[];

/** The referee's verdicts, the gravest first: that is the verdict of all shards together. */
const verdicts = ['failed', 'advice', 'passed', 'not_exercised'];

export interface Joining {
  readonly shards: readonly Shard[];
  readonly ownerOf: (accountId: string) => Shard;
  readonly limit?: number | undefined;
  /** How many entries a list has at most that is declared with `upTo: 'most'`. */
  readonly most?: number | undefined;
}

/** `bodies`: one parsed JSON body for each shard, in their order. */
export function joinBodies(bodies: readonly unknown[], how: AnyJoin, joining: Joining): Json {
  return joinValues(bodies as ValuesOfShards, how, joining);
}

/** The number of a request in the whole fleet, from its number on a shard. */
function fleetNumber(number: number, { index, count }: Share): number {
  return number * count + index;
}

/** The inverse of `fleetNumber`. */
export function shardNumber(number: number, shardCount: number) {
  return { number: Math.floor(number / shardCount), shardIndex: number % shardCount };
}

function joinValues(values: ValuesOfShards, how: AnyJoin, joining: Joining): Json {
  const present = values.filter((value) => value !== null && value !== undefined);
  const [first] = present;
  if (first === undefined) return null;
  switch (how) {
    case 'equal':
    case 'computed':
      return first;
    case 'sum':
      if (Array.isArray(first)) return addByPosition(values as ListsOfShards);
      // A bound may be `unlimited`.
      if (present.some((value) => typeof value !== 'number')) return first;
      return present.reduce((sum: number, value) => sum + Number(value), 0);
    case 'every':
      return present.every((value) => value === true);
    case 'earliest':
      return present.reduce((a, b) => (b < a ? b : a));
    case 'latest':
      return present.reduce((a, b) => (b > a ? b : a));
    case 'sentences':
      return [...new Set(present)].join('; ');
    case 'verdict':
      return verdicts.find((verdict) => present.includes(verdict)) ?? first;
    case 'bars':
      return joinBarCharts(present as readonly Fields[]);
  }
  if (typeof how === 'string') throw new Error(`no join is called ${how}`);
  const fields = how as AnyFields;
  if (Array.isArray(first)) return joinLists(values as ListsOfShards, fields, joining);
  return joinObjects(values.map(fieldsOf), fields, joining);
}

function joinObjects(objects: readonly Fields[], how: AnyFields, joining: Joining): Json {
  const names = new Set(objects.flatMap((object) => Object.keys(object)));
  const joinField = (name: string) => {
    const values = objects.map((object) => object[name] ?? null);
    return joinValues(values, how[name] ?? 'equal', joining);
  };
  return Object.fromEntries([...names].map((name) => [name, joinField(name)]));
}

function addByPosition(lists: ListsOfShards): Json {
  const sumAt = (position: number) =>
    lists.reduce((sum, list) => sum + Number(list?.[position] ?? 0), 0);
  return (lists[0] ?? []).map((_, position) => sumAt(position));
}

function joinLists(lists: ListsOfShards, how: AnyFields, joining: Joining): Json {
  const { all, newest, oldest, upTo } = how;
  const entries =
    all !== undefined
      ? lists.flatMap((list, index) =>
          (list ?? []).map((entry) => withFleetNumbers(entry, all, { index, count: lists.length })),
        )
      : joinCommon(lists, how, joining);
  if (newest === undefined && oldest === undefined)
    return upTo === undefined ? entries : entries.slice(0, joining.most);
  const timeOf = (entry: Json) => Date.parse(String(fieldsOf(entry)[String(newest ?? oldest)]));
  const direction = newest === undefined ? 1 : -1;
  entries.sort((a, b) => direction * (timeOf(a) - timeOf(b)));
  return entries.slice(0, joining.limit);
}

/** Joins entries that every shard lists: by position if all lists have the same ids, else by id. */
function joinCommon(lists: ListsOfShards, { by, fields }: AnyFields, joining: Joining): Json[] {
  const idOf = (entry: Json) => {
    const { account_id: accountId, [String(by)]: id = null } = fieldsOf(entry);
    return String(accountId ?? id);
  };
  const [ids = [], ...others] = lists.map((list) => (list ?? []).map(idOf));
  const haveSame = others.every((own) => isDeepStrictEqual(own, ids));
  const copiesById = new Map<string, Json[][]>();
  for (const [shardIndex, list] of lists.entries()) {
    for (const [position, entry] of (list ?? []).entries()) {
      const id = haveSame ? String(position) : idOf(entry);
      const copies = getOrAdd(copiesById, id, () => lists.map((): Json[] => []));
      copies[shardIndex]?.push(entry);
    }
  }
  return [...copiesById.values()].flatMap((copies) => {
    const { account_id: accountId } = fieldsOf(copies.flat()[0] ?? null);
    if (typeof accountId === 'string')
      return copies[joining.shards.indexOf(joining.ownerOf(accountId))] ?? [];
    const firsts = copies.map(([copy = null]) => copy);
    return [joinValues(firsts, fields ?? 'equal', joining)];
  });
}

/** The fields of an object; no fields for any other value. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** Replaces numbers of requests on a shard by those in the fleet. `all`: paths of their fields. */
export function withFleetNumbers(entry: Json, all: AnyJoin, shard: Share): Json {
  if (!Array.isArray(all)) return entry;
  const inFleet = (number: Json) => (number === null ? null : fleetNumber(Number(number), shard));
  const changed = (value: Json, [name, ...rest]: readonly string[]): Json => {
    if (name === undefined) return Array.isArray(value) ? value.map(inFleet) : inFleet(value);
    const { [name]: inner, ...others } = fieldsOf(value);
    return inner === undefined ? value : { ...others, [name]: changed(inner, rest) };
  };
  return (all as readonly string[]).reduce((each, path) => changed(each, path.split('.')), entry);
}

/** Adds up the counts of requests over time, in bars wide enough for the time of all shards. */
function joinBarCharts(all: readonly Fields[]): Json {
  const barsOf = (chart: Fields) => chart['bars'] as readonly { readonly [name: string]: number }[];
  const counted = all.filter((chart) => barsOf(chart).some((bar) => bar['count'] !== 0));
  const charts = counted.length > 0 ? counted : all;
  const startMsOf = (chart: Fields) => Date.parse(String(chart['from']));
  const endMsOf = (chart: Fields) =>
    startMsOf(chart) + barsOf(chart).length * Number(chart['width_ms']);
  const spanMs = Math.max(...charts.map(endMsOf)) - Math.min(...charts.map(startMsOf));
  const widthMs = Math.max(widthFor(spanMs), ...charts.map((chart) => Number(chart['width_ms'])));
  /** Bars are numbered from the epoch, so that the bars of all shards meet. */
  const barAt = (ms: number) => Math.floor(ms / widthMs);
  const firstBar = Math.min(...charts.map((chart) => barAt(startMsOf(chart))));
  const bars: { count: number; throttled: number; spent: number }[] = [];
  for (const chart of charts) {
    for (const [index, bar] of barsOf(chart).entries()) {
      const position = barAt(startMsOf(chart) + index * Number(chart['width_ms'])) - firstBar;
      while (bars.length <= position) bars.push({ count: 0, throttled: 0, spent: 0 });
      const sum = bars[position];
      if (sum === undefined) continue;
      sum.count += Number(bar['count']);
      sum.throttled += Number(bar['throttled']);
      sum.spent += Number(bar['spent']);
    }
  }
  return { width_ms: widthMs, from: isoTime(firstBar * widthMs), bars };
}

/**
 * Opens the event streams of these shards as one. The id of an event has one part for each shard,
 * so that a client that connects again resumes in all of them.
 */
export async function openEvents(
  shards: readonly Shard[],
  request: ShardRequest,
): Promise<ControlReply> {
  const { 'last-event-id': lastId, ...headers } = request.headers ?? {};
  const lastIds = lastId?.split('.') ?? [];
  const leaving = new AbortController();
  const opening = shards.map((shard, index) => {
    const id = lastIds[index];
    const ownHeaders = { ...headers, ...(id !== undefined && { 'last-event-id': id }) };
    return shard.openReply({ ...request, headers: ownHeaders }, leaving.signal);
  });
  const streams = await Promise.all(opening).catch((error: unknown) => {
    // The other shards must not keep streams without a reader.
    leaving.abort();
    throw error;
  });
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
