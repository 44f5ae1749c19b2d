/**
 * Computes rows in which every two answers to two different questions occur together at least once.
 * Greedy and deterministic; few enough rows to run, while all combinations would take too long.
 */

/** Questions by name, each with its possible answers. */
export type Choices = Readonly<Record<string, readonly unknown[]>>;
export type Row = Readonly<Record<string, unknown>>;

/** The indices of a question and of one of its answers. */
type Choice = readonly [q: number, a: number];
type Pair = readonly [Choice, Choice];

export function pairwise(choices: Choices): Row[] {
  const questions = Object.entries(choices);
  const all = questions.map(([, answers], q) => [...answers.keys()].map((a): Choice => [q, a]));
  /** The pairs that no row contains yet. */
  const open = new Map<number, Pair>();
  for (const [q, ones] of all.entries())
    for (const others of all.slice(q + 1))
      for (const one of ones) for (const other of others) open.set(keyOf(one, other), [one, other]);
  const rows: Row[] = [];
  for (let [pair] = open.values(); pair !== undefined; [pair] = open.values()) {
    const row = completed(pair, all, open);
    for (const one of row) for (const other of row) open.delete(keyOf(one, other));
    const answers = row.map(([q, a]) => [q, questions[q]?.[1][a]] as const);
    const sorted = answers.toSorted(([q], [r]) => q - r);
    rows.push(Object.fromEntries(sorted.map(([q, answer]) => [questions[q]?.[0], answer])));
  }
  return rows;
}

/** A pair as one number, with 10 bits for each of the four indices. */
function keyOf([q, a]: Choice, [r, b]: Choice): number {
  return q < r ? ((q * 1024 + a) * 1024 + r) * 1024 + b : ((r * 1024 + b) * 1024 + q) * 1024 + a;
}

/**
 * Completes a row around one open pair: for each question, the answer that covers most open pairs.
 */
function completed(
  pair: Pair,
  all: readonly (readonly Choice[])[],
  open: ReadonlyMap<number, unknown>,
): Choice[] {
  const row: Choice[] = [...pair];
  for (const [q, ones] of all.entries()) {
    if (pair.some(([asked]) => asked === q)) continue;
    const closes = ones.map((one) => row.filter((other) => open.has(keyOf(one, other))).length);
    row.push(ones[closes.indexOf(Math.max(...closes))] as Choice);
  }
  return row;
}
