import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Rng } from './random.ts';

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
