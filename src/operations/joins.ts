/**
 * How the replies of the shards of a fleet become the reply of one process. An operation that
 * reaches every shard declares a join for each output field; a missing one does not compile.
 */
import type { z } from 'zod';

/**
 * `equal`: every shard answers the same. `computed`: the fleet has code of its own for it. A number
 * may be a `sum`, a boolean true on `every` shard, and a text the `earliest` or `latest` time, the
 * worst `verdict`, or the `sentences` of all. `bars`: counts over time, added up. An object has a
 * join for each of its fields.
 */
export type Join<T> = 'equal' | 'computed' | JoinOfPresent<NonNullable<T>>;

type JoinOfPresent<T> = number extends T
  ? 'sum'
  : [T] extends [boolean]
    ? 'every'
    : [T] extends [string]
      ? 'earliest' | 'latest' | 'verdict' | 'sentences'
      : T extends readonly (infer Entry)[]
        ? ListJoin<Entry>
        : T extends { readonly bars: unknown }
          ? 'bars'
          : T extends object
            ? { readonly [Field in keyof T]-?: Join<T[Field]> }
            : never;

/**
 * `all`: the entries of every shard. Its value lists the paths of fields with a request's number,
 * which is replaced by the number in the fleet. `by`: every shard lists the same entries, which
 * this field identifies. An entry with an `account_id` comes from the shard that serves the
 * account; the others are joined by `fields`. `newest`, `oldest`: the field to sort by; the input's
 * `limit` then bounds the list. `upTo`: the field of the input that bounds a list that is not sorted.
 */
export type ListJoin<Entry, Field = keyof Entry & string> =
  | (number extends Entry ? 'sum' : never)
  | ((
      | { readonly all: 'unchanged' | readonly (Field | `${string}.${string}`)[] }
      | { readonly by: Field; readonly fields: Join<Entry> }
      | (Entry extends { readonly account_id: string } ? { readonly by: 'account_id' } : never)
    ) & { readonly newest?: Field; readonly oldest?: Field; readonly upTo?: 'most' });

/** Any join, as the fleet reads it. */
export type AnyJoin = string | readonly string[] | { readonly [field: string]: AnyJoin };

/**
 * Requires a join of a declaration, except if it has no route, no reply, an id in its path, or a
 * text as its reply; or if it concerns the whole server, or one shard alone.
 */
export type MaybeJoined<H, Out> = H extends '' | `${string}{${string}`
  ? unknown
  : Out extends z.ZodType
    ?
        | { readonly fleet: { readonly joined: Join<z.output<Out>> } }
        | { readonly fleet: { readonly ofServer: true } }
        | { readonly fleet: { readonly scope: 'local' | 'named' | 'owner' } }
        | { readonly contentType: string }
    : unknown;
