/** Suggests the name that a user probably meant. */

/** The name closest to the given one, by the letters to change; undefined if all are far from it. */
export function nearestOf(given: string, names: readonly string[]): string | undefined {
  const far = Math.max(2, Math.ceil(given.length / 2));
  const near = names
    .map((name) => ({ name, distance: changesBetween(given.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= far)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.name;
}

/** How many letters must be inserted, removed or replaced to make one text the other. */
export function changesBetween(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      const removed = (above[column] ?? 0) + 1;
      current.push(Math.min(replaced, removed, (current[column - 1] ?? 0) + 1));
    }
    above = current;
  }
  return above[to.length] ?? 0;
}
