/**
 * `action.yml`, `compose.yaml`, the Dockerfile and `docs/ci.md`: the action's step runs here
 * without GitHub, and what they name exists.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { serveFlags } from '#cli/serve/serve-options.ts';
import { addFlags, newCommand } from '#io/flags.ts';
import { commandsOf, fencedBlocksOf, root, shell } from '../testkit/doc-commands.ts';
import { isThere } from './modules.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-ci-'));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (name: string) => readFileSync(join(root, name), 'utf8');
const action = parse(read('action.yml')) as {
  inputs: Record<string, unknown>;
  runs: { steps: { run: string; env: Record<string, string> }[] };
};

function flagsOfServe(): readonly string[] {
  const io = { out: () => {}, error: () => {}, env: {}, version: '' };
  const command = newCommand('serve', '', io);
  addFlags(command, serveFlags);
  const left = ['help', 'version', 'ready-file', 'shard'];
  return command.options.map(({ long }) => String(long).slice(2)).filter((f) => !left.includes(f));
}

test("the action's inputs are the flags of serve, each passed on", () => {
  const { command: _, ...inputs } = action.inputs;
  expect(Object.keys(inputs)).toEqual(flagsOfServe());
  const [step] = action.runs.steps;
  for (const flag of flagsOfServe()) {
    const name = `SMSTWIN_${flag.toUpperCase().replaceAll('-', '_')}`;
    expect(step?.env[name]).toBe(`\${{ inputs.${flag} }}`);
  }
});

test("the action's step starts a server and hands it to the next step", () => {
  const files = { GITHUB_OUTPUT: join(folder, 'output'), GITHUB_ENV: join(folder, 'env') };
  const env = {
    ...process.env,
    ...Object.fromEntries(Object.keys(action.runs.steps[0]?.env ?? {}).map((name) => [name, ''])),
    ...files,
    GITHUB_ACTION_PATH: root,
    RUNNER_TEMP: folder,
    SMSTWIN_COMMAND: 'node --import tsx cli/main.ts',
    SMSTWIN_PORT: '0',
    SMSTWIN_CONTROL_PORT: '0',
  };
  const line = action.runs.steps[0]?.run ?? '';
  execFileSync('bash', ['-c', line], { cwd: root, env });
  const variables = Object.fromEntries(
    readFileSync(files.GITHUB_ENV, 'utf8')
      .split('\n')
      .map((text) => text.split(/=(.*)/).slice(0, 2)),
  );
  process.kill(Number(variables['SMSTWIN_PID']), 'SIGTERM');
  expect(variables['SMSTWIN_BASE_URL']).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(variables['SMSTWIN_API_KEY']).toMatch(/^smst_/);
  expect(variables['SMSTWIN_FROM']).toBe('+12025550101');
  expect(readFileSync(files.GITHUB_OUTPUT, 'utf8')).toBe(readFileSync(files.GITHUB_ENV, 'utf8'));
  const refused = { ...env, SMSTWIN_PORT: 'none' };
  expect(() =>
    execFileSync('bash', ['-c', line], { cwd: root, env: refused, stdio: 'pipe' }),
  ).toThrow(/SMSTWIN_PORT none: expected a whole number/);
});

test('the shell of docs/ci.md starts a server, and stops it', async () => {
  const [line = ''] = commandsOf('docs/ci.md');
  const inFolder = line.replaceAll('ready.json', join(folder, 'ready.json')).replaceAll("'./", "'");
  expect(await shell(inFolder)).toMatch(/http:\/\/127\.0\.0\.1:\d+\n/);
});

test('containers use flags that there are, and no root', () => {
  const variables = [...flagsOfServe(), 'no-control'].map((flag) =>
    flag.toUpperCase().replaceAll('-', '_'),
  );
  const compose = read('compose.yaml');
  expect(Object.keys((parse(compose) as { services: object }).services)).toHaveLength(3);
  for (const { language, text } of fencedBlocksOf('docs/ci.md'))
    if (language === 'yaml') parse(text);
  const named = `${compose}${read('Dockerfile')}`.matchAll(/\bSMSTWIN_([A-Z_]+)/g);
  for (const [, name = ''] of named) expect(variables).toContain(name);
  expect(read('Dockerfile')).toMatch(/^USER 65532:65532$/m);
});

test('what the container is built from is enough to build the package', () => {
  const context = join(folder, 'context');
  const entries = read('.dockerignore').trim().split('\n');
  expect(entries.shift()).toBe('*');
  for (const entry of entries) {
    const path = entry.slice(1);
    if (isThere(path)) cpSync(join(root, path), join(context, path), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(context, 'node_modules'));
  const build = ['--import', import.meta.resolve('tsx'), 'verify/build/build.ts'];
  execFileSync(process.execPath, build, { cwd: context, stdio: 'pipe' });
  expect(existsSync(join(context, 'dist/types/src/api.d.ts'))).toBe(true);
  const version = [join(context, 'dist/main.js'), '--version'];
  expect(execFileSync(process.execPath, version, { encoding: 'utf8' })).toMatch(/^\d+\.\d+\./);
});
