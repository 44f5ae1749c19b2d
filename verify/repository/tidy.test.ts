/** Checks the source tree: permitted imports, forbidden words, headers, names and unused files. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  code,
  everything,
  headerOf,
  isThere,
  type Module,
  rooms,
  root,
  scans,
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

test('code imports no test and nothing of verify/', () => {
  const isAllowed = (name: string) => !name.endsWith('.test.ts') && !name.startsWith('verify/');
  expect(strays(code, isAllowed)).toEqual([]);
});

const banned =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|\bMath\.random\b|\bcrypto\b|\bperformance\b|(?<!clock\.)\bset(?:Timeout|Interval|Immediate)\b|\bprocess\b|\bqueueMicrotask\b|\basync\b|\bawait\b/g;

test('the contract, sim/ and actors/ know no other time and chance than those that they are given', () => {
  const said = scans.deterministic.flatMap(({ path, text }) => {
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

test('every module of the contract, io/, sim/, actors/ and the ports opens with a sentence that says what it is', () => {
  const bare = scans.headed.filter(({ text }) => !/\w.*[.:]/.test(headerOf(text)));
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
  const used = new Set(everything.flatMap(({ imports }) => imports));
  // Ways in: what the manifest, the build, an action or a test names by its path.
  const builders = everything.filter(({ path }) => path.startsWith('verify/'));
  const pages = ['package.json', 'action.yml', 'Dockerfile', 'bin/smstwin.js'];
  const named = [
    ...builders.map(({ text }) => text),
    ...pages.map((page) => readFileSync(join(root, page), 'utf8')),
  ].join('\n');
  const bundled =
    /^page\/(?:main\.tsx|events-worker\.ts)$|^judging\/report\/plot\/report-script\.ts$/;
  const isWayIn = ({ path, isTest }: Module) =>
    isTest || named.includes(path) || bundled.test(path);
  const unfinished = uncommitted();
  const unused = source.filter(
    (module) => !isWayIn(module) && !used.has(module.path) && !unfinished.has(module.path),
  );
  expect(unused.map(({ path }) => path)).toEqual([]);
});

test('no folder and no file is called by a name that says nothing', () => {
  const empty = /(^|\/|-)(utils?|helpers?|common|misc|manager|base|index)(\.|\/|-|$)/;
  // Node finds a package's own entry by the name of the file.
  const entry = 'src/http/transport/uws/index.cjs';
  const paths = source.map(({ path }) => path).filter((path) => path !== entry);
  expect(paths.filter((path) => empty.test(path))).toEqual([]);
});

test('no test is skipped, focused or repeated', () => {
  const modifiers = /\b(?:test|it|describe|both)\.(?:only|skip|todo|fails)\b|\bretry:/;
  const marked = tests.filter(({ text }) => modifiers.test(text));
  expect(marked.map(({ path }) => path)).toEqual([]);
});

/** Pages and, in code, comments. `CHANGELOG.md` keeps the names of its time. */
const prose = [
  'README.md',
  'SECURITY.md',
  ...rooms.map((room) => `${room}/README.md`),
  ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`),
]
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
  .concat(
    scans.everything.map(({ path, text }) => ({
      path,
      text: [...text.matchAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm)].join('\n'),
    })),
  );

test('no page and no module has the markers of a merge', () => {
  const marked = [...prose, ...scans.everything].filter(({ text }) =>
    /^(?:<{7} |={7}$|>{7} )/m.test(text),
  );
  expect(marked.map(({ path }) => path)).toEqual([]);
});

/** Folders and files of no checkout: what a command makes, and programs of earlier commits. */
const elsewhere =
  /^(?:dist|build|node_modules|smstwin-findings|verify\/others)\/|^finding-|^send\.js$|^uWebSockets\.js$/;

test('a file or folder that a page or a comment names is there, from the root or its own folder', () => {
  const named = prose.flatMap(({ path, text }) =>
    [...text.matchAll(/`((?:[\w@.-]+\/)*[\w@.-]+(?:\.(?:tsx?|[mc]?js)|\/))`/g)].map(
      ([, name = '']) => ({ path, name }),
    ),
  );
  expect(named.length).toBeGreaterThan(300);
  const missing = named.filter(
    ({ path, name }) =>
      !elsewhere.test(name) &&
      isThere(name) &&
      !existsSync(join(root, name)) &&
      !existsSync(join(root, path, '..', name)),
  );
  expect(missing.map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
});
