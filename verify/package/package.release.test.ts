/**
 * `npm run test:package`: the package as a user gets it. Installs the tarball in an empty project
 * with the README's commands and only the registry. There it compiles and runs the snippets, under
 * Vitest too, uses `serve`, `conform`, `rules`, `assumptions` and `bench`, and runs the package
 * linters.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routeOf } from '#src/operations/table.ts';
import { fencedBlocksOf, root, shell } from '../testkit/doc-commands.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { ofCheckout, packed, tarball } from './packed.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-package-'));
const project = join(folder, 'project');
const run = (command: string) => shell(command, {}, project);

beforeAll(async () => {
  mkdirSync(project);
  copyFileSync(packed, join(project, tarball));
  await run(`npm init -y && npm install ./${tarball}`);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The first snippet of a page that contains `marker`. */
function snippet(page: string, marker: string): string {
  const isCode = (language: string) => ['ts', 'js', 'yaml'].includes(language);
  const found = fencedBlocksOf(page).find(
    (one) => isCode(one.language) && one.text.includes(marker),
  );
  if (found === undefined) throw new Error(`${page} has no snippet with ${marker}`);
  return found.text;
}

/** The blocks of a page that name no language. */
function snippetsIn(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```\n(.*?)^```$/gms)].map(([, body = '']) => body);
}

const bundled = [
  'commander',
  'yaml',
  'hyper-express',
  'autocannon',
  'preact',
  'prom-client',
  'libphonenumber-js',
  'lru-cache',
  'xstate',
];

test('what is bundled is not installed, and its licences are shipped', () => {
  const modules = join(project, 'node_modules');
  expect(bundled.filter((name) => existsSync(join(modules, name)))).toEqual([]);
  const notices = readFileSync(join(modules, 'smstwin/dist/THIRD-PARTY-NOTICES.txt'), 'utf8');
  expect(bundled.filter((name) => !new RegExp(`^${name} \\d`, 'm').test(notices))).toEqual([]);
});

test('neither the screenshots nor the wrong servers are shipped', async () => {
  const shipped = join(project, 'node_modules/smstwin');
  expect(readdirSync(join(shipped, 'docs'))).not.toContain('screenshots');
  const names = readdirSync(join(shipped, 'dist'), { recursive: true, encoding: 'utf8' });
  const planted = names
    .filter((name) => name.endsWith('.js'))
    .filter((name) =>
      readFileSync(join(shipped, 'dist', name), 'utf8').includes('limit-per-key-received'),
    );
  expect(planted).toEqual([]);
  await run('npx smstwin serve --defect limit-119 2>&1 | grep -q "unknown option"');
});

test('it is small: below 2 MB, and below 8 unpacked', async () => {
  expect(statSync(packed).size).toBeLessThan(2_000_000);
  const shipped = join(project, 'node_modules/smstwin');
  const files = readdirSync(shipped, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(shipped, name)))
    .filter((file) => file.isFile());
  expect(files.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(8_000_000);
});

test('no override and no git dependency was needed', () => {
  const lock = readFileSync(join(project, 'package-lock.json'), 'utf8');
  expect(lock).not.toMatch(/git\+|github:/);
});

test('the TypeScript of the README and the docs compiles and runs', async () => {
  await run(`npm install --save-dev ${ofCheckout('typescript', '@types/node', 'vitest')}`);
  writeFileSync(join(project, 'sms.test.mts'), snippet('README.md', 'sms.test.ts'));
  writeFileSync(join(project, 'agents.test.mts'), snippet('docs/agents.md', 'agents.test.ts'));
  writeFileSync(join(project, 'docs.mts'), snippet('docs/embedding.md', "from 'smstwin'"));
  const fixture = snippet('docs/embedding.md', "'smstwin/vitest'");
  writeFileSync(join(project, 'fixture.test.mts'), fixture);
  await run('npx tsc --module nodenext --target es2022 --strict *.mts');
  await run(
    'npx tsc --module preserve --moduleResolution bundler --target es2022 --strict --noEmit --skipLibCheck *.mts',
  );
  await run('node docs.mjs | grep -q delivered');
});

test('CommonJS: require and a .cts file', async () => {
  const use = `
    const sim = await createSimulator({ clock: 'manual' });
    await sim.listen({ control: {} });
    const page = await fetch(sim.controlUrl);
    if (page.status !== 200) throw new Error('the dashboard: ' + page.status);
    await sim.close();`;
  const body = `(async () => {${use}})();\n`;
  writeFileSync(join(project, 'a.cjs'), `const { createSimulator } = require('smstwin');\n${body}`);
  const found =
    "import { createSimulator } from 'smstwin';\nimport { explore } from 'smstwin/explore';\n";
  writeFileSync(join(project, 'b.cts'), `${found}void explore;\n${body}`);
  await run('npx tsc --module node16 --target es2022 --strict b.cts && node a.cjs && node b.cjs');
});

test('the Vitest fixture runs, and the tasks of the page for agents', async () => {
  await run('npx vitest run --root . fixture.test.mts agents.test.mts');
});

test('the test of the README finds what the README prints, and passes once it is mended', async () => {
  const printed = snippetsIn('README.md').find((text) => text.startsWith('CLIENT-5'));
  const [rule = '', what = ''] = printed?.split('\n') ?? [];
  const found = await run('npx vitest run --root . sms.test.mts').catch(({ message }) => message);
  expect(found).toContain(rule);
  for (const part of what.trim().split(/\(.*?\)/)) expect(found).toContain(part.split(' [')[0]);
  const wrong = snippet('README.md', 'sms.test.ts');
  const mended = wrong.replace("message: 'Hello'", "message: 'Hello', request_id: 'order-17'");
  expect(mended).not.toBe(wrong);
  writeFileSync(join(project, 'sms.test.mts'), mended);
  await run('npx vitest run --root . sms.test.mts');
});

test('npx smstwin serve starts with a world in YAML, serves the dashboard and stops', async () => {
  // The YAML parser is bundled.
  writeFileSync(join(project, 'world.yaml'), snippet('docs/world-files.md', 'my-own-key'));
  const line = 'npx smstwin serve --world world.yaml';
  const served = await ServedProcess.startCommand(folder, line, project);
  const get = async (path: string) => (await fetch(`${served.controlUrl}${path}`)).text();
  const health = await get(routeOf('simulator.health').path);
  const page = await get('/');
  await served.stop();
  expect(health).toBe('{"status":"ok"}');
  expect(page).toContain('<script');
});

test('npx smstwin conform, assumptions and rules run', async () => {
  await run('npx smstwin conform SEND-3 && npx smstwin rules');
  await run('npx smstwin assumptions --json && npx smstwin bench --help');
});

test('npx smstwin bench draws its report', async () => {
  const flags = '--scenario throttled --duration 100ms --rounds 1 --warm-up 1 --held 1000';
  await run(`npx smstwin bench ${flags} --report html=b.html || [ $? -eq 8 ]`);
  const report = readFileSync(join(project, 'b.html'), 'utf8');
  // The data of a plot, and the script that draws it.
  expect(report).toContain('data-plot="');
  expect(report).toMatch(/u-wrap/);
});

test('the README measures', async () => {
  // 8: the load generator had no core to itself; no figure is given then.
  const few = '--duration 500ms --rounds 1 --warm-up 1 --held 1000';
  await shell(`npm run bench -- --scenario throttled ${few} || [ $? -eq 8 ]`);
});

test('publint finds nothing', async () => {
  await shell(`npx publint --strict ${packed}`, {}, root);
});

test('are the types wrong? finds nothing', async () => {
  await shell(`npx attw ${packed}`, {}, root);
});
