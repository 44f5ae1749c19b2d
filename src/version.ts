/**
 * The version of smstwin, as its package states it.
 */
import { readFileSync } from 'node:fs';

let known: string | undefined;

export function smstwinVersion(): string {
  known ??= readVersion();
  return known;
}

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
