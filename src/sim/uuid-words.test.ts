import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isUuid, readUuid, uuidText } from './random.ts';

test('RES-2 a UUID becomes words and the same text again', () => {
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      const words = new Uint32Array(6);
      expect(readUuid(uuid, words, 1)).toBe(true);
      expect(uuidText(words, 1)).toBe(uuid);
    }),
  );
});

test('READ-2 exactly the lower-case UUIDs are read as ids', () => {
  const almost = fc
    .tuple(fc.uuid(), fc.nat(36), fc.constantFrom('', '-', 'g', 'A', '0', 'é', 'x0'))
    .map(([uuid, at, put]) => uuid.slice(0, at) + put + uuid.slice(at + 1));
  fc.assert(
    fc.property(fc.oneof(almost, fc.string()), (text) => {
      expect(readUuid(text, new Uint32Array(4), 0)).toBe(isUuid(text));
    }),
  );
});
