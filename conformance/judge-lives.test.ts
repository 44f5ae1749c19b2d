import { expect, test } from 'vitest';
import { wasPickedUpLate } from './judge-lives.ts';

const queued = { status: 'queued', at: 0, within: 0 };

test.each([
  ['in time', [queued, { status: 'sending', at: 20_000, within: 500 }], false],
  ['late', [queued, { status: 'sending', at: 40_000, within: 500 }], true],
  ['never', [queued], true],
  [
    'unknown when, as no read came for long',
    [queued, { status: 'sent', at: 48_700, within: 48_000 }],
    false,
  ],
])('SVC-3 a message that was picked up %s', (_, sightings, isLate) => {
  expect(wasPickedUpLate({ sightings })).toBe(isLate);
});
