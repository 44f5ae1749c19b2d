/** Request targets: the paths of the service, and variations of them. */
import fc from 'fast-check';
import type { Facts } from './facts.ts';
import { type Bytes, rarely, weighted } from './piece.ts';

const unknownId = '00000000-0000-4000-8000-000000000000';

/** Existing ids, and texts that are not ids. */
export function ids(known: readonly string[]): fc.Arbitrary<string> {
  const odd = [unknownId, 'x', '%00', 'A'.repeat(300), '..', '__proto__', 'send', '%2e%2e'];
  return weighted<string>([8, fc.constantFrom(...known)], [1, fc.constantFrom(...odd)]);
}

export function serviceTargets({ messageIds, deviceIds }: Facts): fc.Arbitrary<Bytes> {
  const path = weighted<string>(
    [6, fc.constantFrom('/api/v1/sms/send/', '/api/sms/send/', '/api/external/send/')],
    [3, ids(messageIds).map((id) => `/api/v1/sms/${id}/`)],
    [2, ids(deviceIds).map((id) => `/api/devices/${id}/tasks/`)],
    [1, fc.constantFrom('/api/v1/sms/received/', '/api/v1/account/stats/', '/', '/api/v1/sms//')],
  );
  return altered(path);
}

/** Percent-encodes the first letter. */
const encoded = (path: string) =>
  path.replace(/[a-z]/, (char) => `%${char.charCodeAt(0).toString(16)}`);

/**
 * Mostly unchanged; sometimes encoded, dotted, doubled, cut or very long. The request line always
 * stays valid.
 */
function altered(path: fc.Arbitrary<string>): fc.Arbitrary<Bytes> {
  const alterations: readonly ((path: string) => string)[] = [
    encoded,
    (text) => `/.${text}`,
    (text) => `/a/..${text}`,
    (text) => `/${text}`,
    (text) => (text === '/' ? text : text.slice(0, -1)),
    (text) => `${text}%`,
    (text) => text.toUpperCase(),
    (text) => `${text}${'a'.repeat(8_000)}`,
    (text) => `${text};a=b`,
  ];
  const query = weighted<string>(
    [8, fc.constant('')],
    [
      2,
      fc.constantFrom('?page=1&page_size=2', '?page=0', '?page=%zz', '?page_size=9e9', '?', '??'),
    ],
    [1, fc.constantFrom('?page=1&page=2', '?__proto__=1', `?${'a=1&'.repeat(1_000)}`, '?page=%ff')],
  );
  return fc
    .tuple(
      path,
      rarely<((path: string) => string) | undefined>(6, undefined, fc.constantFrom(...alterations)),
      query,
    )
    .map(([text, alter, search]) => (alter === undefined ? text : alter(text)) + search);
}
