/**
 * Pairwise testing: computes rows of answers, one to each question, so that every two answers to
 * two questions occur together in at least one row. All combinations would be too many to run.
 * Greedy and deterministic.
 */

/** Questions by name, each with its possible answers. */
export type Choices = Readonly<Record<string, readonly unknown[]>>;
export type Row = Readonly<Record<string, unknown>>;

/** The indices of a question and of one of its answers. */
type Choice = readonly [question: number, answer: number];
type Pair = readonly [Choice, Choice];

/** Rows that contain every pair of answers. */
export function pairwise(choices: Choices): Row[] {
  const questions = Object.entries(choices);
  const all = questions.map(([, answers], question) =>
    [...answers.keys()].map((answer): Choice => [question, answer]),
  );
  const missing = allPairs(all);
  const rows: Row[] = [];
  for (let [pair] = missing.values(); pair !== undefined; [pair] = missing.values()) {
    const row = completed(pair, all, missing);
    for (const one of row) for (const other of row) missing.delete(keyOf(one, other));
    row.sort(([a], [b]) => a - b);
    const members = row.map(([question, answer]) => {
      const [name, answers = []] = questions[question] ?? [];
      return [name, answers[answer]] as const;
    });
    rows.push(Object.fromEntries(members));
  }
  return rows;
}

/** The pairs of choices for two different questions, by key. */
function allPairs(all: readonly (readonly Choice[])[]): Map<number, Pair> {
  const pairs = new Map<number, Pair>();
  for (const [question, choices] of all.entries())
    for (const otherChoices of all.slice(question + 1))
      for (const one of choices)
        for (const other of otherChoices) pairs.set(keyOf(one, other), [one, other]);
  return pairs;
}

/** More than any index of a question or an answer. */
const indexLimit = 1024;

/** A pair as one number of four digits, which are its indices; the order of the choices is free. */
function keyOf(one: Choice, other: Choice): number {
  const digits = one[0] < other[0] ? [...one, ...other] : [...other, ...one];
  return digits.reduce((key, index) => key * indexLimit + index, 0);
}

/** A row with this pair; to each other question, the answer that covers most missing pairs. */
function completed(
  pair: Pair,
  all: readonly (readonly Choice[])[],
  missing: ReadonlyMap<number, unknown>,
): Choice[] {
  const row: Choice[] = [...pair];
  for (const [question, choices] of all.entries()) {
    if (pair.some(([answered]) => answered === question)) continue;
    const covered = choices.map(
      (choice) => row.filter((other) => missing.has(keyOf(choice, other))).length,
    );
    row.push(choices[covered.indexOf(Math.max(...covered))] as Choice);
  }
  return row;
}
