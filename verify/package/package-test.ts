/**
 * `npm run test:package`: tests the package as a user gets it. Packs the project, installs the
 * tarball in an empty project with the README's commands and only the registry. There it compiles
 * and runs the snippets, under Vitest and Jest too, uses `serve`, `conform`, `rules`,
 * `assumptions` and `bench`, and runs the package linters. Ends with "N passed, N failed".
 */

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { routeOf } from '../../src/operations/table.ts';
import { blocksOf, root } from '../testkit/doc-commands.ts';
import { ServedProcess } from '../testkit/served-process.ts';
import { recipeSteps } from './recipes.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-package-'));
const project = join(folder, 'project');
const { version, devDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as { readonly version: string; readonly devDependencies: Readonly<Record<string, string>> };
const tarball = `smstwin-${version}.tgz`;

function run(command: string, cwd: string): string {
  return execFileSync('sh', ['-c', command], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** The first snippet of a page that contains `marker`. */
function snippet(page: string, marker: string): string {
  const isCode = (language: string) => ['ts', 'js', 'yaml'].includes(language);
  const found = blocksOf(page).find((one) => isCode(one.language) && one.text.includes(marker));
  if (found === undefined) throw new Error(`${page} has no snippet with ${marker}`);
  return found.text;
}

/** Uses a YAML world file, because the YAML parser is bundled. */
async function servesByNpx(): Promise<void> {
  writeFileSync(join(project, 'world.yaml'), snippet('docs/world-files.md', 'my-own-key'));
  const line = 'npx smstwin serve --world world.yaml';
  const served = await ServedProcess.byCommand(folder, line, project);
  const get = async (path: string) => (await fetch(`${served.controlUrl}${path}`)).text();
  const health = await get(routeOf('simulator.health').path);
  const page = await get('/');
  await served.stop();
  if (health !== '{"status":"ok"}') throw new Error(`health: ${health}`);
  if (!page.includes('<script')) throw new Error(`the dashboard: ${page}`);
}

const bundled = [
  ...['commander', 'yaml', 'hyper-express', 'autocannon', 'preact', 'prom-client'],
  ...['libphonenumber-js', 'lru-cache', 'xstate'],
];

function checkBundled(): void {
  const installed = bundled.filter((name) => existsSync(join(project, 'node_modules', name)));
  if (installed.length > 0) throw new Error(`installed with the package: ${installed}`);
  const notices = readFileSync(
    join(project, 'node_modules/smstwin/dist/THIRD-PARTY-NOTICES.txt'),
    'utf8',
  );
  const missing = bundled.filter((name) => !new RegExp(`^${name} \\d`, 'm').test(notices));
  if (missing.length > 0) throw new Error(`without a licence notice: ${missing}`);
  const shipped = readdirSync(join(project, 'node_modules/smstwin/docs'));
  if (shipped.includes('screenshots')) throw new Error('the screenshots are shipped');
}

function requires(): void {
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
  run(
    'npx tsc --module node16 --target es2022 --strict b.cts && node a.cjs && node b.cjs',
    project,
  );
}

function checkWithoutDefects(): void {
  const dist = join(project, 'node_modules/smstwin/dist');
  const names = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  const scripts = names.filter((name) => name.endsWith('.js'));
  const planted = scripts.filter((name) =>
    readFileSync(join(dist, name), 'utf8').includes('limit-per-key-received'),
  );
  if (planted.length > 0) throw new Error(`defects are shipped: ${planted}`);
  run('npx smstwin serve --defect limit-119 2>&1 | grep -q "unknown option"', project);
}

const steps: readonly (readonly [string, () => unknown])[] = [
  ['npm pack builds the tarball', () => run(`npm pack --pack-destination ${folder}`, root)],
  [
    'the tarball installs in an empty project with nothing else, as the README says',
    () => {
      mkdirSync(project);
      copyFileSync(join(folder, tarball), join(project, tarball));
      run(`npm init -y && npm install ./${tarball}`, project);
    },
  ],
  ['what is bundled is not installed, and its licences are shipped', checkBundled],
  ['the wrong servers are not shipped', checkWithoutDefects],
  [
    'no override and no git dependency was needed',
    () => {
      const lock = readFileSync(join(project, 'package-lock.json'), 'utf8');
      if (/git\+|github:/.test(lock)) throw new Error('the lockfile names a git address');
    },
  ],
  [
    'the TypeScript of the README and the docs compiles and runs',
    () => {
      const versions = ['typescript', '@types/node', 'vitest'].map(
        (name) => `'${name}@${devDependencies[name]}'`,
      );
      run(`npm install --save-dev ${versions.join(' ')}`, project);
      writeFileSync(join(project, 'readme.mts'), snippet('README.md', "from 'smstwin'"));
      writeFileSync(join(project, 'docs.mts'), snippet('docs/embedding.md', "from 'smstwin'"));
      writeFileSync(
        join(project, 'fixture.test.mts'),
        snippet('docs/embedding.md', "'smstwin/vitest'"),
      );
      run('npx tsc --module nodenext --target es2022 --strict *.mts', project);
      run(
        'npx tsc --module preserve --moduleResolution bundler --target es2022 --strict --noEmit --skipLibCheck *.mts',
        project,
      );
      run('node readme.mjs && node docs.mjs | grep -q delivered', project);
    },
  ],
  ['CommonJS: require and a .cts file', requires],
  ['the Vitest fixture runs', () => run('npx vitest run --root . fixture.test.mts', project)],
  ...recipeSteps(project, (command) => run(command, project)),
  ['npx smstwin serve starts with a world in YAML, serves the dashboard and stops', servesByNpx],
  [
    'npx smstwin conform, assumptions and rules run',
    () =>
      run(
        'npx smstwin conform SEND-3 && npx smstwin rules && npx smstwin assumptions --json && npx smstwin bench --help',
        project,
      ),
  ],
  [
    'npx smstwin bench draws its report',
    () => {
      const flags = '--scenario throttled --duration 100ms --rounds 1 --warm-up 1 --held 1000';
      run(`npx smstwin bench ${flags} --report html=b.html || [ $? -eq 8 ]`, project);
      const report = readFileSync(join(project, 'b.html'), 'utf8');
      if (!report.includes('<svg')) throw new Error('the report has no plots');
    },
  ],
  [
    'the README measures (8: the load generator had no core to itself; no figure is given then)',
    () => run('npm run bench -- --scenario throttled --duration 2s || [ $? -eq 8 ]', root),
  ],
  ['publint finds nothing', () => run(`npx publint --strict ${folder}/smstwin-*.tgz`, root)],
  ['are the types wrong? finds nothing', () => run(`npx attw ${folder}/smstwin-*.tgz`, root)],
];

let failed = 0;
for (const [name, step] of steps) {
  try {
    await step();
  } catch (error) {
    failed++;
    const {
      stdout = '',
      stderr = '',
      message = '',
    } = error as Partial<Record<'stdout' | 'stderr' | 'message', string>>;
    console.error(`failed: ${name}\n${message}\n${stdout}${stderr}`);
    if (name.startsWith('npm pack') || name.startsWith('the tarball')) break;
  }
}
rmSync(folder, { recursive: true });
console.log(`${steps.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
