/**
 * `npm run test:binary`: builds the executable, and runs it in a root that holds only it and the
 * system's libraries that Node needs, as a distroless image does. Needs root, for chroot.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, test } from 'vitest';
import { root, shell } from '../testkit/doc-commands.ts';

const built = join(root, 'build/smstwin-linux-x64');
const longestStartMs = 400;
const folder = mkdtempSync(join(tmpdir(), 'smstwin-root-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** An empty root with the executable. */
function newRoot(name: string, withTmp = true): string {
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

const plain = newRoot('plain');

/** Runs the executable in the plain root, without an environment. */
function run(args: string): Promise<string> {
  return shell(`env -i /usr/sbin/chroot ${plain} /smstwin ${args}`);
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

test(`it listens after ${longestStartMs} ms at best, natively`, async () => {
  const times: number[] = [];
  for (let n = 0; n < 5; n++) {
    const started = await serve(plain);
    await stop(started);
    expect(started.lines).toEqual([]);
    times.push(started.startMs);
  }
  console.log(`it listens after ${times.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  expect(Math.min(...times)).toBeLessThanOrEqual(longestStartMs);
});

test('it conforms', async () => {
  expect(await run('conform')).toContain(' rules passed');
});

test.each(['serve', 'conform', 'bench', 'referee', 'explore', 'record', 'fleet', 'replay'])(
  'it has the command %s',
  async (name) => {
    await run(`${name} --help`);
  },
);

test('bench starts its servers', async () => {
  await run('bench --scenario limit-audit --duration 1s');
});

test('the licences of all that is inside are in the file beside it', () => {
  const text = readFileSync(`${built}-licences.txt`, 'utf8');
  const names = ['The smstwin authors', '\nzod 4', '\nuWebSockets.js', '\nNode v', 'OpenSSL'];
  expect(names.filter((name) => !text.includes(name))).toEqual([]);
});

test.each([
  ['noexec', true, 'mount -t tmpfs -o noexec tmpfs ROOT/tmp'],
  ['read-only', false, 'mount --bind ROOT ROOT && mount -o remount,bind,ro ROOT'],
])("%s: Node's own server serves, and one line says so", async (name, withTmp, before) => {
  const place = newRoot(name, withTmp);
  const started = await serve(place, before.replaceAll('ROOT', place));
  await stop(started);
  expect(started.lines).toEqual([expect.stringContaining("Serving with Node's own HTTP server")]);
});
