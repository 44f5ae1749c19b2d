import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalUuid, drawKey, drawUuid, isUuid, Rng } from './random.ts';

const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('RES-2 every id is a UUID of version 4 and variant 1, in lower case', () => {
  fc.assert(
    fc.property(fc.nat(2 ** 32 - 1), (seed) => {
      const id = drawUuid(Rng.stream(seed, 'ids'));
      expect(id).toMatch(version4);
      expect(isUuid(id)).toBe(true);
    }),
  );
});

test('RES-2 a hundred thousand ids of one stream are all different, and each digit varies', () => {
  const rng = Rng.stream(1, 'ids');
  const ids = new Set<string>();
  const digits = Array.from({ length: 36 }, () => new Set<string>());
  for (let i = 0; i < 100_000; i++) {
    const id = drawUuid(rng);
    ids.add(id);
    for (const [place, seen] of digits.entries()) if (i < 1_000) seen.add(id.charAt(place));
  }
  const possible: Readonly<Record<string, number>> = { x: 16, v: 4 };
  expect(ids.size).toBe(100_000);
  expect(digits.map(({ size }) => size)).toEqual(
    Array.from('xxxxxxxx-xxxx-4xxx-vxxx-xxxxxxxxxxxx', (place) => possible[place] ?? 1),
  );
});

test('AUTH-2 a key is its prefix and 40 letters and digits, and no two are the same', () => {
  const rng = Rng.stream(1, 'ids');
  const keys = Array.from({ length: 1_000 }, () => drawKey(rng, 'smst_'));
  for (const key of keys) expect(key).toMatch(/^smst_[A-Za-z0-9]{40}$/);
  expect(new Set(keys).size).toBe(1_000);
  expect(new Set(keys.join('').slice(5)).size).toBe(63);
});

test.each([
  '',
  'not-a-uuid',
  'A0000000-0000-4000-8000-000000000000',
  'a0000000-0000-4000-8000-00000000000',
  'a0000000-0000-4000-8000-0000000000000',
  'a0000000-0000-4000-8000-000000000000\n',
])('%j is not spelt as we hand ids out', (text) => {
  expect(isUuid(text)).toBe(false);
});

test.each([
  ['5D7BC081-00BD-4AF3-BD1D-9D90F7969ECE', true],
  ['5d7bc08100bd4af3bd1d9d90f7969ece', true],
  ['5D7bc08100bd4af3bd1d9d90f7969eCE', true],
  ['5d7bc08100bd-4af3-bd1d-9d90f7969ece', false],
  ['{5d7bc081-00bd-4af3-bd1d-9d90f7969ece}', false],
  ['5d7bc081-00bd-4af3-bd1d-9d90f7969ecg', false],
  ['nonsense', false],
])('RES-2 %s is read as our spelling: %s', (text, isRead) => {
  const ours = '5d7bc081-00bd-4af3-bd1d-9d90f7969ece';
  expect(canonicalUuid(text)).toBe(isRead ? ours : text);
});
