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

// A refusal of a request that claims another address may have spent a token, and two floods queue
// more messages than one page lists.
test('a continuous refill from which refusals spend is found sound', () => {
  const both = { limiterRefill: 'continuous', refusedSpendsToken: 'yes' };
  return expectSound(both, 'AUTH-6', 'LIMIT-1', ...Object.keys(both));
});

// Within one minute a counter that is capped at the limit hides what refusals spend.
test('a sliding counter from which refusals spend is observed', () => {
  const both = { limiterRefill: 'sliding_counter', refusedSpendsToken: 'yes' };
  return expectSound(both, ...Object.keys(both));
});
