/**
 * `npm run test:platforms`: the packed tarball on each supported version of Node, which comes from
 * the npm package `node`: an empty project, the time from its installation to the first 202, and
 * `require`; then Bun, Deno and ts-jest. Slow, as it loads 600 MB.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { root, shell } from '../testkit/doc-commands.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { sendPaths } from '../testkit/twin/request.ts';
import { emptyProject, manifest, packed, tarball } from './packed.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-platforms-'));
afterAll(() => rmSync(folder, { recursive: true }));
const majors = [...manifest.engines.node.matchAll(/\^(\d+)/g)].map(([, major = '']) => major);

/** `path`: folders of programs that come first. */
function run(command: string, cwd: string, path = ''): Promise<string> {
  return shell(command, { PATH: `${path}${process.env['PATH']}` }, cwd);
}

/** Serves by a command line, sends, and returns which server it was. */
async function firstSend(project: string, serve: string): Promise<string> {
  const served = await ServedProcess.startCommand(folder, serve, project);
  const { base_url: url, accounts } = served.ready;
  const [account] = accounts;
  const reply = await fetch(`${url}${sendPaths.send}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account?.api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: '+12025550123', from: account?.sims[0]?.number, message: 'Hello' }),
  });
  await served.stop();
  expect(reply.status).toBe(202);
  return served.errors.includes('Node') ? 'its own server' : 'the native server';
}

test.each(majors)('Node %s installs it, serves and conforms', async (major) => {
  const home = emptyProject(folder, `node-${major}`);
  await run(`npm install node@${major}`, home);
  const path = `${join(home, 'node_modules/node/bin')}:`;
  const project = emptyProject(folder, `project-${major}`);
  const startMs = performance.now();
  await run(`npm install ${packed}`, project, path);
  const server = await firstSend(project, `env PATH=${path}$PATH npx smstwin serve`);
  const tookMs = performance.now() - startMs;
  const script = "require('smstwin').createSimulator().then((sim) => sim.close())";
  await run(`node -e "${script}"`, project, path);
  await run('npx smstwin conform SEND-3', project, path);
  const version = (await run('node --version', home, path)).trim();
  // Printed only: a busy machine takes longer.
  console.log(`Node ${version}: first 202 after ${(tookMs / 1_000).toFixed(1)} s, on ${server}`);
});

test.each([
  ['bun', ''],
  ['deno', 'run -A'],
])('%s conforms', async (name, flags) => {
  const project = emptyProject(folder, name);
  await run(`npm install ${name} ${packed}`, project);
  const command = `npx ${name} ${flags} node_modules/smstwin/bin/smstwin.js`;
  const server = await firstSend(project, `${command} serve`);
  await run(`${command} conform`, project);
  const [version] = /\d+\.\d+\.\d+/.exec(await run(`npx ${name} --version`, project)) ?? [];
  console.log(`${name} ${version}: conforms, on ${server}`);
});

test('ts-jest, without a flag', async () => {
  const project = emptyProject(folder, 'ts-jest');
  await run(`npm install ${packed} jest ts-jest typescript@5 @types/jest @types/node@22`, project);
  const config = { preset: 'ts-jest', testEnvironment: 'node' };
  writeFileSync(join(project, 'jest.config.json'), JSON.stringify(config));
  const options = { strict: true, esModuleInterop: true, target: 'es2022', module: 'commonjs' };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
  const text = `import { createSimulator } from 'smstwin';
    test('serves', async () => {
      const sim = await createSimulator({ clock: 'manual' });
      const { baseUrl } = await sim.listen();
      expect((await fetch(baseUrl)).status).toBe(404);
      await sim.close();
    });`;
  writeFileSync(join(project, 'a.test.ts'), text);
  await run('npx jest', project);
});

test('the same sources make the same bytes', async () => {
  const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
  await shell(`npm pack --pack-destination ${folder}`);
  expect(digest(join(folder, tarball))).toBe(digest(packed));
});

test('npm would publish it without a warning', async () => {
  const printed = await shell(
    'npm publish --dry-run --ignore-scripts --tag dry-run 2>&1',
    {},
    root,
  );
  expect(printed).not.toMatch(/npm warn publish (?!This command requires you to be logged in)/);
});
