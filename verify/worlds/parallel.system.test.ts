/**
 * Many test processes share one server: the recipes of `docs/testing.md` for parallel workers, run
 * by 8 workers of Vitest and by 4 processes of pytest at once; `SMSTWIN_RUNS=2` doubles both.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { runs } from '../testkit/runs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'docs/testing.md'), 'utf8');
const recipe = (name: string) => {
  const [, text = ''] =
    new RegExp(`\`\`\`\\w+\\n((?://|#) ${name}\\n.*?)\`\`\``, 's').exec(page) ?? [];
  return text;
};

const workers = runs(8);
const processes = runs(4);
let folder: string;
let server: ServedProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-parallel-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  for (let n = 0; n < workers; n++)
    writeFileSync(join(folder, `world-${n}.test.mjs`), recipe('world.test.mjs'));
  writeFileSync(join(folder, 'test_world.py'), recipe('test_world.py'));
  server = await ServedProcess.start(folder);
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

test('workers of Vitest and of pytest meet their limits exactly, on one server', async () => {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const flags = ['--root', folder, '--pool', 'forks', '--maxWorkers', `${workers}`];
  const children = [
    run(process.execPath, [vitest, 'run', ...flags, '--test-timeout', '120000']),
    ...Array.from({ length: processes }, () =>
      run('pytest-3', ['-q', '-p', 'no:cacheprovider', 'test_world.py']),
    ),
  ];
  const ends = await Promise.all(children.map(ended));
  expect(ends.filter(({ code }) => code !== 0)).toEqual([]);
  expect(ends[0]?.output).toContain(`${workers} passed`);
});

function run(command: string, argv: readonly string[]): ChildProcess {
  const env = { ...process.env, SMSTWIN_CONTROL_URL: server.controlUrl, NO_COLOR: '1' };
  return spawn(command, argv, { cwd: folder, env });
}

function ended(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, output: error.message }));
    child.once('close', (code) => resolve({ code, output }));
  });
}
