/** SHA-256 in hexadecimal: stands for a key that must not be stored, or a result to compare. */
import { createHash } from 'node:crypto';

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
