import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HandleTable } from './handle-table.ts';

function allOf(table: HandleTable, tag: number): number[] {
  const found: number[] = [];
  const none = table.find(tag, (handle) => {
    found.push(handle);
    return false;
  });
  expect(none).toBe(-1);
  return found.sort((a, b) => a - b);
}

test('a table finds every handle of a tag, after any additions, replacements and removals', () => {
  // Few tags, all in one part and most at home in the same slots, so that runs meet and wrap.
  const tag = fc.integer({ min: 0, max: 40 }).map((n) => (n % 2 === 0 ? n : n * 8));
  const step = fc.record({
    tag,
    handle: fc.nat(60),
    action: fc.constantFrom('add', 'add', 'delete', 'replace'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const table = new HandleTable();
      const model = new Map<number, number[]>();
      const of = (one: number) => model.get(one) ?? [];
      for (const { tag, handle, action } of steps) {
        if (action === 'add') {
          table.add(tag, handle);
          model.set(tag, [...of(tag), handle]);
        } else if (action === 'delete') {
          const at = of(tag).indexOf(handle);
          expect(table.delete(tag, handle)).toBe(at >= 0);
          if (at >= 0) of(tag).splice(at, 1);
        } else {
          const [other = handle] = of(tag);
          const isKnown = of(tag).includes(other);
          expect(table.find(tag, (one) => one === other)).toBe(isKnown ? other : -1);
          expect(table.replace(tag, other, handle)).toBe(isKnown);
          if (isKnown) of(tag)[0] = handle;
        }
      }
      for (const [each, handles] of model)
        expect(allOf(table, each)).toEqual(handles.sort((a, b) => a - b));
      const all = [...model.values()].flat().sort((a, b) => a - b);
      expect([...table.handles()].sort((a, b) => a - b)).toEqual(all);
    }),
  );
});

test('tags of 32 bits that share their lower or upper bits are kept apart', () => {
  const table = new HandleTable();
  const tags = [0, 1, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff];
  for (const [handle, tag] of tags.entries()) table.add(tag, handle);
  for (const [handle, tag] of tags.entries()) expect(allOf(table, tag)).toEqual([handle]);
  expect(allOf(table, 2)).toEqual([]);
});

test('a million entries take at most 20 bytes each, and no addition moves more than a part', () => {
  const table = new HandleTable();
  const count = 1_000_000;
  let word = 1;
  for (let handle = 0; handle < count; handle++) {
    word = (Math.imul(word, 1_664_525) + 1_013_904_223) | 0;
    table.add(word, handle);
  }
  const bytes = table.partBytes;
  expect(bytes.reduce((sum, part) => sum + part) / count).toBeLessThan(20);
  expect(Math.max(...bytes)).toBeLessThan(64 * 1_024);
});
