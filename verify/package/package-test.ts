/**
 * `npm run test:package`: what a user gets. Packs the project, installs the tarball in an empty one with nothing but
 * the registry, compiles and runs the TypeScript of the README there, runs the Vitest fixture and `npx smstwin serve`, and lets the
 * package linters look. Ends with "N passed, N failed".
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'smstwin-package-'));
const project = join(folder, 'project');

function run(command: string, cwd: string): string {
  return execFileSync('sh', ['-c', command], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function snippet(page: string, marker: string): string {
  const text = readFileSync(join(root, page), 'utf8');
  for (const [, body = ''] of text.matchAll(/^```ts\n(.*?)^```$/gms)) {
    if (body.includes(marker)) return body;
  }
  throw new Error(`${page} has no TypeScript with ${marker}`);
}

async function servesByNpx(): Promise<void> {
  const readyFile = join(folder, 'ready.json');
  const argv = [
    'smstwin',
    'serve',
    '--port',
    '0',
    '--control-port',
    '0',
    '--ready-file',
    readyFile,
  ];
  const child = spawn('npx', argv, { cwd: project, stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for (let waits = 0; !existsSync(readyFile); waits++) {
    if (waits > 300) throw new Error('no ready file after 30 s');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const ready = JSON.parse(readFileSync(readyFile, 'utf8')) as { control_url: string; pid: number };
  const health = await (await fetch(`${ready.control_url}/control/health`)).json();
  process.kill(ready.pid, 'SIGTERM');
  await ended;
  if (JSON.stringify(health) !== '{"status":"ok"}')
    throw new Error(`health: ${JSON.stringify(health)}`);
}

const steps: readonly (readonly [string, () => unknown])[] = [
  ['npm pack builds the tarball', () => run(`npm pack --pack-destination ${folder}`, root)],
  [
    'the tarball installs in an empty project with nothing else',
    () =>
      run(
        `mkdir ${project} && cd ${project} && npm init -y && npm install ${folder}/smstwin-*.tgz`,
        folder,
      ),
  ],
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
      const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
        devDependencies: Readonly<Record<string, string>>;
      };
      const versions = ['typescript', '@types/node', 'vitest'].map(
        (name) => `'${name}@${devDependencies[name]}'`,
      );
      run(`npm install --save-dev ${versions.join(' ')}`, project);
      writeFileSync(join(project, 'readme.mts'), snippet('README.md', "from 'smstwin'"));
      writeFileSync(join(project, 'docs.mts'), snippet('docs/embedding.md', "from 'smstwin'"));
      writeFileSync(
        join(project, 'fixture.test.mts'),
        snippet('docs/embedding.md', 'smstwin/vitest'),
      );
      run('npx tsc --module nodenext --target es2022 --strict *.mts', project);
      run(
        'npx tsc --module preserve --moduleResolution bundler --target es2022 --strict --noEmit --skipLibCheck *.mts',
        project,
      );
      run('node readme.mjs && node docs.mjs | grep -q delivered', project);
    },
  ],
  ['the Vitest fixture runs', () => run('npx vitest run --root . fixture.test.mts', project)],
  ['npx smstwin serve starts and stops', servesByNpx],
  [
    'npx smstwin conform, assumptions and rules run',
    () =>
      run(
        'npx smstwin conform SEND-3 && npx smstwin rules && npx smstwin assumptions --json && npx smstwin bench --help',
        project,
      ),
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
