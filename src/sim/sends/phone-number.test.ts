import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { expect, test } from 'vitest';
import { isPhoneNumber, rememberedVerdicts, verdictCount } from './phone-number.ts';

const checks = ['shape', 'possible', 'valid'] as const;

test.each([
  ['+12025550123', true, true, true],
  ['+442079460123', true, true, true],
  ['+4915112345678', true, true, true],
  // Right length, but no such area code.
  ['+11115550123', true, true, false],
  // Too short, too long for the country.
  ['+1202555012', true, false, false],
  ['+120255501234', true, false, false],
  // No country has this code.
  ['+999123456789', true, false, false],
  // The library would drop the trunk prefix and read another number.
  ['+4402079460123', true, false, false],
  ['+12', true, false, false],
  ['+123456789012345', true, false, false],
  ['+1234567890123456', false, false, false],
  ['+1', false, false, false],
  ['+0123456789', false, false, false],
  ['12025550123', false, false, false],
  ['0012025550123', false, false, false],
  ['+1 202 555 0123', false, false, false],
  ['+1-202-555-0123', false, false, false],
  ['+1202555012a', false, false, false],
  [' +12025550123', false, false, false],
  ['+12025550123\n', false, false, false],
  ['++12025550123', false, false, false],
  ['tel:+12025550123', false, false, false],
  ['+12025550123;ext=5', false, false, false],
  ['+１２０２５５５０１２３', false, false, false],
  ['', false, false, false],
  ['+', false, false, false],
])('SEND-2 %j by its shape: %s, possible: %s, valid: %s', (text, ...expected) => {
  // Twice, as the second verdict comes from memory.
  for (let i = 0; i < 2; i++)
    expect(checks.map((check) => isPhoneNumber(text, check))).toEqual(expected);
});

test('the last three digits of a North American number decide nothing, so it shares a verdict', () => {
  const isValid = (text: string) => parsePhoneNumberFromString(text)?.isValid() === true;
  for (let prefix = 2_000_137; prefix < 10_000_000; prefix += 7_919) {
    const expected = isValid(`+1${prefix}000`);
    for (const last of ['421', '999'])
      expect([prefix, isValid(`+1${prefix}${last}`)]).toEqual([prefix, expected]);
    expect([prefix, isPhoneNumber(`+1${prefix}777`, 'valid')]).toEqual([prefix, expected]);
  }
});

test('verdicts are remembered in a bounded cache', () => {
  // No country has the code 999, which is found out soonest.
  for (let n = 0; n < rememberedVerdicts + 9; n++) isPhoneNumber(`+999${1_000_000 + n}`, 'valid');
  expect(verdictCount()).toBe(rememberedVerdicts);
});
