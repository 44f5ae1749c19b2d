import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '#verify/testkit/runs.ts';
import { hashText, TextSlab } from './text-slab.ts';

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: anyCharacter, maxLength: 300 }),
  fc.string({ unit: fc.constantFrom('é', 'ÿ', 'Ā', '\ud800', '😀') }),
  fc.integer({ min: 4_090, max: 9_000 }).map((length) => 'ab'.repeat(length).slice(0, length)),
);

test('a slab gives back every text as it was written, lone surrogates included', () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 20 }), (texts) => {
      const slab = new TextSlab(16);
      const places = texts.map((each) => slab.write(each));
      slab.trim();
      for (const [n, at] of places.entries()) {
        const written = texts[n] ?? '';
        expect(slab.read(at)).toBe(written);
        expect(slab.hasTextAt(at, written)).toBe(true);
        expect(slab.hasTextAt(at, `${written}x`)).toBe(false);
        for (const part of [written, written.slice(1, 4), `${written}x`]) {
          const lower = part.toLowerCase();
          expect(slab.mentions(at, lower)).toBe(written.toLowerCase().includes(lower));
        }
        expect(slab.hash(at, 7)).toBe(hashText(written, 7));
        expect(slab.after(at)).toBe(places[n + 1] ?? slab.used);
      }
    }),
  );
});

test('a text of Latin letters takes one byte for each, and one for its length', () => {
  const slab = new TextSlab();
  slab.write('a'.repeat(63));
  expect(slab.used).toBe(64);
});
