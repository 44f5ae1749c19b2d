/**
 * Joins what the shards of a wide world answered to one operation. Every shard has every account,
 * SIM and fault; an account is in use on one shard, whose entry counts.
 */
import type { Shard } from './shard.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Fields = { readonly [name: string]: Json };

/** The same on every shard. */
const same = new Set([
  ...['seed', 'rate', 'accounts', 'sims', 'faults', 'running', 'level', 'version'],
  ...['devices', 'match', 'when', 'times', 'fault', 'limit', 'width_ms'],
]);
/** Lists whose entries each shard has: an entry is known by one of these. */
const names = ['fault_id', 'id', 'device_id'];
/** What sorts a list, newest first. */
const harTime = 'startedDateTime';
const times = ['created_at', 'received_at', 'at', harTime];
const verdicts = ['failed', 'advice', 'passed', 'not_exercised'];

export interface Joining {
  readonly shards: readonly Shard[];
  readonly ownerOf: (accountId: string) => Shard;
}

/** `bodies`: one for each shard, in their order. */
export function joined(bodies: readonly unknown[], joining: Joining): Json {
  return joinValues('', bodies as readonly Json[], joining);
}

/** The number of a request in the whole fleet, and back. */
export function fleetNumber(number: number, shard: number, shards: number): number {
  return number * shards + shard;
}
export function shardNumber(number: number, shards: number): { number: number; shard: number } {
  return { number: Math.floor(number / shards), shard: number % shards };
}

function joinValues(name: string, values: readonly Json[], joining: Joining): Json {
  const given = values.filter((value) => value !== null && value !== undefined);
  const [first] = given;
  if (first === undefined) return null;
  if (name === 'next_at') return given.reduce((one, other) => (other < one ? other : one));
  if (name === 'now') return given.reduce((one, other) => (other > one ? other : one));
  if (name === 'verdict') return verdicts.find((word) => given.includes(word)) ?? first;
  if (same.has(name) && !Array.isArray(first)) return first;
  if (typeof first === 'number') return given.reduce((sum: number, n) => sum + Number(n), 0);
  if (typeof first === 'boolean') return given.every((value) => value === true);
  if (Array.isArray(first)) return joinLists(name, values as readonly (readonly Json[])[], joining);
  if (typeof first !== 'object') return first;
  if ('bars' in first) return joinBars(given as readonly Fields[]);
  const fields = values.map((value) => (value ?? {}) as Fields);
  const all = new Set(fields.flatMap((each) => Object.keys(each)));
  return Object.fromEntries(
    [...all].map((field) => [
      field,
      joinValues(
        field,
        fields.map((each) => each[field] ?? null),
        joining,
      ),
    ]),
  );
}

/** `lists`: that of each shard, in their order. */
function joinLists(name: string, lists: readonly (readonly Json[])[], joining: Joining): Json {
  if (name === 'hits') {
    return (lists[0] ?? []).map((_, at) => lists.reduce((sum, list) => sum + Number(list[at]), 0));
  }
  const alike = sharedAccountIds(lists);
  if (alike !== undefined) {
    return alike.map((id, place) => {
      const said = lists.map((list) => list[place] ?? null);
      if (typeof id !== 'string') return joinValues('', said, joining);
      return said[joining.shards.indexOf(joining.ownerOf(id))] ?? null;
    });
  }
  /** An item, or what each shard says of it. */
  const items: (Json | Map<number, Json>)[] = [];
  const known = new Map<string, Map<number, Json>>();
  for (const [at, list] of lists.entries()) {
    for (const item of list ?? []) {
      const fields = (typeof item === 'object' && item !== null ? item : {}) as Fields;
      const { account_id: accountId, number, status } = fields;
      const isRequest = typeof number === 'number' && status !== undefined;
      if (isRequest || name === 'findings') items.push(renumbered(fields, at, lists.length));
      else if (typeof accountId === 'string') {
        if (joining.ownerOf(accountId) === joining.shards[at]) items.push(item);
      } else {
        const identity = names.map((field) => fields[field]).find((id) => typeof id === 'string');
        const said = known.get(String(identity)) ?? new Map<number, Json>();
        if (identity === undefined) items.push(item);
        else if (said.size === 0) items.push(said);
        known.set(String(identity), said.set(at, item));
      }
    }
  }
  const whole = items.map((item): Json => {
    if (!(item instanceof Map)) return item;
    return joinValues(
      '',
      lists.map((_, at) => item.get(at) ?? null),
      joining,
    );
  });
  const time = times.find((field) => whole.some((item) => hasField(item, field)));
  return time === undefined ? whole : whole.sort((one, other) => compare(one, other, time));
}

/**
 * The account of each entry, if all shards list the same accounts in the same order; null: the entry
 * belongs to no account; empty: it has no such field. Undefined if the lists differ or name none.
 */
function sharedAccountIds(lists: readonly (readonly Json[])[]): readonly Json[] | undefined {
  const [first = [], ...others] = lists.map((list) =>
    (list ?? []).map((item) =>
      hasField(item, 'account_id') ? (item as Fields)['account_id'] : '',
    ),
  );
  const isAlike = others.every(
    (ids) => ids.length === first.length && ids.every((id, place) => id === first[place]),
  );
  const hasAccounts = first.some((id) => typeof id === 'string' && id !== '');
  return isAlike && hasAccounts ? first.map((id) => id ?? null) : undefined;
}

/** Newest first, except the entries of a HAR file. */
function compare(one: Json, other: Json, time: string): number {
  const [first, second] = [one, other].map((item) => String((item as Fields)[time]));
  if (first === second) return 0;
  const isLater = (first ?? '') > (second ?? '');
  return isLater === (time === harTime) ? 1 : -1;
}

function hasField(item: Json, field: string): boolean {
  return typeof item === 'object' && item !== null && field in item;
}

function renumbered(item: Fields, shard: number, shards: number): Json {
  const { number, exchanges } = item;
  const inFleet = (own: Json) => fleetNumber(Number(own), shard, shards);
  return {
    ...item,
    ...(typeof number === 'number' && { number: inFleet(number) }),
    ...(Array.isArray(exchanges) && { exchanges: exchanges.map(inFleet) }),
  };
}

/** Bars over time, as wide as the widest. */
function joinBars(given: readonly Fields[]): Json {
  const width = Math.max(...given.map((each) => Number(each['width_ms'])));
  const placeOf = (ms: number) => Math.floor(ms / width);
  const starts = given.map((each) => Date.parse(String(each['from'])));
  const first = Math.min(...starts.map(placeOf));
  const bars: { count: number; throttled: number }[] = [];
  for (const [at, each] of given.entries()) {
    for (const [place, bar] of (each['bars'] as readonly Fields[]).entries()) {
      const ms = (starts[at] ?? 0) + place * Number(each['width_ms']);
      const own = placeOf(ms) - first;
      while (bars.length <= own) bars.push({ count: 0, throttled: 0 });
      const into = bars[own];
      if (into === undefined) continue;
      into.count += Number(bar['count']);
      into.throttled += Number(bar['throttled']);
    }
  }
  return { width_ms: width, from: new Date(first * width).toISOString(), bars };
}
