/**
 * Reads files that ship with the code, among them the page and the plots in reports. In the package
 * they are next to the bundle; in the single executable (`npm run build:binary`) they are embedded
 * assets. A checkout has them next to the sources, and builds the page on demand. The version comes
 * from one of them, `package.json`.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

// Files.

/** The names of the files in a folder, without the folder. */
function shippedNames(folder: string): readonly string[] {
  if (!isExecutable) return readdirSync(new URL(`./${folder}/`, import.meta.url));
  return (JSON.parse(shippedFile('names').toString()) as string[])
    .filter((name) => name.startsWith(`${folder}/`))
    .map((name) => name.slice(folder.length + 1));
}

/** The content of a file; `name` may include its folder. */
function shippedFile(name: string): Buffer {
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

// The version.

let version: string | undefined;

export function smstwinVersion(): string {
  if (version !== undefined) return version;
  // The build writes every module into `dist/`, and in a checkout this file is in `io/`:
  // `package.json` is one folder up from either.
  const text = isExecutable
    ? shippedFile('package.json').toString()
    : readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  ({ version } = JSON.parse(text) as { version: string });
  return version;
}

// The page.

/** A file of the page, as `page/build/bundle.ts` makes it. */
export interface PageFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The files of the page: those in `dist/dashboard/`, or those of this checkout. */
export async function pageFiles(): Promise<readonly PageFile[]> {
  if (import.meta.url.endsWith('.ts')) return builtPage();
  return shippedNames('dashboard').map((name) => ({
    name,
    bytes: shippedFile(`dashboard/${name}`),
  }));
}

/** Imports the module that builds the page. `npm start` (`verify/build/start.js`) sets another. */
export const pageBuilder = { load: (address: string) => import(address) };

/**
 * The page of this checkout, built anew; no file if its room was deleted. No other room knows the
 * page, so its address is computed. `onSources` is called with the paths of the bundled files.
 */
export async function builtPage(
  onSources?: (paths: readonly string[]) => void,
): Promise<readonly PageFile[]> {
  const page = new URL('../page/', import.meta.url);
  const bundle = new URL('build/bundle.ts', page);
  if (!existsSync(bundle)) return [];
  return (await pageBuilder.load(bundle.href)).bundleDashboard(onSources, page);
}
