/**
 * Checks the source tree: permitted imports, forbidden words, headers, names and unused files.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../testkit/doc-commands.ts';
import {
  code,
  headerOf,
  inFolder,
  type Module,
  modulesUnder,
  source,
  tests,
  withoutComments,
} from './modules.ts';

/** `file -> import` of every import that `isAllowed` does not allow. */
function strays(modules: readonly Module[], isAllowed: (imported: string) => boolean): string[] {
  return modules.flatMap(({ path, imports }) =>
    imports.filter((imported) => !isAllowed(imported)).map((imported) => `${path} -> ${imported}`),
  );
}

test('the tree is read: modules, tests and imports are found', () => {
  expect(code.length).toBeGreaterThan(50);
  expect(tests.length).toBeGreaterThan(20);
  expect(code.find(({ path }) => path === 'src/sim/accounts/world.ts')?.imports).toContain(
    'src/sim/random.ts',
  );
});

test('code imports no test and nothing of verify/', () => {
  const isAllowed = (name: string) => !name.endsWith('.test.ts') && !name.startsWith('verify/');
  expect(strays(code, isAllowed)).toEqual([]);
});

const banned =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|\bMath\.random\b|\bcrypto\b|\bperformance\b|(?<!clock\.)\bset(?:Timeout|Interval|Immediate)\b|\bprocess\b|\bqueueMicrotask\b|\basync\b|\bawait\b/g;

test('sim/ and actors/ know no other time and chance than those that they are given', () => {
  const said = [...inFolder('src/sim/'), ...inFolder('src/actors/')].flatMap(({ path, text }) => {
    const words = [...withoutComments(text).matchAll(banned)].map(([word]) => `${path}: ${word}`);
    return words.map((word) => word.replace(/\s+/g, ''));
  });
  // The virtual clock's own method, which has the shape of XState's.
  expect(said).toEqual(['src/sim/clock.ts:setTimeout']);
});

test.each([
  'const now = Date.now();',
  'new Date( )',
  'Math.random()',
  "import { randomUUID } from 'node:crypto';",
  'performance.now()',
  'setTimeout(() => {}, 5)',
  'setInterval(tick, 5)',
])('the banned words are seen in %j', (text) => {
  expect(text.match(banned)).not.toBeNull();
});

test('every module of sim/, actors/ and the service opens with a sentence that says what it is', () => {
  const rooms = ['sim', 'actors', 'http'];
  const headed = rooms.flatMap((room) => inFolder(`src/${room}/`));
  const bare = headed.filter(({ text }) => !/\w.*[.:]/.test(headerOf(text)));
  expect(bare.map(({ path }) => path).filter((path) => !path.endsWith('-fixture.ts'))).toEqual([]);
});

/**
 * What is not in git yet may still wait for its user; outside of a checkout there is no such thing.
 */
function uncommitted(): ReadonlySet<string> {
  try {
    const list = ['ls-files', '--others', '--exclude-standard'];
    return new Set(execFileSync('git', list, { cwd: root, encoding: 'utf8' }).split('\n'));
  } catch {
    return new Set();
  }
}

test('no file is unused', () => {
  const elsewhere = modulesUnder('verify');
  const everything = [...source, ...elsewhere];
  const used = new Set(everything.flatMap(({ imports }) => imports));
  // Doors: what the manifest, the build or a command line names.
  const manifest = readFileSync(join(root, 'package.json'), 'utf8');
  const named = [manifest, ...elsewhere.map(({ text }) => text)].join('\n');
  const isDoor = ({ path, isTest }: Module) =>
    isTest ||
    path === 'cli/main.ts' ||
    path === 'page/main.tsx' ||
    path === 'page/events-worker.ts' ||
    named.includes(path) ||
    named.includes(`'${path.slice(4, -3)}'`) ||
    path === 'bench/servers/child.ts' ||
    path.startsWith('cli/health');
  const unfinished = uncommitted();
  const unused = source.filter(
    (module) => !isDoor(module) && !used.has(module.path) && !unfinished.has(module.path),
  );
  expect(unused.map(({ path }) => path)).toEqual([]);
});

test('no folder and no file is called by a name that says nothing', () => {
  const empty = /(^|\/|-)(utils?|helpers?|common|misc|manager|base|index)(\.|\/|-|$)/;
  const paths = source.map(({ path }) => path);
  expect(paths.filter((path) => empty.test(path))).toEqual([]);
});

test('no test is skipped, focused or repeated', () => {
  const modifiers = /\b(?:test|it|describe|both)\.(?:only|skip|todo|fails)\b|\bretry:/;
  const marked = tests.filter(({ text }) => modifiers.test(text));
  expect(marked.map(({ path }) => path)).toEqual([]);
});
