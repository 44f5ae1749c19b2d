/** The modules of the source tree, with their text and their imports. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { root } from '../testkit/doc-commands.ts';

export interface Module {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly isTest: boolean;
  /** What it imports: a package by its name, a module by its path from the root. */
  readonly imports: readonly string[];
}

export function modulesUnder(folder: string): Module[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('node_modules'))
    .map((name) => `${folder}/${name.split(sep).join('/')}`)
    .sort()
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      return { path, text, isTest: path.endsWith('.test.ts'), imports: importsOf(path, text) };
    });
}

function importsOf(path: string, text: string): string[] {
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

/** The rooms whose code ships. */
export const rooms = [
  'bench',
  'cli',
  'conformance',
  'contract',
  'explore',
  'fleet',
  'io',
  'judging',
  'page',
  'record',
  'src',
];
export const source = rooms.flatMap(modulesUnder);
export const code = source.filter(({ isTest }) => !isTest);
export const tests = source.filter(({ isTest }) => isTest);

export const inFolder = (folder: string) => code.filter(({ path }) => path.startsWith(folder));

/** The first comment of a module, as one line. */
export function headerOf(text: string): string {
  const comment = /^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? '';
  return comment.replace(/\s*\n\s*\*\s*/g, ' ').trim();
}
