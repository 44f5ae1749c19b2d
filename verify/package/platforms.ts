/**
 * `npm run test:platforms`: the packed tarball on each supported version of Node, which comes from
 * the npm package `node`: an empty project, the time from its installation to the first 202, and
 * `require`; then Bun, Deno and ts-jest. Ends with "N passed, N failed". Slow, as it loads 600 MB.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../testkit/doc-commands.ts';
import { ServedProcess } from '../testkit/served-process.ts';

const longestMs = 15_000;
const folder = mkdtempSync(join(tmpdir(), 'smstwin-platforms-'));
const { version, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly engines: { readonly node: string };
};
const tarball = join(folder, `smstwin-${version}.tgz`);
const majors = [...engines.node.matchAll(/\^(\d+)/g)].map(([, major = '']) => major);

function run(command: string, cwd: string, path = ''): string {
  const env = { ...process.env, PATH: `${path}${process.env['PATH']}` };
  return execFileSync('sh', ['-c', `${command} 2>&1`], { cwd, env, encoding: 'utf8' });
}

function emptyProject(name: string): string {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n');
  return project;
}

/** Serves by a command line, sends, and returns which server it was. */
async function firstSend(project: string, serve: string): Promise<string> {
  const served = await ServedProcess.byCommand(folder, serve, project);
  const { base_url: url, accounts } = served.ready;
  const [account] = accounts;
  const reply = await fetch(`${url}/api/v1/sms/send/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account?.api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: '+12025550123', from: account?.sims[0]?.number, message: 'Hello' }),
  });
  await served.stop();
  if (reply.status !== 202) throw new Error(`the send got ${reply.status}`);
  return served.errors.includes('Node') ? 'its own server' : 'the native server';
}

async function onNode(major: string): Promise<string> {
  const home = emptyProject(`node-${major}`);
  run(`npm install node@${major}`, home);
  const path = `${join(home, 'node_modules/node/bin')}:`;
  const project = emptyProject(`project-${major}`);
  const startMs = performance.now();
  run(`npm install ${tarball}`, project, path);
  const server = await firstSend(project, `env PATH=${path}$PATH npx smstwin serve`);
  const tookMs = performance.now() - startMs;
  const script = "require('smstwin').createSimulator().then((sim) => sim.close())";
  run(`node -e "${script}"`, project, path);
  run('npx smstwin conform SEND-3', project, path);
  const figure = `Node ${run('node --version', home, path).trim()}: first 202 after ${(tookMs / 1_000).toFixed(1)} s`;
  if (tookMs > longestMs) throw new Error(`${figure}, more than ${longestMs / 1_000} s`);
  return `${figure}, on ${server}`;
}

async function onOtherRuntime(name: string, flags: string): Promise<string> {
  const project = emptyProject(name);
  run(`npm install ${name} ${tarball}`, project);
  const command = `npx ${name} ${flags} node_modules/smstwin/bin/smstwin.js`;
  const server = await firstSend(project, `${command} serve`);
  run(`${command} conform`, project);
  const [version] = /\d+\.\d+\.\d+/.exec(run(`npx ${name} --version`, project)) ?? [];
  return `${name} ${version}: conforms, on ${server}`;
}

function tsJest(): string {
  const project = emptyProject('ts-jest');
  run(`npm install ${tarball} jest ts-jest typescript@5 @types/jest @types/node@22`, project);
  const config = { preset: 'ts-jest', testEnvironment: 'node' };
  writeFileSync(join(project, 'jest.config.json'), JSON.stringify(config));
  const options = { strict: true, esModuleInterop: true, target: 'es2022', module: 'commonjs' };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
  const test = `import { createSimulator } from 'smstwin';
    test('serves', async () => {
      const sim = await createSimulator({ clock: 'manual' });
      const { baseUrl } = await sim.listen();
      expect((await fetch(baseUrl)).status).toBe(404);
      await sim.close();
    });`;
  writeFileSync(join(project, 'a.test.ts'), test);
  run('npx jest', project);
  return 'ts-jest, without a flag';
}

/** The same sources make the same bytes. */
function packsTheSame(): string {
  const digest = () => createHash('sha256').update(readFileSync(tarball)).digest('hex');
  const first = digest();
  run(`npm pack --pack-destination ${folder}`, root);
  if (digest() !== first) throw new Error('the tarball differs when it is packed again');
  const printed = run('npm publish --dry-run --ignore-scripts --tag dry-run', root);
  if (/npm warn publish (?!This command requires you to be logged in)/.test(printed))
    throw new Error(printed);
  return `packed twice, equal: ${first.slice(0, 12)}`;
}

run(`npm pack --pack-destination ${folder}`, root);
let failed = 0;
const steps = [
  ...majors.map((major) => () => onNode(major)),
  () => onOtherRuntime('bun', ''),
  () => onOtherRuntime('deno', 'run -A'),
  tsJest,
  packsTheSame,
];
for (const step of steps) {
  try {
    console.log(`passed: ${await step()}`);
  } catch (error) {
    failed += 1;
    const { message, stdout = '' } = error as { message: string; stdout?: string };
    console.error(`failed: ${message}\n${stdout}`);
  }
}
rmSync(folder, { recursive: true });
console.log(`${steps.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
