/**
 * SHA-256: replaces keys that must not be stored, and for results that are only compared.
 */
import { createHash } from 'node:crypto';

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
