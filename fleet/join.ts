/**
 * Joins the reply bodies of all shards of a wide world (a world that spans all shards) into the
 * body that one process would answer. Every shard lists every account, SIM and fault, but only one
 * shard, the owner, serves the requests of an account: numbers add up, and its entry of an account
 * counts.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Shard } from './shard.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Fields = { readonly [name: string]: Json };
/** One value or list for each shard, in their order; null: this shard has none. */
type ValuesOfShards = readonly Json[];
type ListsOfShards = readonly (readonly Json[] | null)[];

/** Fields that are equal on every shard, so their numbers are not added up. */
const equalFields = new Set([
  ...['seed', 'rate', 'accounts', 'sims', 'faults', 'running', 'level', 'version'],
  ...['devices', 'match', 'when', 'times', 'fault', 'limit', 'width_ms'],
]);
/** The fields that identify an entry which every shard lists. */
const idFields = ['fault_id', 'id', 'device_id'];
const harTime = 'startedDateTime';
/** The fields that a list is sorted by, if its entries have one. */
const timeFields = ['created_at', 'received_at', 'at', harTime];
/** The referee's verdicts; the first one that any shard gave counts. */
const verdicts = ['failed', 'advice', 'passed', 'not_exercised'];

export interface Joining {
  readonly shards: readonly Shard[];
  readonly ownerOf: (accountId: string) => Shard;
}

/** `bodies`: one parsed JSON body for each shard, in their order. */
export function joinBodies(bodies: readonly unknown[], joining: Joining): Json {
  return joinValues('', bodies as ValuesOfShards, joining);
}

/** The number of a request in the whole fleet, from its number on a shard. */
export function fleetNumber(number: number, shardIndex: number, shardCount: number): number {
  return number * shardCount + shardIndex;
}

/** The inverse of `fleetNumber`. */
export function shardNumber(number: number, shardCount: number) {
  return { number: Math.floor(number / shardCount), shardIndex: number % shardCount };
}

/** `name`: the field that holds the values; empty for a whole body or an entry of a list. */
function joinValues(name: string, values: ValuesOfShards, joining: Joining): Json {
  const present = values.filter((value) => value !== null && value !== undefined);
  const [first] = present;
  if (first === undefined) return null;
  if (name === 'next_at') return present.reduce((a, b) => (b < a ? b : a));
  if (name === 'now') return present.reduce((a, b) => (b > a ? b : a));
  if (name === 'verdict') return verdicts.find((verdict) => present.includes(verdict)) ?? first;
  if (equalFields.has(name) && !Array.isArray(first)) return first;
  if (typeof first === 'number') return present.reduce((sum: number, n) => sum + Number(n), 0);
  if (typeof first === 'boolean') return present.every((value) => value === true);
  if (Array.isArray(first)) return joinLists(name, values as ListsOfShards, joining);
  if (typeof first !== 'object') return first;
  if ('bars' in first) return joinBarCharts(present as readonly Fields[]);
  return joinObjects(values.map(fieldsOf), joining);
}

function joinObjects(objects: readonly Fields[], joining: Joining): Json {
  const names = new Set(objects.flatMap((object) => Object.keys(object)));
  const joinField = (name: string) => {
    const values = objects.map((object) => object[name] ?? null);
    return joinValues(name, values, joining);
  };
  return Object.fromEntries([...names].map((name) => [name, joinField(name)]));
}

function joinLists(name: string, lists: ListsOfShards, joining: Joining): Json {
  if (name === 'hits') return addByPosition(lists);
  const accountIds = equalAccountIds(lists);
  if (accountIds !== undefined) return joinByAccount(lists, accountIds, joining);
  return sortByTime(joinEntries(name, lists, joining));
}

function addByPosition(lists: ListsOfShards): Json {
  const sumAt = (position: number) =>
    lists.reduce((sum, list) => sum + Number(list?.[position] ?? 0), 0);
  return (lists[0] ?? []).map((_, position) => sumAt(position));
}

/**
 * The account of each entry, if all shards list the same accounts in the same order; null: the
 * entry belongs to no account; empty: it has no such field. Undefined if the lists differ or name
 * none.
 */
function equalAccountIds(lists: ListsOfShards): readonly Json[] | undefined {
  const accountIdOf = (entry: Json) => {
    const { account_id: accountId = '' } = fieldsOf(entry);
    return accountId;
  };
  const [accountIds = [], ...others] = lists.map((list) => (list ?? []).map(accountIdOf));
  const areEqual = others.every((ids) => isDeepStrictEqual(ids, accountIds));
  const hasAccounts = accountIds.some((id) => typeof id === 'string' && id !== '');
  return areEqual && hasAccounts ? accountIds : undefined;
}

/** Takes each entry from the owner of its account; joins the entries that belong to no account. */
function joinByAccount(
  lists: ListsOfShards,
  accountIds: readonly Json[],
  joining: Joining,
): readonly Json[] {
  return accountIds.map((accountId, position) => {
    const copies = lists.map((list) => list?.[position] ?? null);
    if (typeof accountId !== 'string') return joinValues('', copies, joining);
    return copies[joining.shards.indexOf(joining.ownerOf(accountId))] ?? null;
  });
}

/** Decides entry by entry: lists of messages, requests, findings, faults and the pool's SIMs. */
function joinEntries(name: string, lists: ListsOfShards, joining: Joining): Json[] {
  const entries: Json[] = [];
  /** Entries that several shards list, by id, with their position in `entries`. */
  const shared = new Map<string, { readonly position: number; readonly copies: Json[] }>();
  const addShared = (id: string, entry: Json, shardIndex: number) => {
    const newcomer = () => ({ position: entries.push(null) - 1, copies: lists.map(() => null) });
    const found = shared.get(id) ?? newcomer();
    found.copies[shardIndex] = entry;
    shared.set(id, found);
  };
  for (const [shardIndex, list] of lists.entries()) {
    for (const entry of list ?? []) {
      const fields = fieldsOf(entry);
      const { account_id: accountId, number, status } = fields;
      const isRequest = typeof number === 'number' && status !== undefined;
      const id = idFields.map((field) => fields[field]).find((value) => typeof value === 'string');
      if (isRequest || name === 'findings') {
        entries.push(withFleetNumbers(fields, shardIndex, lists.length));
      } else if (typeof accountId === 'string') {
        if (joining.ownerOf(accountId) === joining.shards[shardIndex]) entries.push(entry);
      } else if (id === undefined) entries.push(entry);
      else addShared(id, entry, shardIndex);
    }
  }
  for (const { position, copies } of shared.values()) {
    entries[position] = joinValues('', copies, joining);
  }
  return entries;
}

/** Sorts in place, newest first; the entries of a HAR file oldest first. */
function sortByTime(entries: Json[]): readonly Json[] {
  const timeField = timeFields.find((field) => entries.some((entry) => field in fieldsOf(entry)));
  if (timeField === undefined) return entries;
  const direction = timeField === harTime ? 1 : -1;
  return entries.sort((a, b) => {
    const [timeOfA, timeOfB] = [String(fieldsOf(a)[timeField]), String(fieldsOf(b)[timeField])];
    if (timeOfA === timeOfB) return 0;
    return timeOfA > timeOfB ? direction : -direction;
  });
}

function fieldsOf(value: Json): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function withFleetNumbers(entry: Fields, shardIndex: number, shardCount: number): Json {
  const { number, exchanges } = entry;
  const inFleet = (shardNumber: Json) => fleetNumber(Number(shardNumber), shardIndex, shardCount);
  return {
    ...entry,
    ...(typeof number === 'number' && { number: inFleet(number) }),
    ...(Array.isArray(exchanges) && { exchanges: exchanges.map(inFleet) }),
  };
}

/** Adds up the counts of requests over time, in bars as wide as the widest of any shard. */
function joinBarCharts(charts: readonly Fields[]): Json {
  const widthMs = Math.max(...charts.map((chart) => Number(chart['width_ms'])));
  /** Bars are numbered from the epoch, so that the bars of all shards meet. */
  const barAt = (ms: number) => Math.floor(ms / widthMs);
  const startMsOf = (chart: Fields) => Date.parse(String(chart['from']));
  const firstBar = Math.min(...charts.map((chart) => barAt(startMsOf(chart))));
  const bars: { count: number; throttled: number }[] = [];
  for (const chart of charts) {
    for (const [index, bar] of (chart['bars'] as readonly Fields[]).entries()) {
      const position = barAt(startMsOf(chart) + index * Number(chart['width_ms'])) - firstBar;
      while (bars.length <= position) bars.push({ count: 0, throttled: 0 });
      const sum = bars[position];
      if (sum === undefined) continue;
      sum.count += Number(bar['count']);
      sum.throttled += Number(bar['throttled']);
    }
  }
  return { width_ms: widthMs, from: new Date(firstBar * widthMs).toISOString(), bars };
}
