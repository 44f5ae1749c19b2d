/**
 * Checks the source tree: permitted imports, forbidden words, the rules and assumptions that
 * headers cite, the ledger in `docs/rules.md`, and unused files.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { assumptionLedger, assumptionNames } from '../../src/sim/assumptions.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Module {
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
  return specifiers.map((specifier) =>
    specifier.startsWith('.')
      ? relative(root, join(root, path, '..', specifier))
          .split(sep)
          .join('/')
      : specifier,
  );
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:'"`])\/\/.*$/gm, '$1');
}

const source = modulesUnder('src');
const conformance = modulesUnder('conformance');
const code = source.filter(({ isTest }) => !isTest);
const tests = source.filter(({ isTest }) => isTest);

/** `file -> import` of every import that `isAllowed` does not allow. */
function strays(modules: readonly Module[], isAllowed: (imported: string) => boolean): string[] {
  return modules.flatMap(({ path, imports }) =>
    imports.filter((imported) => !isAllowed(imported)).map((imported) => `${path} -> ${imported}`),
  );
}

const inFolder = (folder: string) => code.filter(({ path }) => path.startsWith(folder));

test('the tree is read: modules, tests and imports are found', () => {
  expect(code.length).toBeGreaterThan(50);
  expect(tests.length).toBeGreaterThan(20);
  expect(code.find(({ path }) => path === 'src/sim/world.ts')?.imports).toContain(
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

const ledgerText = readFileSync(join(root, 'docs/rules.md'), 'utf8');
const [rulesPart = '', assumptionsPart = ''] = ledgerText.split('## Assumptions');
const ruleIds = [...rulesPart.matchAll(/^\| ([A-Z]+-\d+) /gm)].map(([, id = '']) => id);

/** The rule ids that a text cites; `SEND-5 to SEND-7` cites three. */
function citedRules(text: string): Set<string> {
  const cited = new Set<string>();
  for (const [, group = '', first = '', last = first] of text.matchAll(
    /\b([A-Z]+)-(\d+)(?: to \1-(\d+))?/g,
  )) {
    for (let n = Number(first); n <= Number(last); n++) cited.add(`${group}-${n}`);
  }
  return cited;
}

/** The first comment of a module, as one line. */
function headerOf(text: string): string {
  const comment = /^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? '';
  return comment.replace(/\s*\n\s*\*\s*/g, ' ').trim();
}

test('the ledger of rules is read: eight groups and VER, numbered from 1 without a gap', () => {
  const groups = new Map<string, number[]>();
  for (const id of ruleIds) {
    const [group = '', number = ''] = id.split('-');
    groups.set(group, [...(groups.get(group) ?? []), Number(number)]);
  }
  expect([...groups.keys()]).toEqual([
    'SVC',
    'RES',
    'STATE',
    'SEND',
    'READ',
    'AUTH',
    'ERR',
    'LIMIT',
    'VER',
  ]);
  for (const numbers of groups.values()) expect(numbers).toEqual(numbers.map((_, i) => i + 1));
});

test('every module of sim/, actors/ and the service opens with a sentence that says what it is', () => {
  const rooms = ['sim', 'actors', 'http', 'control', 'openapi'];
  const headed = rooms.flatMap((room) => inFolder(`src/${room}/`));
  const bare = headed.filter(({ text }) => !/\w.*[.:]/.test(headerOf(text)));
  expect(bare.map(({ path }) => path).filter((path) => !path.endsWith('-fixture.ts'))).toEqual([]);
});

test('every rule id that src/ cites is a rule', () => {
  const groups = new Set(ruleIds.map((id) => id.split('-')[0]));
  const unknown = source.flatMap(({ path, text }) =>
    [...citedRules(text)]
      .filter((id) => groups.has(id.split('-')[0]) && !ruleIds.includes(id))
      .map((id) => `${path}: ${id}`),
  );
  expect(unknown).toEqual([]);
});

test('every assumption that a header cites is an assumption', () => {
  const unknown = code.flatMap(({ path, text }) => {
    const cited = /Assumes: ([^.]*)\./.exec(headerOf(text))?.[1] ?? '';
    return cited
      .replace(/\([^)]*\)/g, '')
      .split(/[\s,]+/)
      .filter((word) => /^[a-z]+[A-Z]/.test(word))
      .filter((word) => !assumptionNames.some((name) => name === word))
      .map((word) => `${path}: ${word}`);
  });
  expect(unknown).toEqual([]);
});

test('every assumption that has several answers is read by name outside its ledger', () => {
  const isOpen = (name: (typeof assumptionNames)[number]) =>
    assumptionLedger[name].answers.length > 1 || 'alsoAccepts' in assumptionLedger[name];
  const readers = code
    .filter(({ path }) => !/sim\/assumption|^src\/(model|commands|testing)\//.test(path))
    .map(({ text }) => withoutComments(text));
  const unread = assumptionNames.filter(
    (name) => isOpen(name) && !readers.some((text) => new RegExp(`\\b${name}\\b`).test(text)),
  );
  expect(unread).toEqual([]);
});

const builtGroups = /^(SVC|RES|STATE|SEND|READ|AUTH|ERR|LIMIT)-/;
const builtRules = ruleIds.filter((id) => builtGroups.test(id));

test.each(builtRules)('%s is cited in code and opens the name of a test', (id) => {
  expect(code.some(({ text }) => citedRules(text).has(id))).toBe(true);
  // A name that opens with this id or with several; in a table of tests it is an entry of its own.
  const opening = new RegExp(`['"\`](?:[A-Z]+-\\d+ )*${id}(?: |')`);
  expect(
    tests.some(({ path, text }) => path !== 'verify/repository/tidy.test.ts' && opening.test(text)),
  ).toBe(true);
});

interface Row {
  readonly names: readonly string[];
  /** What opens each answer: a name in back ticks, or a number. */
  readonly answers: readonly { readonly text: string; readonly isName: boolean }[];
}

const rows: readonly Row[] = [
  ...assumptionsPart.matchAll(/^\| (`.*?) *\| (.*?) *\| (.*?) *\|$/gm),
].map(([, names = '', , cell = '']) => ({
  names: [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  answers: cell.split(' · ').map((answer) => {
    const name = /^`([^`]*)`/.exec(answer)?.[1];
    return { text: name ?? /^[\d,.…]*\d|^\S+/.exec(answer)?.[0] ?? '', isName: name !== undefined };
  }),
}));

test('docs/rules.md lists the assumptions of the ledger, in its order', () => {
  expect(rows.flatMap(({ names }) => names)).toEqual(assumptionNames);
});

test.each(assumptionNames)(
  'docs/rules.md gives %s the default and the answers of the ledger',
  (name) => {
    const row = rows.find(({ names }) => names.includes(name));
    const entry = assumptionLedger[name];
    const [first] = row?.answers ?? [];
    const isEmpty = JSON.stringify(entry.default) === '{}';
    const fallback = isEmpty ? 'none' : String(entry.default);
    const inTable = first?.isName ? first.text : first?.text.replaceAll(',', '');
    expect(inTable).toBe(fallback);
    const named = (row?.answers ?? []).filter(({ isName }) => isName).map(({ text }) => text);
    const hasOpenAnswers = 'alsoAccepts' in entry;
    expect(hasOpenAnswers ? named.filter((text) => text !== fallback) : named).toEqual(
      hasOpenAnswers ? entry.answers.filter((answer) => answer !== fallback) : entry.answers,
    );
  },
);

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
  const elsewhere = ['bench', 'scripts', 'verify'].flatMap(modulesUnder);
  const everything = [...source, ...conformance, ...elsewhere];
  const used = new Set(everything.flatMap(({ imports }) => imports));
  // Doors: what the manifest, the build or a command line names.
  const manifest = readFileSync(join(root, 'package.json'), 'utf8');
  const named = [manifest, ...elsewhere.map(({ text }) => text)].join('\n');
  const isDoor = ({ path, isTest }: Module) =>
    isTest ||
    path === 'src/main.ts' ||
    path === 'src/dashboard/page/main.tsx' ||
    path === 'src/dashboard/page/events-worker.ts' ||
    named.includes(path) ||
    named.includes(`'${path.slice(4, -3)}'`);
  const unfinished = uncommitted();
  const unused = [...source, ...conformance].filter(
    (module) => !isDoor(module) && !used.has(module.path) && !unfinished.has(module.path),
  );
  expect(unused.map(({ path }) => path)).toEqual([]);
});

test('no folder and no file is called by a name that says nothing', () => {
  const empty = /(^|\/|-)(utils?|helpers?|common|misc|manager|base|index)(\.|\/|-|$)/;
  const paths = [...source, ...conformance].map(({ path }) => path);
  expect(paths.filter((path) => empty.test(path))).toEqual([]);
});

test('no test is skipped, focused or repeated', () => {
  const modifiers = /\b(?:test|it|describe|both)\.(?:only|skip|todo|fails)\b|\bretry:/;
  const marked = tests.filter(
    ({ path, text }) => path !== 'verify/repository/tidy.test.ts' && modifiers.test(text),
  );
  expect(marked.map(({ path }) => path)).toEqual([]);
});
