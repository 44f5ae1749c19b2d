/**
 * `npm run conform:assumptions`: the harness against correct simulators with sets of answers that
 * cover all pairs.
 */
import { test } from 'vitest';
import type { AssumptionName } from '#contract/assumptions.ts';
import { judgedAnswers } from '../testkit/examples/examples.ts';
import { pairwise, type Row } from '../testkit/pairwise.ts';
import { expectSound } from './against-simulator.ts';

/** The row without default answers. */
function switchedIn(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).filter(
      ([name, answer]) => judgedAnswers[name as AssumptionName][0] !== answer,
    ),
  );
}

test.each(pairwise(judgedAnswers).map(switchedIn))(
  'a simulator of pairs %# is found sound',
  (row) => expectSound(row),
);
