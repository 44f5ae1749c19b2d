/** The command as a process: exit codes, what it prints, the ready file, signals. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, onTestFailed, test } from 'vitest';
import { lockJournal } from '#src/recording/journal/journal-lock.ts';
import type { ReadyFile } from '#src/simulator.ts';
import { bin } from '../testkit/processes/program.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** A started command: `banner` once it serves, `ended` when it is over. */
function start(argv: readonly string[], settings: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [bin, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...settings },
  });
  children.push(child);
  let out = '';
  let error = '';
  child.stderr.on('data', (text) => {
    error += text;
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, out, error }));
  });
  const banner = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (text) => {
      out += text;
      if (/\n\n(SIMs poll|Time does not move[^\n]*\n {2}curl)[^\n]*\n$/.test(out)) resolve(out);
    });
    ended.then((end) => reject(new Error(`ended with ${end.code}: ${end.error}`)));
  });
  banner.catch(() => {});
  return { child, ended, banner };
}

function run(...argv: readonly string[]): Promise<Ended> {
  return start(argv).ended;
}

const anyPorts = ['--port', '0', '--control-port', '0'];

test('a command line that cannot be carried out ends with 2 and a line that names the mistake', async () => {
  const world = join(folder, 'world.json');
  writeFileSync(world, '{"accounts":[{"name":"a","sims":[{"number":"1"}]}],"pol":[]}');
  const journal = join(folder, 'run.ndjson');
  const unlock = lockJournal(journal);
  const ends = await Promise.all([
    run('sevre\n::error::\u001b[2J'),
    run('rules', '--jsn'),
    run('serve', '--world', world),
    run('serve', ...anyPorts, '--journal', journal),
  ]);
  unlock();
  expect(ends.map(({ code, out }) => ({ code, out }))).toEqual(
    ends.map(() => ({ code: 2, out: '' })),
  );
  expect(ends.map(({ error }) => error)).toEqual([
    expect.stringMatching(
      /^smstwin: unknown command 'sevre\\n::error::\\u001b\[2J'; use one of serve, .*\n$/,
    ),
    "smstwin rules: unknown option '--jsn' (Did you mean --json?)\n",
    'smstwin serve: world.json: accounts[0].sims[0].number: expected an E.164 number such as "+12025550101"; got "1"\n' +
      'smstwin serve: world.json: pol: this key is not known here\n',
    `smstwin serve: ${journal}: process ${process.pid} writes this journal; stop it, or record in another file\n`,
  ]);
});

test('help and version are printed with exit code 0', async () => {
  const [help, version] = await Promise.all([run('--help'), run('serve', '--version')]);
  expect(help).toMatchObject({ code: 0, error: '', out: expect.stringContaining('  conform ') });
  expect(version).toEqual({ code: 0, error: '', out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test('too few files that may be open, an unknown command and a misspelt variable are one line each', async () => {
  const few = promisify(execFile)('bash', ['-c', `ulimit -n 20; ${process.execPath} ${bin} serve`]);
  await expect(few).rejects.toMatchObject({
    code: 1,
    stderr: 'smstwin: too many open files; raise the limit, as with ulimit -n 1024\n',
  });
  expect(await run('serv')).toMatchObject({
    code: 2,
    error: expect.stringMatching(/^smstwin: unknown command 'serv' \(Did you mean serve\?\); /),
  });
  expect(await start(['rules'], { SMSTWIN_JSN: '1' }).ended).toMatchObject({
    code: 0,
    error: 'smstwin rules: SMSTWIN_JSN: ignored; no flag has it (did you mean SMSTWIN_JSON?)\n',
  });
});

test('a port in use ends with 3 and one line that names it', async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const address = holder.address();
  const port = typeof address === 'object' && address !== null ? String(address.port) : '';
  const journals = [join(folder, 'in-use-1.ndjson'), join(folder, 'in-use-2.ndjson')] as const;
  const [service, control] = await Promise.all([
    run('serve', '--port', port, '--control-port', '0', '--journal', journals[0]),
    run('serve', '--port', '0', '--control-port', port, '--journal', journals[1]),
  ]);
  holder.close();
  for (const { code, out, error } of [service, control]) {
    expect({ code, out }).toEqual({ code: 3, out: '' });
    expect(error).toMatch(new RegExp(`^smstwin serve: [^\\n]*\\b${port}\\b[^\\n]*\\n$`));
  }
  for (const journal of journals) expect(existsSync(`${journal}.lock`)).toBe(false);
});

test('a foreign file in the place of the certificate ends the process with 2 and one line, and stays', async () => {
  const file = join(folder, 'unready.json');
  const journal = join(folder, 'unready.ndjson');
  writeFileSync(`${file}.ca.pem`, 'mine');
  const { code, out, error } = await run(
    'serve',
    ...anyPorts,
    '--journal',
    journal,
    '--ready-file',
    file,
    '--tls',
    'self-signed',
  );
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(error).toBe(
    `smstwin serve: the certificate of --tls self-signed ${file}.ca.pem: ` +
      'cannot be written: not a certificate of smstwin; move it away, or name another file\n',
  );
  expect(readFileSync(`${file}.ca.pem`, 'utf8')).toBe('mine');
  expect(existsSync(`${journal}.lock`)).toBe(false);
  expect(existsSync(file)).toBe(false);
});

test('a foreign file as the ready file ends the process with 2 and one line, and stays', async () => {
  const file = join(folder, 'notes.txt');
  writeFileSync(file, 'notes');
  const { code, out, error } = await run('serve', ...anyPorts, '--ready-file', file);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(error).toBe(
    `smstwin serve: --ready-file ${file}: ` +
      'cannot be written: not a ready file of smstwin; move it away, or name another file\n',
  );
  expect(readFileSync(file, 'utf8')).toBe('notes');
});

test('the ready file and its certificate are removed at the end, unless another process has replaced them', async () => {
  const files = [join(folder, 'gone.json'), join(folder, 'other.json')] as const;
  const runs = files.map((file) =>
    start(['serve', ...anyPorts, '--tls', 'self-signed', '--ready-file', file]),
  );
  await Promise.all(runs.map(({ banner }) => banner));
  const other = readFileSync(files[1], 'utf8').replace(/"pid": \d+/, '"pid": 1');
  writeFileSync(files[1], other);
  for (const { child } of runs) child.kill('SIGTERM');
  for (const { ended } of runs) expect(await ended).toMatchObject({ code: 0, error: '' });
  expect(files.map((file) => [existsSync(file), existsSync(`${file}.ca.pem`)])).toEqual([
    [false, false],
    [true, false],
  ]);
  expect(readFileSync(files[1], 'utf8')).toBe(other);
});

test('a server that npx has started ends soon after npx was ended', async () => {
  const file = join(folder, 'npx.json');
  const line = `"$NODE" "$BIN" serve ${anyPorts.join(' ')} --ready-file "${file}"; true`;
  const asByNpx = { npm_lifecycle_event: 'npx', npm_lifecycle_script: "'smstwin'" };
  const env = { ...process.env, ...asByNpx, NODE: process.execPath, BIN: bin };
  const shell = spawn('sh', ['-c', line], { env, stdio: 'ignore' });
  await expect.poll(() => existsSync(file)).toBe(true);
  const { pid } = JSON.parse(readFileSync(file, 'utf8')) as ReadyFile;
  onTestFailed(() => void process.kill(pid, 'SIGKILL'));
  shell.kill('SIGTERM');
  await expect.poll(() => existsSync(file)).toBe(false);
});

/** Ends with the code of the command, whose output the shell redirects. */
function runInShell(line: string): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, SMSTWIN: `${process.execPath} ${bin}`, FOLDER: folder };
    execFile('bash', ['-c', line], { env }, (failure, out, error) =>
      resolve({ code: Number(failure?.code ?? 0), out, error }),
    );
  });
}

test.each([
  ['rules', 'ENOSPC', '$SMSTWIN rules > /dev/full'],
  ['assumptions', 'ENOSPC', '$SMSTWIN assumptions --json > /dev/full'],
  ['a help text', 'ENOSPC', '$SMSTWIN serve --help > /dev/full'],
  ['a run of the harness', 'ENOSPC', '$SMSTWIN conform --list > /dev/full'],
  [
    'a part of a text',
    'EFBIG',
    'trap "" XFSZ; ulimit -f 8; NODE_DISABLE_COMPILE_CACHE=1 $SMSTWIN assumptions --json > $FOLDER/part',
  ],
])('%s that cannot be written: 1, and one line (%s)', async (_, code, line) => {
  expect(await runInShell(line)).toEqual({
    code: 1,
    out: '',
    error: `smstwin: cannot write to standard output (${code}); is the disk full?\n`,
  });
});

test('a reader that closes its pipe early is no failure', async () => {
  const line = '$SMSTWIN assumptions --json | head -c 1; exit $' + '{PIPESTATUS[0]}';
  expect(await runInShell(line)).toEqual({ code: 0, out: '[', error: '' });
});

test('a report that the disk does not take: 1, one line, and nothing of it is left', async () => {
  const report = join(folder, 'full.html');
  const line =
    'trap "" XFSZ; ulimit -f 8; NODE_DISABLE_COMPILE_CACHE=1 ' +
    `$SMSTWIN conform SEND-3 --report html=${report} > /dev/null`;
  expect(await runInShell(line)).toEqual({
    code: 1,
    out: '',
    error: `smstwin conform: --report html=${report}: cannot be written (EFBIG); name another file\n`,
  });
  expect(readdirSync(folder).filter((name) => /full|\.tmp$/.test(name))).toEqual([]);
});

test('the ready file is the same for the same seed, and SIGTERM, SIGINT and SIGHUP end with 0', async () => {
  const runs = [1, 1, 2].map((seed, index) => {
    const file = join(folder, `ready-${index}.json`);
    return { file, ...start(['serve', ...anyPorts, '--seed', `${seed}`, '--ready-file', file]) };
  });
  await Promise.all(runs.map(({ banner }) => banner));
  const [one, again, other] = runs.map(({ file, child }) => {
    const { base_url, control_url, pid, ...rest }: ReadyFile = JSON.parse(
      readFileSync(file, 'utf8'),
    );
    expect(base_url).toMatch(/^http:\/\/127\.0\.0\.1:[0-9]+$/);
    expect(control_url).toMatch(/^http:\/\/127\.0\.0\.1:[0-9]+$/);
    expect(pid).toBe(child.pid);
    return rest;
  });
  expect(one).toEqual(again);
  expect(one?.accounts.map(({ name }) => name)).toEqual(['acme', 'globex', 'initech']);
  expect(one?.accounts[0]?.sims.map(({ number }) => number)).toEqual([
    '+12025550101',
    '+12025550102',
  ]);
  expect(one?.pool).toEqual([{ number: '+12025550190', device_id: expect.any(String) }]);
  expect(other?.accounts[0]?.api_key).not.toBe(one?.accounts[0]?.api_key);
  runs.forEach(({ child }, index) => {
    child.kill((['SIGINT', 'SIGTERM', 'SIGHUP'] as const)[index]);
  });
  for (const { ended } of runs) expect(await ended).toMatchObject({ code: 0, error: '' });
});

test('where the native server cannot be loaded, both ports are served all the same, and the log says why', async () => {
  const { child, ended, banner } = start(['serve', ...anyPorts], { SMSTWIN_UWS: '/nowhere' });
  const ports = (await banner).match(/http:\/\/127\.0\.0\.1:\d+$/gm) ?? [];
  expect(ports).toHaveLength(2);
  const replies = await Promise.all(ports.map((url) => fetch(url)));
  expect(replies.map(({ status }) => status)).toEqual([404, 200]);
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({
    code: 0,
    error: expect.stringMatching(
      /^smstwin: No usable uWebSockets\.js for [^\n]*own HTTP server\.\n$/,
    ),
  });
});

test('the commands of the banner work as pasted, and the log has a line for each request', async () => {
  const { child, ended, banner } = start([
    'serve',
    ...anyPorts,
    '--clock',
    'manual',
    '--log',
    'json',
  ]);
  const commands = (await banner).split('\n').filter((line) => line.startsWith('  curl '));
  const [send = '', read = '', advance = ''] = commands;
  const shell = async (command: string) => {
    const { stdout } = await promisify(execFile)('sh', ['-c', command]);
    return JSON.parse(stdout);
  };
  const queued = await shell(send);
  expect(queued).toMatchObject({ status: 'queued', from_number: '+12025550101' });
  const readIt = read.replace('MESSAGE_ID', queued.message_id);
  expect(await shell(readIt)).toEqual(queued);
  await shell(advance);
  expect(await shell(readIt)).toEqual({ ...queued, status: 'delivered' });
  child.kill('SIGTERM');
  const { code, error } = await ended;
  expect(code).toBe(0);
  const logged = error.trimEnd().split('\n');
  const requests = logged.map((line) => JSON.parse(line)).filter((line) => !('notice' in line));
  expect(requests.map(({ endpoint }) => endpoint)).toEqual(['send', 'read', 'read']);
  const key = /Bearer (\w+)/.exec(send)?.[1] ?? '';
  expect(key).not.toBe('');
  expect(error).not.toContain(key);
});
