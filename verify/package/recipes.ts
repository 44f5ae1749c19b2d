/**
 * The recipes of `docs/testing.md`, run in a project that has the package installed. In CI every
 * tool is required except Go, which takes 460 MB: its recipe runs only if Go is installed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocksOf, lineFor } from '../testkit/doc-commands.ts';
import { ServedProcess } from '../testkit/served-process.ts';

const blocks = blocksOf('docs/testing.md');
const commands = blocks
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text.trim().split('\n'));

export type Step = readonly [string, () => unknown];

/** `run` runs a command line in the project and returns what it prints. */
export function recipeSteps(project: string, run: (command: string) => string): readonly Step[] {
  const steps: (readonly [tool: string, name: string, act: () => unknown])[] = [
    [
      'npm',
      'the clients of the recipes install',
      () => run('npm install --save-dev jest@30 ky@1 got@14 axios@1 undici@7 openapi-fetch@0'),
    ],
    ['node', 'each file of the page is written', () => writeFiles(project)],
    [
      'npx',
      'the recipes in TypeScript compile',
      () =>
        run('npx tsc --noEmit --strict --module nodenext --target es2022 --skipLibCheck *.test.ts'),
    ],
    [
      'npx',
      'Vitest with ky, got, axios, undici and openapi-fetch',
      () =>
        run(
          'npx vitest run --root . --test-timeout 60000 vitest.test.ts next-timer.test.ts clients.test.ts',
        ),
    ],
    [
      'npx',
      'Jest',
      () => run('npx jest --rootDir . --testTimeout 60000 --testMatch "**/jest.test.cjs"'),
    ],
    ['node', 'node:test', () => run('node --test node.test.mjs')],
    [
      'faketime',
      'processes at another speed: Node, Python and curl',
      () => atAnotherSpeed(project, run),
    ],
    ['pytest-3', 'pytest', () => byPytest(project, run)],
    ['pytest-3', 'a world for each test', () => byWorlds(project, run)],
    ['go', 'Go', () => run('GO111MODULE=off go test sms_test.go')],
    ['curl', 'curl', () => byCurl(project, run)],
  ];
  return steps
    .filter(([tool]) => (process.env['CI'] !== undefined && tool !== 'go') || isThere(tool))
    .map(([, name, act]) => [`docs/testing.md: ${name}`, act]);
}

function isThere(tool: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`]);
    return true;
  } catch {
    console.log(`skipped: the recipe for ${tool}, which is not installed`);
    return false;
  }
}

function writeFiles(project: string): void {
  for (const { text } of blocks) {
    const [, name] = /^(?:\/\/|#) (\w[\w.-]*\.\w+)\n/.exec(text) ?? [];
    if (name !== undefined) writeFileSync(join(project, name), text);
  }
}

/** Runs the commands of a block that starts a server, with that server's URLs and key. */
async function withServer(
  start: string,
  project: string,
  act: (here: (line: string) => string, lines: readonly string[]) => void,
): Promise<void> {
  const [first = '', ...lines] = commands.find(([line]) => line?.includes(start)) ?? [];
  const server = await ServedProcess.byCommand(project, first, project);
  const key = server.ready.accounts[0]?.api_key ?? '';
  const here = (line: string) => `KEY=${key}; ${lineFor(server, line)}`;
  try {
    act(here, lines);
  } finally {
    await server.stop();
  }
}

function atAnotherSpeed(project: string, run: (command: string) => string): Promise<void> {
  return withServer('--clock scaled', project, (here, [preloaded = '']) => {
    const [python = '', curl = ''] = commands.find(([line]) => line?.startsWith('faketime')) ?? [];
    const startMs = performance.now();
    for (const line of [preloaded, python]) {
      expectIn(run(here(line)), /^sent 3 in [23] minutes$/m);
    }
    // The minute's limit is used up, so curl gets a 429 and waits.
    expectIn(run(here(curl)), /"status":"queued"/);
    if (performance.now() - startMs > 60_000) throw new Error('five minutes took one and more');
  });
}

/** Nothing may remain of the server that the recipe starts. */
function byPytest(project: string, run: (command: string) => string): void {
  const folder = join(project, 'pytest');
  run(`pytest-3 -q --basetemp ${folder} test_sms.py`);
  const { pid } = JSON.parse(readFileSync(join(folder, 'smstwin0', 'ready.json'), 'utf8')) as {
    readonly pid: number;
  };
  if (existsSync(`/proc/${pid}`)) throw new Error(`the server of the recipe still runs: ${pid}`);
}

function byCurl(project: string, run: (command: string) => string): Promise<void> {
  return withServer('--clock manual', project, (here, lines) => {
    const replies = lines.map((line) => run(here(line)));
    expectIn(replies.at(-1) ?? '', /"status":"delivered"/);
  });
}

function byWorlds(project: string, run: (command: string) => string): Promise<void> {
  return withServer('--seed 7', project, (here, lines) => {
    for (const line of lines) run(here(line));
  });
}

function expectIn(text: string, pattern: RegExp): void {
  if (!pattern.test(text)) throw new Error(`expected ${pattern} in ${text}`);
}
