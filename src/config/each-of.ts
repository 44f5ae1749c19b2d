/** An object with the same value, such as a schema, for each of these names. */
export function eachOf<const Name extends string, const Value>(
  names: readonly Name[],
  value: Value,
): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<Name, Value>;
}
