/** Which texts count as keys. */
import { expect, test } from 'vitest';
import type { Account, ApiKey } from './account.ts';
import { KeyTexts } from './key-texts.ts';

const rng = { a: 0, b: 0, c: 0, d: 0 } as unknown as NonNullable<ApiKey['drawnFrom']>;
const drawn = `smst_${'a1B2'.repeat(10)}`;
const given = 'team-key-of-acme';

function keyOf(key: string, more: Partial<ApiKey> = {}): ApiKey {
  const account = {} as Account;
  const dates = { createdAtMs: 0, revokedAtMs: undefined, drawnFrom: undefined };
  return { key, digest: undefined, keyId: key, name: key, account, ordinal: 0, ...dates, ...more };
}

const digestOf = (text: string) => `digest of ${text}`;
const texts = new KeyTexts(
  [keyOf(drawn, { drawnFrom: rng }), keyOf(given), keyOf('word')],
  digestOf,
);

test('AUTH-2 drawn and given keys are found, and other keys of the drawn form', () => {
  const removed = drawn.replaceAll('a', 'z');
  expect(texts.findIn(`k=${drawn}&x "${given}!" word ${removed}.`)).toEqual([
    given,
    drawn,
    removed,
  ]);
  expect(
    texts.findIn('smst_short, team-key-of-acm, 0123456789abcdef0123456789abcdef01234567'),
  ).toEqual([]);
});

test('AUTH-2 a key that is known by its digest is found in a longer text', () => {
  const digest = { sha256: digestOf(given), prefix: given.slice(0, 8) };
  const texts = new KeyTexts([keyOf('', { digest })], digestOf);
  expect(texts.findIn(`team-key, x${given}=1`)).toEqual([given]);
});

test.each([
  ['known by their texts', [keyOf(given), keyOf(`${given}-2`)]],
  [
    'known by their digests',
    [given, `${given}-2`].map((key) =>
      keyOf('', { digest: { sha256: digestOf(key), prefix: given.slice(0, 8) } }),
    ),
  ],
])('AUTH-2 of two keys of which one begins the other, both are hidden whole, %s', (_, keys) => {
  const hidden = new KeyTexts(keys, digestOf).hidden(`${given} ${given}-2.`);
  expect(hidden).toMatch(/^hidKey[0-9a-f]{10} hidKey[0-9a-f]{12}\.$/);
});

test('AUTH-2 a chosen key that begins as a stand-in does is hidden, too', () => {
  const chosen = 'hidKeyMySecret0123456789';
  expect(new KeyTexts([keyOf(chosen)], digestOf).hidden(`key=${chosen}`)).not.toContain('MySecret');
});

test('AUTH-2 a hidden key keeps its length, and is hidden the same way each time', () => {
  const hidden = texts.hidden(`${drawn} ${given} ${drawn}`);
  const [first, second, third] = hidden.split(' ');
  expect([first?.length, second?.length]).toEqual([drawn.length, given.length]);
  expect(third).toBe(first);
  expect(second).not.toBe(first);
  expect(hidden).not.toContain(given.slice(0, 8));
  expect(texts.hidden(hidden)).toBe(hidden);
  expect(texts.findIn(hidden)).toHaveLength(2);
});
