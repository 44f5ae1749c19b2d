/**
 * The declarations that the package ships: every public symbol has a comment, which editors show;
 * none names an internal; and the generated methods are those of the simulator.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writePublicTypes } from '../build/public-types.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder = '';

function compile(...flags: readonly string[]): void {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '--checkers', '1', ...flags], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
}

beforeAll(() => {
  mkdirSync(join(root, 'build'), { recursive: true });
  // Within the project, so that the declarations find its packages.
  folder = mkdtempSync(join(root, 'build/public-types-'));
  compile('-p', 'tsconfig.build.json', '--outDir', folder);
  writePublicTypes(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('every public symbol has a comment', () => {
  const entries = [
    'src/api.d.ts',
    'src/testing/vitest.d.ts',
    'src/methods.d.ts',
    'explore/explore.d.ts',
    'audit/audit.d.ts',
  ];
  expect(entries.flatMap((entry) => undocumented(join(folder, entry)))).toEqual([]);
});

test('a field of an input has its description', () => {
  const types = readFileSync(join(folder, 'src/methods.d.ts'), 'utf8');
  for (const name of ['ttl', 'nth', 'kind', 'clock', 'limits', 'match', 'when', 'fault'])
    expect(types).toMatch(new RegExp(`/\\*\\* .+ \\*/\\n *${name}\\??: `));
});

test('no internal of the simulator is public', () => {
  const api = readFileSync(join(folder, 'src/api.d.ts'), 'utf8');
  for (const name of [
    'makeSimulation',
    'replayOperation',
    'hostedWorlds',
    'left',
    'change',
    'simulation',
  ]) {
    expect(api).not.toMatch(new RegExp(`\\b${name}\\b[?(:]`));
  }
});

test('the generated types are those of the simulator', () => {
  const check = join(folder, 'check.ts');
  const lines = [
    "import type { Simulator } from './src/api.d.ts';",
    "import type { Simulator as Running } from '#src/simulator.ts';",
    // A snapshot is opaque to users.
    "export const simulator: Omit<Simulator, 'snapshots'> = {} as Omit<Running, 'snapshots'>;",
  ];
  writeFileSync(check, lines.join('\n'));
  const config = join(folder, 'tsconfig.json');
  const extended = { extends: join(root, 'tsconfig.json'), include: [check], exclude: [] };
  // JSON schemas cannot say whether an absent field may also be undefined.
  const compilerOptions = { exactOptionalPropertyTypes: false };
  writeFileSync(config, JSON.stringify({ ...extended, compilerOptions }));
  compile('-p', config, '--noEmit');
});

/** The exported declarations of a file, or those named, that lack a comment, with their members. */
function undocumented(file: string, names?: readonly string[]): readonly string[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  const isBare = (at: number) => !lines[at - 1]?.trim().endsWith('*/');
  return lines.flatMap((line, at) => {
    const [, list, from] = /^export (?:type )?\{ (.+) \} from '(.+)\.ts';/.exec(line) ?? [];
    if (list !== undefined && names === undefined) {
      const listed = list.split(', ').map((name) => name.replace('type ', ''));
      return undocumented(join(dirname(file), `${from}.d.ts`), listed);
    }
    const [, kind, name = ''] =
      /^export (?:declare )?(interface|class|type|function|const) (\w+)/.exec(line) ?? [];
    if (kind === undefined || (names !== undefined && !names.includes(name))) return [];
    const own = isBare(at) ? [`${file.slice(folder.length + 1)}: ${name}`] : [];
    if (kind !== 'interface' && kind !== 'class') return own;
    const body = lines.slice(at + 1, at + lines.slice(at).indexOf('}'));
    const indent = /^ */.exec(body[0] ?? '')?.[0] ?? '';
    const member = new RegExp(`^${indent}(?!override|constructor)(?:readonly )?(\\w+)[?(<:]`);
    const members = body.flatMap((text, offset) => {
      const called = member.exec(text)?.[1];
      return called !== undefined && isBare(at + 1 + offset) ? [`${name}.${called}`] : [];
    });
    return [...own, ...members];
  });
}
