/**
 * SHA-256, which replaces a key that must not be stored and a result that is only compared.
 */
import { createHash } from 'node:crypto';

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
