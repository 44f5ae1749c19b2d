/**
 * The version of smstwin, read from its package.json.
 */
import { readFileSync } from 'node:fs';
import { isExecutable, shippedFile } from './shipped-files.ts';

let known: string | undefined;

export function smstwinVersion(): string {
  known ??= readVersion();
  return known;
}

function readVersion(): string {
  // The build writes every module directly into `dist/`, so both are one folder down.
  const text = isExecutable
    ? shippedFile('package.json').toString()
    : readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
