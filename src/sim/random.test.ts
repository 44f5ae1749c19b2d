import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalUuid, drawKey, drawUuid, isUuid, Rng, readUuid, uuidText } from './random.ts';

function draw(rng: Rng, count: number): number[] {
  return Array.from({ length: count }, () => rng.uint32());
}

test('a stream follows from its seed and name alone', () => {
  fc.assert(
    fc.property(fc.nat(2 ** 32 - 1), fc.string(), (seed, name) => {
      expect(draw(Rng.stream(seed, name), 5)).toEqual(draw(Rng.stream(seed, name), 5));
    }),
  );
});

test('draws from one stream never shift another', () => {
  fc.assert(
    fc.property(fc.nat(2 ** 32 - 1), fc.array(fc.boolean(), { maxLength: 40 }), (seed, turns) => {
      const a = Rng.stream(seed, 'a');
      const b = Rng.stream(seed, 'b');
      const mixed: [number[], number[]] = [[], []];
      for (const turn of turns) mixed[turn ? 0 : 1].push((turn ? a : b).uint32());
      expect(mixed[0]).toEqual(draw(Rng.stream(seed, 'a'), mixed[0].length));
      expect(mixed[1]).toEqual(draw(Rng.stream(seed, 'b'), mixed[1].length));
    }),
  );
});

test('streams of other names and of other seeds are other streams', () => {
  const first = new Set<string>();
  for (let i = 0; i < 5_000; i++) {
    first.add(draw(Rng.stream(1, `account:a${i}:ids`), 2).join());
    first.add(draw(Rng.stream(i + 2, 'account:acme:ids'), 2).join());
  }
  expect(first.size).toBe(10_000);
});

test('a stream goes on from its state', () => {
  const rng = Rng.stream(7, 'pool');
  draw(rng, 9);
  const copy = new Rng(rng.state);
  expect(draw(copy, 20)).toEqual(draw(rng, 20));
});

test('fractions and bounded numbers stay inside their bounds and reach all of them', () => {
  const rng = Rng.stream(3, 'bounds');
  const seen = new Array<number>(6).fill(0);
  for (let i = 0; i < 6_000; i++) {
    const fraction = rng.fraction();
    expect(fraction >= 0 && fraction < 1).toBe(true);
    const number = rng.below(6);
    seen[number] = (seen[number] ?? 0) + 1;
  }
  expect(seen).toHaveLength(6);
  for (const count of seen) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});

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

test('RES-2 a UUID becomes words and the same text again', () => {
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      const words = new Uint32Array(6);
      expect(readUuid(uuid, words, 1)).toBe(true);
      expect(uuidText(words, 1)).toBe(uuid);
    }),
  );
});

test('READ-2 exactly the lower-case UUIDs are read as ids', () => {
  const almost = fc
    .tuple(fc.uuid(), fc.nat(36), fc.constantFrom('', '-', 'g', 'A', '0', 'é', 'x0'))
    .map(([uuid, at, put]) => uuid.slice(0, at) + put + uuid.slice(at + 1));
  fc.assert(
    fc.property(fc.oneof(almost, fc.string()), (text) => {
      expect(readUuid(text, new Uint32Array(4), 0)).toBe(isUuid(text));
    }),
  );
});
