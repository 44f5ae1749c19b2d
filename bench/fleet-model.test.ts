import { expect, test } from 'vitest';
import { capacityOf, sizeFor } from './fleet-model.ts';

const costs = { shardMicros: 20, routerMicros: 12, clientMicros: 0 };

test('shards add capacity until HAProxy or the machine is full', () => {
  const at = (shards: number, cores = 8) => capacityOf(costs, { shards, routerThreads: 2, cores });
  expect([1, 2, 3, 4].map((shards) => Math.round(at(shards)))).toEqual([
    50_000, 100_000, 150_000, 166_667,
  ]);
  expect(at(2, 2)).toBe(62_500);
});

test('a fleet for a million requests a second', () => {
  const size = sizeFor(1_000_000, costs);
  expect(size).toEqual({ shards: 20, routerThreads: 12, cores: 32 });
  expect(capacityOf(costs, size)).toBe(1_000_000);
});
