/** Hashes texts: FNV-1a over UTF-16 units, finished with murmur3's mixer. */

const offsetBasis = 0x811c9dc5;

export function hashText(text: string, seed: number): number {
  let hash = beginHash(seed);
  for (let i = 0; i < text.length; i++) hash = addUnit(hash, text.charCodeAt(i));
  return endHash(hash);
}

export function beginHash(seed: number): number {
  return offsetBasis ^ seed;
}

export function addUnit(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x01000193);
}

export function endHash(word: number): number {
  let hash = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}
