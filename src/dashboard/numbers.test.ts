import { expect, test } from 'vitest';
import { decimalNumber, FieldMistakes, readFields, wholeNumber } from './page/numbers.ts';

test.each(['abc', '1,000', '0x10', '1e3', '-1', '1.5', '', '٣', '1 000', 'Infinity', 'NaN'])(
  'a whole number is never read from %j',
  (text) => {
    expect(() => wholeNumber(text, 1, 1_000_000)).toThrow(
      /^expected a whole number from 1 to 1000000, in plain digits/,
    );
  },
);

test.each(['0x1', '1e-1', '.5', '1.', '0,5', '2', 'half'])(
  'a probability is never read from %j',
  (text) => {
    expect(() => decimalNumber(text, 0, 1)).toThrow(/^expected a number from 0 to 1/);
  },
);

test('plain digits are read, with room around them', () => {
  expect(wholeNumber(' 120 ', 1, 1_000)).toBe(120);
  expect(decimalNumber('0.25', 0, 1)).toBe(0.25);
});

test('all mistakes of a form are named together, by field', () => {
  const read = () =>
    readFields({
      send: () => wholeNumber('abc', 1, 9),
      read: () => 3,
      tasks: () => wholeNumber('10', 1, 9),
    });
  expect(read).toThrow(FieldMistakes);
  expect(read).toThrow(
    expect.objectContaining({
      fields: {
        send: 'expected a whole number from 1 to 9, in plain digits; got "abc"',
        tasks: 'expected a whole number from 1 to 9, in plain digits; got "10"',
      },
    }),
  );
});
