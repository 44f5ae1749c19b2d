/**
 * SHA-256: what stands for a key, or for a reply, where the thing itself must not or need not stand.
 */
import { createHash } from 'node:crypto';

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
