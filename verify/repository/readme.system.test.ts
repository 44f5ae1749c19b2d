/**
 * The README and the pages in `docs/` tell the truth: every command and snippet in them is executed here, as
 * printed but for ports and file names. A line that nothing here knows fails the test.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { parseSettings } from '../../src/config/settings.ts';
import type { ReadyFile } from '../../src/simulator.ts';

// Whole commands, several at once, on whatever machine runs the tests.
vi.setConfig({ testTimeout: 60_000 });

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'smstwin-readme-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

const packageTest = readFileSync(join(root, 'verify/package/package-test.ts'), 'utf8');
const vitestFixture = "'smstwin/vitest'";

interface Block {
  readonly language: string;
  readonly text: string;
}

function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', body = '']) => ({
    language,
    text: body,
  }));
}

const readme = blocksOf('README.md');
const commands = readme
  .filter(({ language }) => language === 'sh')
  .flatMap(({ text }) => text.trim().split('\n'));

/** Runs a command line as the README prints it. Resolves to what it printed; rejects unless it ends with 0. */
async function shell(line: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const options = { cwd: root, env: { ...process.env, ...env } };
  const { stdout } = await promisify(execFile)('sh', ['-c', line], options);
  return stdout;
}

/** Starts a server with the README's command, on ports of its own. */
async function serve(line: string): Promise<{ served: ReadyFile; stop: () => Promise<void> }> {
  const readyFile = join(folder, `ready-${children.length}.json`);
  const separator = line.includes(' -- ') ? '' : ' --';
  const command = `${line}${separator} --port 0 --control-port 0 --ready-file ${readyFile}`;
  const child = spawn('sh', ['-c', `exec ${command}`], {
    cwd: root,
    stdio: 'ignore',
    detached: true,
  });
  children.push(child);
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await vi.waitUntil(() => existsSync(readyFile), { timeout: 30_000, interval: 50 });
  const served = JSON.parse(readFileSync(readyFile, 'utf8')) as ReadyFile;
  const stop = async () => {
    process.kill(served.pid, 'SIGTERM');
    await ended;
  };
  return { served, stop };
}

function command(start: string): string {
  const found = commands.filter((line) => line.startsWith(start));
  expect(found, `the README has one command that starts with ${start}`).toHaveLength(1);
  return found[0] ?? '';
}

function onPortsOf(line: string, served: ReadyFile): string {
  return line
    .replaceAll('http://127.0.0.1:8080', served.base_url)
    .replaceAll('http://127.0.0.1:8081', served.control_url ?? '');
}

test('the README has no command that nothing runs', () => {
  const ci = readFileSync(join(root, '.ci/run'), 'utf8');
  const runByCi = ['npm ci', 'npm run test:all'];
  for (const line of runByCi) expect(ci).toContain(`quietly ${line}`);
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  expect(scripts['test']?.startsWith(scripts['test:all'] ?? '?')).toBe(true);
  const runHere = [
    'npm start',
    'curl -sS http://127.0.0.1:8080/api/v1/sms/send/ ',
    'curl -sS http://127.0.0.1:8080/api/v1/sms/$MESSAGE_ID/ ',
    'curl -sS http://127.0.0.1:8081/control/clock/advance ',
    'curl -sS http://127.0.0.1:8081/control/faults ',
    'npm start -- --journal ',
    'npm run smstwin -- replay ',
    'npm run conform',
    'npm run conform -- http://127.0.0.1:8080 ',
  ];
  // Half a minute of load: run with the package.
  const runWithPackage = 'npm run bench -- --scenario throttled --duration 2s';
  expect(packageTest).toContain(runWithPackage);
  for (const line of commands) {
    const isKnown =
      line === runWithPackage ||
      line === 'npm test' ||
      runByCi.includes(line) ||
      runHere.some((start) => line === start || line.startsWith(start));
    expect(isKnown, line).toBe(true);
  }
});

test('the README takes a newcomer from npm start to delivered, through a day and a lost answer', async () => {
  const { served, stop } = await serve('npm start -- --clock manual');
  const key = { KEY: served.accounts[0]?.api_key ?? '' };
  const send = onPortsOf(command('curl -sS http://127.0.0.1:8080/api/v1/sms/send/ '), served);
  const read = onPortsOf(
    command('curl -sS http://127.0.0.1:8080/api/v1/sms/$MESSAGE_ID/ '),
    served,
  );
  const advance = onPortsOf(
    command('curl -sS http://127.0.0.1:8081/control/clock/advance '),
    served,
  );
  const fault = onPortsOf(command('curl -sS http://127.0.0.1:8081/control/faults '), served);

  const message = JSON.parse(await shell(send, key)) as Record<string, string>;
  expect(message['status']).toBe('queued');
  const before = Date.parse(message['created_at'] ?? '');
  const advanced = JSON.parse(await shell(advance)) as { now: string };
  expect(Date.parse(advanced.now)).toBe(before + 24 * 60 * 60 * 1000);
  const status = await shell(read, { ...key, MESSAGE_ID: message['message_id'] ?? '' });
  expect(JSON.parse(status)).toMatchObject({ status: 'delivered' });

  await shell(fault);
  await shell(send, key);
  await shell(send, key);
  // curl's exit code 52: the server closed without an answer.
  await expect(shell(send, key)).rejects.toMatchObject({ code: 52 });
  const state = (await (await fetch(`${served.control_url}/control/messages`)).json()) as {
    messages: unknown[];
  };
  expect(state.messages).toHaveLength(4);
  await stop();
});

test('the README records a run and replays it', async () => {
  const journal = join(folder, 'run.ndjson');
  const onFile = (line: string) => line.replace('run.ndjson', journal);
  const { served, stop } = await serve(onFile(command('npm start -- --journal ')));
  const send = onPortsOf(command('curl -sS http://127.0.0.1:8080/api/v1/sms/send/ '), served);
  await shell(send, { KEY: served.accounts[0]?.api_key ?? '' });
  await stop();
  expect(await shell(onFile(command('npm run smstwin -- replay ')))).toMatch(
    /1 input played again: every reply is the same/,
  );
});

test('the README checks a simulator of its own, and one that runs', async () => {
  expect(await shell(`${command('npm run conform -- http://127.0.0.1:8080 ')} --help`)).toContain(
    'conform',
  );
  const { served, stop } = await serve('npm start -- --clock manual');
  const line = onPortsOf(command('npm run conform -- http://127.0.0.1:8080 '), served);
  expect(await shell(`${line} SEND-3`)).toMatch(/passed/);
  await stop();
  const own = commands.filter((known) => known === 'npm run conform');
  expect(await shell(`${own[0]} -- SEND-3`)).toMatch(/passed/);
});

test.each(['README.md', 'docs/embedding.md'])('the TypeScript in %s runs', async (page) => {
  const snippets = blocksOf(page).filter(
    ({ language, text }) => language === 'ts' && !text.includes(vitestFixture),
  );
  expect(snippets.length).toBeGreaterThan(0);
  for (const [index, { text }] of snippets.entries()) {
    const file = join(root, `src/readme-${process.pid}-${index}.mts`);
    writeFileSync(file, text.replace("'smstwin'", JSON.stringify(join(root, 'src/simulator.ts'))));
    try {
      const output = await shell(`node --import tsx ${file}`, { NODE_OPTIONS: '' });
      expect(output).not.toContain('Error');
    } finally {
      rmSync(file);
    }
  }
});

test("the snippet with the Vitest fixture is run with the package, where Vitest is a user's own", () => {
  const snippets = blocksOf('docs/embedding.md').filter(({ text }) => text.includes(vitestFixture));
  expect(snippets).toHaveLength(1);
  expect(packageTest).toContain(`snippet('docs/embedding.md', ${vitestFixture})`);
});

test('the world file of the docs is a world', () => {
  const [world] = blocksOf('docs/world-files.md').filter(({ language }) => language === 'yaml');
  expect(world).toBeDefined();
  expect(parseSettings({ world: parse(world?.text ?? '') }).world.accounts).toHaveLength(2);
});

test('every page that the README links to is there', () => {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const links = [...text.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => link);
  expect(links.length).toBeGreaterThan(5);
  for (const link of links) expect(existsSync(join(root, link)), link).toBe(true);
  const pages = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'));
  expect(pages.filter((page) => !text.includes(`docs/${page}`))).toEqual([]);
});
