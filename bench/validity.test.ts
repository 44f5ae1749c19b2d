/** When a load proves nothing, and the reason that is given. */
import { expect, test } from 'vitest';
import { invalidity, type LoadResult, Tally } from './load/load-result.ts';

function load(changed: Partial<LoadResult>): LoadResult {
  return { ...new Tally([]).finish(), requests: 1_000, generatorCores: 0.5, ...changed };
}

test('a load without problems is valid', () => {
  expect(invalidity([load({})], true)).toEqual([]);
});

test.each([
  [{ requests: 0 }, 'no reply arrived'],
  [{ errors: 1 }, '1 of 1000 requests failed'],
  [{ late: 11 }, 'sent 11 of 1000 requests later than intended'],
  [{ dropped: 1 }, '1 requests found no free connection'],
  [{ generatorCores: 0.97 }, 'the generator was saturated'],
])('%o invalidates an open loop', (changed, why) => {
  expect(invalidity([load(changed)], true).join()).toContain(why);
});

test('a busy generator does not invalidate saturation', () => {
  expect(invalidity([load({ generatorCores: 1 })], false)).toEqual([]);
});
