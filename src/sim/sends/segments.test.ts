import fc from 'fast-check';
import { expect, test } from 'vitest';
import { segmentText } from './segments.ts';

test.each([
  ['nothing', '', 'GSM-7', 1],
  ['160 of GSM-7', 'a'.repeat(160), 'GSM-7', 1],
  ['161 of GSM-7', 'a'.repeat(161), 'GSM-7', 2],
  ['2 × 153 of GSM-7', 'a'.repeat(306), 'GSM-7', 2],
  ['2 × 153 + 1 of GSM-7', 'a'.repeat(307), 'GSM-7', 3],
  ['80 of two septets', '€'.repeat(80), 'GSM-7', 1],
  ['81 of two septets', '€'.repeat(81), 'GSM-7', 2],
  // 153 is odd: no segment holds half of an escaped character, so each holds 76.
  ['152 of two septets', '€'.repeat(152), 'GSM-7', 2],
  ['153 of two septets', '€'.repeat(153), 'GSM-7', 3],
  ['the whole extension table', '^{}\\[~]|€\f', 'GSM-7', 1],
  ['1,600 of GSM-7, about 10 segments', 'a'.repeat(1_600), 'GSM-7', 11],
  ['70 of UCS-2', 'я'.repeat(70), 'UCS-2', 1],
  ['71 of UCS-2', 'я'.repeat(71), 'UCS-2', 2],
  ['2 × 67 + 1 of UCS-2', 'я'.repeat(135), 'UCS-2', 3],
  ['35 surrogate pairs', '😀'.repeat(35), 'UCS-2', 1],
  // 67 is odd: no segment holds half of a pair, so each holds 33.
  ['66 surrogate pairs', '😀'.repeat(66), 'UCS-2', 2],
  ['67 surrogate pairs', '😀'.repeat(67), 'UCS-2', 3],
  ['one foreign letter among GSM-7', `${'a'.repeat(70)}я`, 'UCS-2', 2],
  ['a c with a cedilla, which GSM-7 has in upper case alone', 'ç', 'UCS-2', 1],
  ['a back tick, which GSM-7 has not', '`', 'UCS-2', 1],
] as const)('%s', (_, text, encoding, segments) => {
  expect(segmentText(text)).toEqual({ encoding, segments });
});

test('the basic table has 127 characters and the escape', () => {
  const inBasic = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).filter(
    (character) => {
      const { encoding, segments } = segmentText(character.repeat(160));
      return encoding === 'GSM-7' && segments === 1;
    },
  );
  expect(inBasic).toHaveLength(127);
});

test('a longer text never takes fewer segments, and every segment is as full as its characters allow', () => {
  const character = fc.constantFrom('a', '€', 'я', '😀');
  fc.assert(
    fc.property(fc.array(character, { maxLength: 400 }), character, (characters, more) => {
      const text = characters.join('');
      const { encoding, segments } = segmentText(text);
      expect(segmentText(text + more).segments).toBeGreaterThanOrEqual(segments);
      const isGsm = !/[я😀]/u.test(text);
      expect(encoding).toBe(isGsm ? 'GSM-7' : 'UCS-2');
      const units = isGsm ? text.length + (text.match(/€/g) ?? []).length : text.length;
      const [single, several] = isGsm ? [160, 153] : [70, 67];
      if (units <= single) expect(segments).toBe(1);
      else {
        // At most one place of a segment is left free, since no character takes more than two.
        expect(segments).toBeGreaterThanOrEqual(Math.ceil(units / several));
        expect(segments).toBeLessThanOrEqual(Math.ceil(units / (several - 1)));
      }
    }),
  );
});
