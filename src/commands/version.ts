/**
 * The version of smstwin, read from its package.json.
 */
import { readFileSync } from 'node:fs';

/** The build writes every module directly into `dist/`. */
const manifest = import.meta.url.endsWith('.ts') ? '../../package.json' : '../package.json';

let known: string | undefined;

export function smstwinVersion(): string {
  known ??= readVersion();
  return known;
}

function readVersion(): string {
  const text = readFileSync(new URL(manifest, import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
