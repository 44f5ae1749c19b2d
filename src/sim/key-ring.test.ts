/**
 * The keys that a ring still knows after they were removed.
 */
import { expect, test } from 'vitest';
import { KeyRing, mostFormerKeys } from './key-ring.ts';
import type { Account, ApiKey } from './records.ts';

function keyOf(text: string): ApiKey {
  const account = {} as Account;
  const dates = { createdAtMs: 0, revokedAtMs: undefined, drawnFrom: undefined };
  return { key: text, digest: undefined, keyId: text, name: text, account, ordinal: 0, ...dates };
}

test('the removed keys that are still searched for are bounded', () => {
  const ring = new KeyRing();
  for (let n = 0; n <= mostFormerKeys; n++) {
    const key = keyOf(`a-long-enough-key-${n}`);
    ring.add(key);
    ring.delete(key);
  }
  expect(ring.knows('a-long-enough-key-0')).toBe(false);
  expect(ring.knows('a-long-enough-key-1')).toBe(true);
  expect(ring.find('a-long-enough-key-1')).toBeUndefined();
});

test('AUTH-2 the text of a key that a ring forgets is not kept as a removed one', () => {
  const ring = new KeyRing();
  const key = keyOf('a-long-enough-key');
  ring.add(key);
  ring.forgetText(key, { sha256: 'digest', prefix: 'a-long' });
  expect(ring.knows('a-long-enough-key')).toBe(false);
});
