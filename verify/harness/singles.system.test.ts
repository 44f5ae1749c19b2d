/**
 * The harness names each answer of a correct simulator, by the cases of its assumption alone.
 * `test:all` tries a third of the answers, `SMSTWIN_RUNS=3` all. `npm run conform:assumptions` runs
 * all cases against each.
 */
import { test } from 'vitest';
import { sample } from '../testkit/runs.ts';
import { expectSound, singleAnswers } from './against-simulator.ts';

const answers = singleAnswers();

test.each(sample(answers, answers.length / 3))('%j', (row) =>
  expectSound(row, ...Object.keys(row)),
);

test('each status of a held message is seen, however short it is', () =>
  expectSound({ progressPace: 'own_delay' }, 'SEND-7/holds', 'progressPace'));
