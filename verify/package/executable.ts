/**
 * `npm run test:binary`: builds the executable, and runs it in a root that holds only it and the
 * system's libraries that Node needs, as a distroless image does. Needs root, for chroot. Ends with
 * "N passed, N failed".
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../testkit/doc-commands.ts';

const built = join(root, 'build/smstwin-linux-x64');
const longestStartMs = 400;
const folder = mkdtempSync(join(tmpdir(), 'smstwin-root-'));

/** An empty root with the executable. */
function newRoot(name: string, withTmp: boolean): string {
  const place = join(folder, name);
  mkdirSync(place);
  copyFileSync(built, join(place, 'smstwin'));
  const libraries = execFileSync('ldd', [built], { encoding: 'utf8' });
  for (const [path] of libraries.matchAll(/\/\S+\.so\S*/g)) {
    mkdirSync(join(place, dirname(path)), { recursive: true });
    copyFileSync(path, join(place, path));
  }
  if (withTmp) mkdirSync(join(place, 'tmp'), { mode: 0o777 });
  return place;
}

interface Started {
  readonly child: ChildProcess;
  readonly startMs: number;
  readonly lines: readonly string[];
}

/** Serves in a root; `before` runs there first, in mounts of its own. */
function serve(place: string, before = ':'): Promise<Started> {
  const flags = '--port 0 --control-port 0';
  const line = `${before} && exec /usr/sbin/chroot ${place} /smstwin serve ${flags}`;
  const startedMs = performance.now();
  const child = spawn('unshare', ['-m', 'sh', '-c', line], { env: {} });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (text) => lines.push(text));
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(lines.join('\n'))));
    child.stdout.once('data', () => {
      resolve({ child, startMs: performance.now() - startedMs, lines });
    });
  });
}

async function stop({ child }: Started): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function starts(): Promise<string> {
  const place = newRoot('plain', true);
  const times: number[] = [];
  for (let n = 0; n < 5; n++) {
    const started = await serve(place);
    await stop(started);
    if (started.lines.length > 0) throw new Error(started.lines.join('\n'));
    times.push(started.startMs);
  }
  const best = Math.min(...times);
  const all = times.map((time) => time.toFixed(0)).join(', ');
  const text = `it listens after ${best.toFixed(0)} ms at best of ${all}, natively`;
  if (best > longestStartMs) throw new Error(`${text}; expected ${longestStartMs}`);
  return text;
}

function conforms(): string {
  const options = { encoding: 'utf8', env: {} } as const;
  const printed = execFileSync(
    '/usr/sbin/chroot',
    [join(folder, 'plain'), '/smstwin', 'conform'],
    options,
  );
  return printed.split('\n').find((line) => line.includes(' rules passed')) ?? printed;
}

function knowsItsCommands(): string {
  const commands = ['serve', 'conform', 'bench', 'referee', 'explore', 'record', 'fleet', 'replay'];
  const run = (...args: string[]) =>
    execFileSync('/usr/sbin/chroot', [join(folder, 'plain'), '/smstwin', ...args], { env: {} });
  for (const name of commands) run(name, '--help');
  run('bench', '--scenario', 'limit-audit', '--duration', '1s');
  return `${commands.join(', ')} are there, and bench starts its servers`;
}

function hasItsLicences(): string {
  const text = readFileSync(`${built}-licences.txt`, 'utf8');
  const names = ['The smstwin authors', '\nzod 4', '\nuWebSockets.js', '\nNode v', 'OpenSSL'];
  const missing = names.filter((name) => !text.includes(name));
  if (missing.length > 0) throw new Error(`the licences lack ${missing}`);
  return 'the licences of all that is inside are in the file beside it';
}

async function fallsBack(name: string, withTmp: boolean, before?: string): Promise<string> {
  const started = await serve(
    newRoot(name, withTmp),
    before?.replaceAll('ROOT', join(folder, name)),
  );
  await stop(started);
  const [line = ''] = started.lines;
  const isTold = started.lines.length === 1 && line.includes("Serving with Node's own HTTP server");
  if (!isTold) throw new Error(`${name}: ${started.lines.join('\n') || 'no line'}`);
  return `${name}: ${line}`;
}

const noexec = 'mount -t tmpfs -o noexec tmpfs ROOT/tmp';
const readOnly = 'mount --bind ROOT ROOT && mount -o remount,bind,ro ROOT';
const steps: readonly (() => string | Promise<string>)[] = [
  starts,
  conforms,
  knowsItsCommands,
  hasItsLicences,
  () => fallsBack('noexec', true, noexec),
  () => fallsBack('read-only', true, readOnly),
];
let failed = 0;
for (const step of steps) {
  try {
    console.log(`passed: ${await step()}`);
  } catch (error) {
    failed += 1;
    const { message, stdout } = error as { message: string; stdout?: string };
    console.error(`failed: ${message}\n${stdout ?? ''}`);
  }
}
rmSync(folder, { recursive: true });
console.log(`${steps.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
