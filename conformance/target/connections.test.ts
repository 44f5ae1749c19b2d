import { expect, test } from 'vitest';
import { KeptBodies, mostKeptBytes } from './connections.ts';

test('equal long bodies are kept once, and others up to the bound', () => {
  const bodies = new KeptBodies();
  const long = (fill: string) => Buffer.from(JSON.stringify({ fill: fill.repeat(1_048_576) }));
  const kept = bodies.of(long('a'));
  for (let n = 0; n < 9; n++) expect(bodies.of(long('a'))).toBe(kept);
  const all = Array.from('bcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ', (letter) => long(letter));
  const later = all.filter((bytes) => bodies.of(bytes) !== undefined);
  expect(later.length * 1_048_576).toBeLessThan(mostKeptBytes);
  expect(later.length).toBeGreaterThan(28);
  // What is already kept, and what is short, costs nothing.
  expect(bodies.of(long('a'))).toBe(kept);
  expect(bodies.of(Buffer.from('{"a":1}'))).toMatchObject({ text: '{"a":1}', json: { a: 1 } });
});
