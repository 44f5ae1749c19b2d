/**
 * More and longer sequences than in `model.system.test.ts`, with a look at the whole state after every
 * step.
 */
import { test } from 'vitest';
import { runs, seed } from '../testkit/runs.ts';
import { checkSequences } from './random-runs.ts';

test('simulator and model agree over long random sequences', { timeout: 86_400_000 }, () => {
  checkSequences({ sequences: runs(5_000), seed, soundEvery: 1, maxSteps: 50 });
});
