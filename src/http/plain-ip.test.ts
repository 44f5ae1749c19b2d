import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainIp } from './plain-ip.ts';

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.000.113.007', '203.0.113.7'],
  ['0.0.0.0', '0.0.0.0'],
  ['::ffff:127.0.0.1', '127.0.0.1'],
  ['0000:0000:0000:0000:0000:ffff:7f00:0001', '127.0.0.1'],
  ['::ffff:102:304', '1.2.3.4'],
  ['0000:0000:0000:0000:0000:ffff:fffe:fdfc', '255.254.253.252'],
  ['0000:0000:0000:0000:0000:0000:0000:0001', '::1'],
  ['::', '::'],
  ['fe80::1%eth0', 'fe80::1'],
  ['[FE80::1%25eth0]:443', 'fe80::1'],
  ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
  [' "[2001:DB8::5]:40000" ', '2001:db8::5'],
])('%s is written %s', (text, plain) => {
  expect(plainIp(text)).toBe(plain);
});

test.each([
  '',
  ' ',
  'unknown',
  '_hidden',
  'localhost',
  'for=1.2.3.4',
  '1.2.3',
  '1.2.3.4.5',
  '256.1.1.1',
  '0x7f.0.0.1',
  '1.2.3.4%eth0',
  '1.2.3.4:80:80',
  '[1.2.3.4]',
  '[::1',
  '::1]',
  '[::1]x',
  '1::2::3',
  '2001:db8:0:0:0:0:0:5:40000',
  '::ffff:1.2.3.256',
  'g::1',
  '"',
  '[]',
  ':',
  '[%]',
  '1.2.3.4, ::1',
])('%j is no address', (text) => {
  expect(plainIp(text)).toBe('');
});

const ipv4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));
const port = fc.option(fc.nat(65_535), { nil: undefined });
const quoted = fc.constantFrom('', '"');
const space = fc.constantFrom('', ' ', '\t');

test('AUTH-6 every spelling of an IPv4 address is the same', () => {
  fc.assert(
    fc.property(ipv4, fc.nat(2), port, quoted, space, (bytes, width, at, quote, blank) => {
      const dotted = bytes.map((byte) => String(byte).padStart(width + 1, '0')).join('.');
      const suffix = at === undefined ? '' : `:${at}`;
      const plain = bytes.join('.');
      expect(plainIp(`${blank}${quote}${dotted}${suffix}${quote}${blank}`)).toBe(plain);
      const groups = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
      const mapped = `${groups.slice(0, 4)}:${groups.slice(4)}`;
      for (const start of ['::ffff:', '::FFFF:', '0:0:0:0:0:ffff:', '0000::ffff:']) {
        expect(plainIp(`[${start}${plain}]${suffix}`)).toBe(plain);
        expect(plainIp(start + mapped)).toBe(plain);
      }
    }),
  );
});

/** Eight groups, many of them zero. */
const ipv6 = fc.array(fc.oneof(fc.constant(0), fc.nat(0xff_ff)), { minLength: 8, maxLength: 8 });

test('AUTH-6 every spelling of an IPv6 address is the same, and two addresses differ', () => {
  const spellings = fc.record({ width: fc.integer({ min: 1, max: 4 }), zero: fc.nat(), at: port });
  fc.assert(
    fc.property(
      ipv6,
      spellings,
      fc.boolean(),
      quoted,
      (groups, { width, zero, at }, isUpper, quote) => {
        const long = groups.map((group) => group.toString(16).padStart(width, '0')).join(':');
        const plain = plainIp(long);
        expect(plain).not.toBe('');
        expect(plainIp(plain)).toBe(plain);
        // Leaves out one run of zeros, wherever it is.
        const runs = [...long.matchAll(/(?:^|:)0+(?::0+)*(?:$|:)/g)];
        const run = runs[zero % Math.max(runs.length, 1)];
        const short =
          run === undefined
            ? long
            : `${long.slice(0, run.index)}::${long.slice(run.index + run[0].length)}`;
        for (const text of [long, short]) {
          const spelled = isUpper ? text.toUpperCase() : text;
          expect(
            plainIp(`${quote}[${spelled}%eth1]${at === undefined ? '' : `:${at}`}${quote}`),
          ).toBe(plain);
          expect(plainIp(spelled)).toBe(plain);
        }
      },
    ),
  );
  fc.assert(
    fc.property(ipv6, ipv6, (one, other) => {
      const [first, second] = [one, other].map((all) =>
        plainIp(all.map((n) => n.toString(16)).join(':')),
      );
      expect(first === second).toBe(String(one) === String(other));
    }),
  );
});
