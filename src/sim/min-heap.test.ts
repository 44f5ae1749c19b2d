import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MinHeap } from './min-heap.ts';

test('an empty heap has nothing to peek at and nothing to pop', () => {
  const heap = new MinHeap<number>((a, b) => a < b);
  expect([heap.items.length, heap.peek(), heap.pop(), heap.items.length]).toEqual([
    0,
    undefined,
    undefined,
    0,
  ]);
});

test('a heap gives what a sorted list would, however pushes and pops are mixed', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer(), { nil: undefined })), (steps) => {
      const heap = new MinHeap<number>((a, b) => a < b);
      const sorted: number[] = [];
      for (const step of steps) {
        if (step === undefined) expect(heap.pop()).toBe(sorted.shift());
        else {
          heap.push(step);
          sorted.push(step);
          sorted.sort((a, b) => a - b);
        }
        expect(heap.peek()).toBe(sorted[0]);
        expect(heap.items.length).toBe(sorted.length);
      }
      heap.clear();
      expect(heap.pop()).toBeUndefined();
    }),
  );
});
