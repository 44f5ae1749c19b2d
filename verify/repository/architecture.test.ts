/**
 * Compares the table of `docs/architecture.md` with the linter's rules, and shows that the linter
 * refuses forbidden imports.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

interface Override {
  readonly includes: readonly string[];
  readonly linter: {
    readonly rules: {
      readonly style?: {
        readonly noRestrictedImports?: {
          readonly options: { readonly patterns: readonly { readonly group: readonly string[] }[] };
        };
      };
    };
  };
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');
const configuration = readFileSync(join(root, 'biome.json'), 'utf8');
const { overrides } = JSON.parse(configuration) as { overrides: readonly Override[] };

const rows = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.slice(2, -2).split(' | '))
  .map(([room = '', , imports = '']) => ({ room: room.replaceAll('`', ''), imports }));

/** `../../operations/**` and the like, as the table writes it. */
function nameOf(pattern: string, room: string): string {
  const bare = pattern.replace(/^!/, '').replace(/\/\*\*?$/, '');
  if (bare === '..') return room.split('/').at(-3) ?? '';
  if (bare.startsWith('node:')) return 'node';
  if (bare === 'libphonenumber-js/max') return 'libphonenumber-js';
  const isSibling = room.startsWith('src/http/') && /^\.\.\/\w+$/.test(bare);
  const path = bare.replace(/^(\.\.\/)+|^\*\*\//, '').replace(/^conformance\/.*/, 'conformance');
  return isSibling ? `http/${path}` : path;
}

/** Each rule as a row of the table: the room and what it may import, or may not. */
const rules = overrides.flatMap(({ includes: [includes = ''], linter }) => {
  const group = linter.rules.style?.noRestrictedImports?.options.patterns[0]?.group;
  if (group === undefined) return [];
  const room = includes.replace(/(\*\*|\*\.ts)$/, '');
  // A rule that does not begin by refusing all imports refuses some, perhaps with an exception.
  const isDenial = group[0] !== '*';
  const named = group.filter((pattern) => isDenial || /^!(?!\.\/)/.test(pattern));
  const names = named.map((pattern) => nameOf(pattern, room));
  return [{ room, names: [...new Set(names)].sort(), isDenial }];
});

test('the table says of each room what the linter lets it import', () => {
  expect(rows.map(({ room }) => room).sort()).toEqual(rules.map(({ room }) => room).sort());
  for (const { room, names, isDenial } of rules) {
    const cell = rows.find((row) => row.room === room)?.imports ?? '';
    expect(cell.startsWith('not '), room).toBe(isDenial);
    const listed = cell.replace(/^not |^nothing$/, '').split(/, | but /);
    expect(listed.filter((name) => name !== '').sort(), room).toEqual(names);
  }
});

test('no two rooms of src/ may import each other', () => {
  const first = (name: string) => name.split('/')[0] ?? '';
  const arrows = new Set(
    rules
      .filter(({ room, isDenial }) => room.startsWith('src/') && !isDenial)
      .flatMap(({ room, names }) => names.map((name) => [first(room.slice(4)), first(name)]))
      .filter(([from, to]) => from !== to)
      .map(([from, to]) => `${from} -> ${to}`),
  );
  expect(arrows).toContain('operations -> http');
  const back = (arrow: string) => arrow.split(' -> ').reverse().join(' -> ');
  expect([...arrows].filter((arrow) => arrows.has(back(arrow)))).toEqual([]);
});

/** What the linter says of these files, laid out in a folder of their own. */
function lint(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-arrows-'));
  try {
    writeFileSync(join(folder, 'biome.json'), configuration);
    for (const [path, source] of Object.entries(files)) {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), source);
    }
    const argv = [biome, 'lint', '--vcs-enabled=false', '.'];
    const { stdout, stderr } = spawnSync(process.execPath, argv, { cwd: folder, encoding: 'utf8' });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const forbidden = {
  'src/sim/planted.ts': '../config/settings.ts',
  'src/actors/planted.ts': '../http/service/api.ts',
  'src/http/service/planted.ts': '../../control/guard.ts',
  'src/openapi/planted.ts': '../control/guard.ts',
  'src/worlds/planted.ts': '../control/guard.ts',
  'src/http/transport/planted.ts': '../../operations/clock.ts',
  'src/operations/planted.ts': '../simulator.ts',
  'src/recording/planted.ts': '../operations/clock.ts',
  'src/simulation/planted.ts': './metrics/families.ts',
  'src/simulation/metrics/planted.ts': '../../recording/journal.ts',
  'src/testing/planted.ts': '../cli/serve.ts',
  'src/simulator.ts': './cli/serve.ts',
  'conformance/planted.ts': '../src/sim/limits.ts',
  'src/commands/planted.ts': '../config/settings.ts',
};

test('the linter refuses a forbidden import in each room, type-only ones too', () => {
  const files = Object.entries(forbidden).map(([file, specifier]) => [
    file,
    `import type { X } from '${specifier}';\nexport type Y = X;\n`,
  ]);
  const said = lint(Object.fromEntries(files) as Record<string, string>);
  for (const file of Object.keys(forbidden)) {
    expect(said).toMatch(new RegExp(`${file}:1:\\d+ lint/style/noRestrictedImports`));
  }
});

test('the linter refuses a cycle of type-only imports', () => {
  const said = lint({
    'a.ts': "import type { B } from './b.ts';\nexport type A = B | 1;\n",
    'b.ts': "import type { A } from './a.ts';\nexport type B = A | 2;\n",
  });
  expect(said).toContain('lint/suspicious/noImportCycles');
});
