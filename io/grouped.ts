/** Lists and values by key, an object with a value for each key, and the value of the last key. */

/** The items of each key, in their order. */
export function grouped<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) push(groups, keyOf(item), item);
  return groups;
}

export function push<T, K>(lists: Map<K, T[]>, key: K, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

/** The value of the key; one is made for a key without a value. */
export function getOrAdd<K, V>(
  values: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  const known = values.get(key);
  if (known !== undefined) return known;
  const value = make();
  values.set(key, value);
  return value;
}

/** An object with the same value, such as a schema, for each of these names. */
export function eachOf<const Name extends string, const Value>(
  names: readonly Name[],
  value: Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<Name, Value>;
}

/** Finds what several callers need of one thing, once while they ask in turn. */
export function onceInTurn<T, V>(find: (of: T) => V): (of: T) => V {
  let last: T | undefined;
  let value: V | undefined;
  let isAsked = false;
  return (of) => {
    if (!isAsked || last !== of) {
      value = find(of);
      last = of;
      isAsked = true;
    }
    return value as V;
  };
}
