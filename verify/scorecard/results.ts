/**
 * `results.ndjson`: the results of the last run of the scorecard, from which the page is generated.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { libraries } from './catalogue.ts';
import type { Score } from './run.ts';

const file = new URL('./results.ndjson', import.meta.url);

export interface Results {
  /** By package. */
  readonly versions: Readonly<Record<string, string>>;
  readonly scores: readonly Score[];
}

export function readResults(): Results {
  const [versions, ...scores] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { versions, scores };
}

export function writeResults(scores: readonly Score[]): Results {
  const packages = new Set(libraries.flatMap((library) => library.packages));
  const versions = { node: process.version.slice(1) };
  for (const name of packages) Object.assign(versions, { [name]: versionOf(name) });
  const lines = [versions, ...scores].map((value) => `${JSON.stringify(value)}\n`);
  writeFileSync(file, lines.join(''));
  return { versions, scores };
}

export function versionOf(name: string): string {
  if (name.startsWith('python3-') || name === 'curl') {
    const [line = ''] = execFileSync('dpkg-query', ['--show', name]).toString().split('\n');
    return line.split('\t')[1] ?? '';
  }
  const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
