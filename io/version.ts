/**
 * The version of smstwin, read from its package.json.
 */
import { readFileSync } from 'node:fs';
import { isExecutable, shippedFile } from './shipped-files.ts';

/** The build writes every module directly into `dist/`. */
const manifest = import.meta.url.endsWith('.ts') ? '../package.json' : '../package.json';

let known: string | undefined;

export function smstwinVersion(): string {
  known ??= readVersion();
  return known;
}

function readVersion(): string {
  const text = isExecutable
    ? shippedFile('package.json').toString()
    : readFileSync(new URL(manifest, import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
