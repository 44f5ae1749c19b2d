/**
 * Files that ship with the code: beside the bundle in the package, inside of the executable that
 * `npm run build:binary` makes. A checkout has them elsewhere, and does not ask here.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Executable {
  isSea(): boolean;
  getRawAsset(name: string): ArrayBuffer;
}

// The types are those of a Node that does not have it everywhere; Bun and Deno do not have it.
const sea: unknown = process.getBuiltinModule('node:sea' as 'node:os');
const executable = (sea as Executable | undefined)?.isSea() ? (sea as Executable) : undefined;

/** True in the single executable: there is no file of the program but the executable itself. */
export const isExecutable = executable !== undefined;

/** The names of the files in a folder. */
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

/** A path for another process. The executable writes the file into a folder of its own. */
export function shippedPath(name: string): string {
  if (!isExecutable) return fileURLToPath(new URL(`./${name}`, import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, name), shippedFile(name));
  return join(folder, name);
}
