import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { assumptionNames } from '#contract/assumptions.ts';
import { defaultAssumptions } from '../../sim/assumptions.ts';
import { assumptions, laterAssumptions } from './assumptions.ts';

test('journals of earlier versions replay a switch of assumptions: its result has not changed', () => {
  const recorded = assumptions.patch.recordedResult as (answers: object) => unknown;
  const digest = createHash('sha256').update(JSON.stringify(recorded(defaultAssumptions)));
  // From the last version that had one more assumption for each fact.
  expect(digest.digest('hex')).toBe(
    '7f9159ebf4bbdce5b770e2092bb5773094c60806587d852e3a19292954344c05',
  );
});

test('an assumption that journals of 1.0 lack is one of the later ones', () => {
  const { assumptions: of10 } = JSON.parse(readFileSync('verify/kept/1.0/snapshot.json', 'utf8'));
  const unlisted = assumptionNames.filter(
    (name) => !(name in of10) && !laterAssumptions.includes(name),
  );
  expect(unlisted, 'add it to laterAssumptions').toEqual([]);
});
