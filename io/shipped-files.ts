/**
 * Reads files that ship with the code. In the package they are next to the bundle; in the single
 * executable (`npm run build:binary`) they are embedded assets. A checkout uses only `isExecutable`
 * from here: it reads or builds these files where the sources are. Also knows the version.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Executable {
  isSea(): boolean;
  getRawAsset(name: string): ArrayBuffer;
}

// Undefined in Bun and Deno, which the types do not say.
const sea: unknown = process.getBuiltinModule('node:sea');
const executable = (sea as Executable | undefined)?.isSea() ? (sea as Executable) : undefined;

/** True in the single executable, which is the program's only file. */
export const isExecutable = executable !== undefined;

export function shippedNames(folder: string): readonly string[] {
  if (!isExecutable) return readdirSync(new URL(`./${folder}/`, import.meta.url));
  return (JSON.parse(shippedFile('names').toString()) as string[])
    .filter((name) => name.startsWith(`${folder}/`))
    .map((name) => name.slice(folder.length + 1));
}

export function shippedFile(name: string): Buffer {
  if (executable !== undefined) return Buffer.from(executable.getRawAsset(name));
  return readFileSync(new URL(`./${name}`, import.meta.url));
}

/** The path of a file, for another process. The executable writes it to a temporary folder. */
export function shippedPath(name: string): string {
  if (!isExecutable) return fileURLToPath(new URL(`./${name}`, import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, name), shippedFile(name));
  return join(folder, name);
}

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
