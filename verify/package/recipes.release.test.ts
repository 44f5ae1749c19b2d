/**
 * The recipes of `docs/testing.md`, and the worker of `docs/explore.md`, run in a project that has
 * the package installed. In CI every tool is required except Go, which takes 460 MB: its recipe
 * runs only if Go is installed. `SMSTWIN_RUNS=2 npm run test:package` also runs those that take long.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fencedBlocksOf, shell, withUrlsOf } from '../testkit/doc-commands.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { runs } from '../testkit/runs.ts';
import { emptyProject, ofCheckout, packed } from './packed.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-recipes-'));
const project = emptyProject(folder, 'project');
const run = (command: string) => shell(command, {}, project);
const blocks = ['docs/testing.md', 'docs/explore.md'].flatMap(fencedBlocksOf);
const commands = blocks
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text.trim().split('\n'));

beforeAll(async () => {
  const tools = `${ofCheckout('typescript', '@types/node', 'vitest')} jest@30`;
  const clients = 'ky@1 got@14 axios@1 undici@7 openapi-fetch@0';
  await run(`npm install ${packed} && npm install --save-dev ${tools} ${clients}`);
  for (const { text } of blocks) {
    const [, name] = /^(?:<\?php\n)?(?:\/\/|#) (\w[\w.-]*\.\w+)\n/.exec(text) ?? [];
    if (name !== undefined) writeFileSync(join(project, name), text);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

function isThere(tool: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`]);
    return true;
  } catch {
    return process.env['CI'] !== undefined && tool !== 'go';
  }
}

/** A recipe that needs a tool. If it is left out, its name says why. */
function recipe(tool: string, name: string, act: () => unknown): void {
  const isMissing = !isThere(tool);
  test.skipIf(isMissing)(`${name}${isMissing ? ` (no ${tool})` : ''}`, async () => {
    await act();
  });
}

/** One that takes ten seconds or longer of CPU. */
function longRecipe(tool: string, name: string, act: () => unknown): void {
  if (runs(1) > 1) recipe(tool, name, act);
  else test.skipIf(true)(`${name} (only with SMSTWIN_RUNS=2)`, () => {});
}

recipe('npx', 'the recipes in TypeScript compile', () =>
  run('npx tsc --noEmit --strict --module nodenext --target es2022 --skipLibCheck *.test.ts'),
);

recipe('npx', 'Vitest with ky, got, axios, undici and openapi-fetch', () =>
  run(
    'npx vitest run --root . --test-timeout 60000 vitest.test.ts next-timer.test.ts clients.test.ts',
  ),
);

longRecipe('npx', 'the same with Vitest 3', async () => {
  const files = ['vitest.test.ts', 'next-timer.test.ts', 'clients.test.ts', 'ignored.test.ts'];
  const older = emptyProject(folder, 'vitest-3');
  const clients = 'ky@1 got@14 axios@1 undici@7 openapi-fetch@0';
  await shell(`npm install ${packed} && npm install --save-dev vitest@3.2 ${clients}`, {}, older);
  for (const name of files.slice(0, 3)) copyFileSync(join(project, name), join(older, name));
  const use = (names: readonly string[]) =>
    shell(`npx vitest run --root . --test-timeout 60000 ${names.join(' ')} 2>&1`, {}, older);
  expect(await use(files.slice(0, 3))).toMatch(/Tests .*6 passed/);
  writeFileSync(
    join(older, 'ignored.test.ts'),
    `import { test } from 'smstwin/vitest';
test.extend({ simulatorSettings: { clock: 'manual', limits: { send: 1 } } })('passes', () => {});
`,
  );
  await expect(use(['ignored.test.ts'])).rejects.toMatchObject({
    stdout: expect.stringContaining('ignores test.extend({ simulatorSettings }): use test.scoped'),
  });
});

recipe('npx', 'Jest', () =>
  run('npx jest --rootDir . --testTimeout 60000 --testMatch "**/jest.test.cjs"'),
);

recipe('node', 'node:test', () => run('node --test node.test.mjs'));

recipe('faketime', 'processes at another speed: Node, Python and curl', () =>
  withServer('--clock scaled', async (here, [preloaded = '']) => {
    const [python = '', curl = ''] = commands.find(([line]) => line?.startsWith('faketime')) ?? [];
    const startMs = performance.now();
    for (const line of [preloaded, python])
      expect(await run(here(line))).toMatch(/^sent 3 in [23] minutes$/m);
    // The minute's limit is used up, so curl gets a 429 and waits.
    expect(await run(here(curl))).toMatch(/"status":"queued"/);
    expect(performance.now() - startMs, 'five minutes').toBeLessThan(60_000);
  }),
);

recipe('pytest-3', 'pytest leaves no server behind', async () => {
  const own = join(project, 'pytest');
  await run(`pytest-3 -q --basetemp ${own} test_sms.py`);
  // The folder was the server's, and the server removes the file when it ends.
  expect(existsSync(join(own, 'smstwin0'))).toBe(true);
  expect(existsSync(join(own, 'smstwin0', 'ready.json'))).toBe(false);
});

recipe('pytest-3', 'a world for each test', () =>
  withServer('--seed 7', async (here, lines) => {
    for (const line of lines) await run(here(line));
  }),
);

for (const [at, tool] of ['rspec', 'phpunit'].entries()) {
  recipe(tool, `${tool} passes, and fails for a client that does not wait`, () =>
    withServer('--seed 8', async (here, lines) => {
      const line = lines[at] ?? '';
      const [file = ''] = line.split(' ').slice(-1);
      await run(here(line));
      const text = readFileSync(join(project, file), 'utf8');
      const hasty = text.replace(/^(\s+\$?sleeping(?:\.call)?)\(.*\)/m, '$1(1)');
      writeFileSync(join(project, file), hasty);
      await expect(run(here(`${line} 2>&1`))).rejects.toMatchObject({
        stdout: expect.stringMatching(/expected: \[60\]|- +0 => 60/),
      });
    }),
  );
}

longRecipe('redis-server', 'a worker with a queue, by BullMQ', async () => {
  const lines = commands.find(([line]) => line?.endsWith('node worker.mjs')) ?? [];
  await run('npm install --save-dev bullmq@5');
  for (const line of lines) expect(await run(line)).toContain(' 0 findings');
  const text = readFileSync(join(project, 'worker.mjs'), 'utf8');
  const wrong = text.replace('request_id: job.id', 'request_id: crypto.randomUUID()');
  writeFileSync(join(project, 'worker.mjs'), wrong);
  const [first = ''] = lines;
  await expect(run(first.replace('throttle,', ''))).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/FOUND {2}CLIENT-5 {2}lost_response at send \d, attempt 1/),
  });
});

recipe('go', 'Go', () => run('GO111MODULE=off go test sms_test.go'));

recipe('curl', 'curl', () =>
  withServer('--clock manual', async (here, lines) => {
    let reply = '';
    for (const line of lines) reply = await run(here(line));
    expect(reply).toMatch(/"status":"delivered"/);
  }),
);

/** Runs the commands of a block that starts a server, with that server's URLs and key. */
async function withServer(
  start: string,
  act: (here: (line: string) => string, lines: readonly string[]) => Promise<void>,
): Promise<void> {
  const [first = '', ...lines] = commands.find(([line]) => line?.includes(start)) ?? [];
  const server = await ServedProcess.startCommand(project, first, project);
  const key = server.ready.accounts[0]?.api_key ?? '';
  try {
    await act((line) => `KEY=${key}; ${withUrlsOf(server, line)}`, lines);
  } finally {
    await server.stop();
  }
}
