/**
 * Pairwise testing: computes rows of answers, one to each question, so that every two answers to
 * two questions occur together in at least one row. All combinations would be too many to run.
 * Greedy and deterministic.
 */

/** Questions by name, each with its possible answers. */
export type Choices = Readonly<Record<string, readonly unknown[]>>;
export type Row = Readonly<Record<string, unknown>>;

type Choice = readonly [question: string, answer: number];

export function pairwise(choices: Choices): Row[] {
  const questions = Object.entries(choices).map(([question, answers]) =>
    [...answers.keys()].map((answer): Choice => [question, answer]),
  );
  const missing = new Map<string, readonly [Choice, Choice]>();
  for (const [place, answers] of questions.entries()) {
    for (const other of questions.slice(place + 1).flat())
      for (const one of answers) missing.set(keyOf(one, other), [one, other]);
  }
  const rows: Row[] = [];
  // A row removes the pairs that it covers, so the next pair is one that no row has.
  for (const pair of missing.values()) {
    const row = new Map(pair);
    for (const answers of questions) {
      if (answers.some(([question]) => row.has(question))) continue;
      const covered = answers.map(
        (one) => [...row].filter((other) => missing.has(keyOf(one, other))).length,
      );
      const [question, answer] = answers[covered.indexOf(Math.max(...covered))] as Choice;
      row.set(question, answer);
    }
    for (const one of row) for (const other of row) missing.delete(keyOf(one, other));
    rows.push(
      Object.fromEntries(
        Object.entries(choices).map(([name, answers]) => [name, answers[row.get(name) ?? 0]]),
      ),
    );
  }
  return rows;
}

/** Names the pair of two choices, whatever their order. */
function keyOf(one: Choice, other: Choice): string {
  return one[0] < other[0] ? `${one}&${other}` : `${other}&${one}`;
}
