/**
 * The walls: what each room may import. The two tables of `docs/architecture.md` are the only list;
 * these tests read them. A row names whole rooms, so what a room reaches is the closure of its row.
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { code, everything, importsOf, isThere, root, tools } from './modules.ts';

const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
/** The first and the last cell of each row below a heading; the last one is a list of names. */
const tableBelow = (heading: string) =>
  new Map(
    (page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.slice(2, -2).split(' | '))
      .map((cells): [string, readonly string[]] => [
        (cells[0] ?? '').replace(/`|\/`/g, ''),
        [...(cells.at(-1) ?? '').matchAll(/`([^`]+)`/g)]
          .map(([, name = '']) => name)
          .filter(isThere),
      ]),
  );
const walls = tableBelow('Rooms and walls');
const packages = tableBelow('Packages');

/** Without a row of its own, a folder belongs to the folder above it. */
const rooms = [...walls.keys()].filter(isThere).sort((a, b) => b.length - a.length);
const isIn = (room: string, path: string) => path.startsWith(`${room}/`);
const roomOf = (path: string) => rooms.find((room) => isIn(room, path));
const rowOf = (room: string) => walls.get(room) ?? [];

interface File {
  readonly path: string;
  readonly imports: readonly string[];
}

const arrowsOf = (files: readonly File[]) =>
  files.flatMap(({ path, imports }) =>
    imports.flatMap((to) => {
      const [from, goal] = [roomOf(path), roomOf(to)];
      return from === goal || from === undefined || goal === undefined
        ? []
        : [{ path, to, from, goal }];
    }),
  );
const straysOf = (files: readonly File[]) =>
  arrowsOf(files)
    .filter(({ from, goal }) => !rowOf(from).includes(goal))
    .map(({ path, to }) => `${path} -> ${to}`);

/** `zod` of `zod/v4`, `@scope/name`, and `node:` for all of Node's own; undefined for a file. */
function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('node:')) return 'node:';
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0];
  return existsSync(join(root, 'node_modules', name ?? '')) ? name : undefined;
}
const packageUses = code.flatMap(({ path, imports }) =>
  imports.flatMap((specifier) => {
    const name = packageOf(specifier);
    return name === undefined ? [] : [{ path, name }];
  }),
);

test('no file imports from a room that its own may not', () => {
  expect(arrowsOf(code).length).toBeGreaterThan(1_000);
  expect(straysOf(code)).toEqual([]);
});

test.each([
  ['a value', "import { Rng } from '#src/sim/random.ts';"],
  ['a type', "import type { Rng } from '#src/sim/random.ts';"],
  ['a type by a relative path', "import { type Rng } from '../src/sim/random.ts';"],
  ['again exported', "export { Rng } from '#src/sim/random.ts';"],
  ['loaded on demand', "const { Rng } = await import('#src/sim/random.ts');"],
])('an import of %s through a wall is seen', (_, text) => {
  const planted = { path: 'judging/planted.ts', imports: importsOf('judging/planted.ts', text) };
  expect(straysOf([planted])).toEqual(['judging/planted.ts -> src/sim/random.ts']);
});

test('every arrow of the table is used', () => {
  const used = new Set(arrowsOf(code).map(({ from, goal }) => `${from} -> ${goal}`));
  const drawn = rooms.flatMap((from) => rowOf(from).map((goal) => `${from} -> ${goal}`));
  expect(drawn.filter((arrow) => !used.has(arrow))).toEqual([]);
});

/** All rooms that a room reaches, through others too. */
function reach(room: string, seen = new Set<string>()): ReadonlySet<string> {
  for (const next of rowOf(room)) if (!seen.has(next)) reach(next, seen.add(next));
  return seen;
}

test('no room reaches itself; the contract, the judges and the harness reach nothing of src/', () => {
  expect(rooms.filter((room) => reach(room).has(room))).toEqual([]);
  const judges = ['contract', 'io', 'judging', 'conformance'];
  const reached = judges.flatMap((room) => [...reach(room)]);
  expect(reached.filter((room) => !judges.includes(room))).toEqual([]);
});

test.each(tools)('%s/ can be deleted: only its command and its own tests import it', (tool) => {
  const users = everything
    .filter(({ imports }) => imports.some((name) => isIn(tool, name)))
    .map(({ path }) => path);
  const own = new RegExp(`^(?:${tool}|cli|verify/${tool})/`);
  expect(users.length).toBeGreaterThan(0);
  expect(users.filter((path) => !own.test(path))).toEqual([]);
});

test('each package is imported where its row says, and nowhere else', () => {
  const strays = packageUses.filter(
    ({ path, name }) => !(packages.get(name) ?? []).some((room) => isIn(room, path)),
  );
  expect(strays.map(({ path, name }) => `${path} -> ${name}`)).toEqual([]);
  const named = [...packages].flatMap(([name, users]) => users.map((room) => ({ name, room })));
  expect(named.length).toBeGreaterThan(40);
  const unused = named.filter(
    ({ name, room }) => !packageUses.some((use) => use.name === name && isIn(room, use.path)),
  );
  expect(unused).toEqual([]);
});

test('each room has a README of about ten lines: what it is for, its way in, what it must not know', () => {
  const folders = ['.', 'src'].flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => (folder === '.' ? name : `${folder}/${name}`)),
  );
  const withCode = folders.filter((folder) => code.some(({ path }) => isIn(folder, path)));
  expect(
    withCode.filter(
      (folder) => folder !== 'bin' && !rooms.some((room) => room === folder || isIn(folder, room)),
    ),
  ).toEqual([]);
  for (const folder of [...withCode, 'verify'].filter((name) => name !== 'bin')) {
    const text = readFileSync(join(root, folder, 'README.md'), 'utf8');
    expect(text, folder).toMatch(/\*\*Way in:\*\*/);
    expect(text, folder).toMatch(/\*\*Must not know:\*\*/);
  }
});

test('the linter refuses a cycle of imports across rooms, type-only ones too', () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-cycle-'));
  try {
    for (const name of ['biome.json', 'package.json'])
      writeFileSync(join(folder, name), readFileSync(join(root, name)));
    for (const [room, other] of [
      ['contract', 'io'],
      ['io', 'contract'],
    ]) {
      mkdirSync(join(folder, room ?? ''));
      const text = `import type { A } from '#${other}/a.ts';\nexport type B = A;\nexport type A = 1;\n`;
      writeFileSync(join(folder, room ?? '', 'a.ts'), text);
    }
    const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');
    const argv = [biome, 'lint', '--vcs-enabled=false', '.'];
    const { stdout, stderr } = spawnSync(process.execPath, argv, { cwd: folder, encoding: 'utf8' });
    expect(stdout + stderr).toContain('lint/suspicious/noImportCycles');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
