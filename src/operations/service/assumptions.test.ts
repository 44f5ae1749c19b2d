import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { defaultAssumptions } from '../../sim/assumptions.ts';
import { assumptions } from './assumptions.ts';

test('journals of earlier versions replay a switch of assumptions: its result has not changed', () => {
  const recorded = assumptions.patch.recordedResult as (answers: object) => unknown;
  const digest = createHash('sha256').update(JSON.stringify(recorded(defaultAssumptions)));
  // From the last version that had one more assumption for each fact.
  expect(digest.digest('hex')).toBe(
    '7f9159ebf4bbdce5b770e2092bb5773094c60806587d852e3a19292954344c05',
  );
});
