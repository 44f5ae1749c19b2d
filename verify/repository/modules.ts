/**
 * The code files of the repository, with their text and imports, and the selections of them that
 * the tests of code read.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Module {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly isTest: boolean;
  /** What it imports: a package by its name, a module by its path from the root. */
  readonly imports: readonly string[];
}

function modulesUnder(folder: string): Module[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:tsx?|[mc]?js)$/.test(name) && !name.includes('node_modules'))
    .map((name) => `${folder}/${name.split(sep).join('/')}`)
    .sort()
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      return { path, text, isTest: /\.test\.tsx?$/.test(path), imports: importsOf(path, text) };
    });
}

export function importsOf(path: string, text: string): string[] {
  const code = withoutComments(text);
  const specifiers = [
    ...code.matchAll(/^(?:import|export)\b[^;]*?\bfrom '([^']+)'/gm),
    ...code.matchAll(/^import '([^']+)'/gm),
    ...code.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g),
  ].map((match) => match[1] ?? '');
  return specifiers.map((specifier) => {
    if (specifier.startsWith('#')) return specifier.slice(1);
    if (!specifier.startsWith('.')) return specifier;
    return relative(root, join(root, path, '..', specifier))
      .split(sep)
      .join('/');
  });
}

export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:'"`])\/\/.*$/gm, '$1');
}

/** The tools: a project that embeds the twin does not need them, so each may be deleted. */
const allTools = ['record', 'explore', 'fleet', 'bench', 'page'];

/** False for a path of a deleted tool, or of its own tests. */
export function isThere(path: string): boolean {
  const [, room = ''] = /^(?:verify\/|cli\/)?([^/.]+)/.exec(path) ?? [];
  return !allTools.includes(room) || existsSync(join(root, room));
}

export const tools = allTools.filter(isThere);

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly imports: Readonly<Record<string, string>>;
};

/** The folders at the top that import each other by `#name/…`, as the manifest maps them. */
export const rooms = Object.keys(manifest.imports)
  .map((key) => key.slice(1, -2))
  .filter(isThere);
export const everything = [...rooms, 'bin'].flatMap(modulesUnder);
/** The modules outside `verify/`: those that may ship, and their tests. */
export const source = everything.filter(({ path }) => !path.startsWith('verify/'));
export const code = source.filter(({ isTest }) => !isTest);
export const tests = source.filter(({ isTest }) => isTest);

const codeIn = (pattern: RegExp) => code.filter(({ path }) => pattern.test(path));

/**
 * The selections of files that tests of code read. `scans.test.ts` states the size of each, so that
 * a test fails, and does not pass without a file, when a folder is moved.
 */
export const scans = {
  everything,
  code,
  tests,
  /** Knows no other time and chance than those that it is given. */
  deterministic: codeIn(/^(?:contract|src\/(?:sim|actors))\//),
  /** Opens with a sentence that says what it is. */
  headed: codeIn(/^(?:contract|io|src\/(?:sim|actors|http|control))\/.*\.ts$/),
  /** Decides how the service answers: reads the assumptions, and does not declare them. */
  deciding: codeIn(/^(?:contract|src\/(?:sim|actors|http))\/(?!assumptions)/),
  /** The simulated service, and the tests of its rules. */
  twin: source.filter(({ path }) => /^(?:contract|src)\//.test(path)),
  /** Could write the state of the simulated service. */
  core: codeIn(
    /^(?:contract|judging\/evidence|src\/(?:actors|operations|recording|sim|simulation))\//,
  ),
  /** Runs on the user's machine, on every platform. */
  portable: codeIn(/^(?!page\/(?!build\/))/),
} satisfies Readonly<Record<string, readonly Module[]>>;

/** The first comment of a module, as one line. */
export function headerOf(text: string): string {
  const comment = /^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? '';
  return comment.replace(/\s*\n\s*\*\s*/g, ' ').trim();
}
