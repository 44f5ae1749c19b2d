/**
 * Computes rows in which every two answers to two different questions occur together at least once.
 * Greedy and deterministic; few enough rows to run, while all combinations would take too long.
 */

/** Questions by name, each with its possible answers. */
export type Choices = Readonly<Record<string, readonly unknown[]>>;
export type Row = Readonly<Record<string, unknown>>;

/** The index of a row's answer to each question; undefined if not chosen yet. */
type Draft = (number | undefined)[];

export function pairwise(choices: Choices): Row[] {
  const names = Object.keys(choices);
  const answers = names.map((name) => choices[name] ?? []);
  const open = pairsOf(answers);
  const rows: Row[] = [];
  for (let seed = first(open); seed !== undefined; seed = first(open)) {
    const draft = completed(seed, answers, open);
    eachPair(draft, (pair) => open.delete(pair));
    rows.push(Object.fromEntries(names.map((name, q) => [name, answers[q]?.[draft[q] ?? 0]])));
  }
  return rows;
}

/** Two questions and an answer to each as one number, with 10 bits for each of the four. */
function pairKey(q: number, a: number, r: number, b: number): number {
  return q < r ? ((q * 1024 + a) * 1024 + r) * 1024 + b : ((r * 1024 + b) * 1024 + q) * 1024 + a;
}

function pairsOf(answers: readonly (readonly unknown[])[]): Set<number> {
  const pairs = new Set<number>();
  for (const [q, of] of answers.entries())
    for (const [r, others] of answers.entries())
      if (q < r)
        for (const a of of.keys()) for (const b of others.keys()) pairs.add(pairKey(q, a, r, b));
  return pairs;
}

/** A pair that no row contains yet. */
function first(open: ReadonlySet<number>): number | undefined {
  for (const pair of open) return pair;
  return undefined;
}

/**
 * Completes a row around one open pair: for each question, the answer that covers most open pairs.
 */
function completed(
  seed: number,
  answers: readonly (readonly unknown[])[],
  open: ReadonlySet<number>,
): Draft {
  const draft: Draft = answers.map(() => undefined);
  const high = Math.floor(seed / 1024 ** 2);
  draft[Math.floor(high / 1024)] = high % 1024;
  draft[Math.floor(seed / 1024) % 1024] = seed % 1024;
  for (const [q, of] of answers.entries()) {
    if (draft[q] !== undefined) continue;
    const closes = [...of.keys()].map(
      (a) => draft.filter((b, r) => b !== undefined && open.has(pairKey(q, a, r, b))).length,
    );
    draft[q] = closes.indexOf(Math.max(...closes));
  }
  return draft;
}

function eachPair(draft: Draft, visit: (pair: number) => void): void {
  for (const [q, a = 0] of draft.entries())
    for (const [r, b = 0] of draft.entries()) if (q < r) visit(pairKey(q, a, r, b));
}
