/** `smstwin record` as a process: mistakes, ports, and a signal that loses no line. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Simulator } from '#src/simulator.ts';
import { bin } from '#verify/testkit/processes/program.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-record-'));
afterAll(() => rmSync(folder, { recursive: true }));

function start(...argv: readonly string[]) {
  return startWith([], ...argv);
}

/** Starts it with these flags of Node's. */
function startWith(nodeFlags: readonly string[], ...argv: readonly string[]) {
  const child = spawn(process.execPath, [...nodeFlags, bin, 'record', ...argv]);
  const said = { out: '', error: '' };
  child.stdout.on('data', (text) => {
    said.out += text;
  });
  child.stderr.on('data', (text) => {
    said.error += text;
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child, said, ended };
}

test.each(['SIGTERM', 'SIGHUP'] as const)(
  '%s writes every exchange that was answered, and ends with 0',
  async (signal) => {
    const simulator = new Simulator({}, { journal: false });
    const { baseUrl } = await simulator.listen();
    const out = join(folder, `${signal}.ndjson`);
    const ready = join(folder, `${signal}.json`);
    const flags = ['--out', out, '--port', '0', '--ready-file', ready];
    const { child, said, ended } = start('--upstream', baseUrl, ...flags);
    await expect.poll(() => existsSync(ready)).toBe(true);
    const { base_url: url, pid } = JSON.parse(readFileSync(ready, 'utf8'));
    expect(pid).toBe(child.pid);
    await expect.poll(() => said.out).toMatch(`Recording ${url} -> `);
    await Promise.all(Array.from({ length: 200 }, () => fetch(`${url}/api/v1/account/stats/`)));
    child.kill(signal);
    expect(await ended).toBe(0);
    expect(said.error).toBe('');
    expect(existsSync(ready)).toBe(false);
    expect(readFileSync(out, 'utf8').trimEnd().split('\n')).toHaveLength(200);
    await simulator.close();
  },
);

test.each([
  ['an exception', "throw new Error('planted')"],
  ['a rejection', "Promise.reject(new Error('planted'))"],
])(
  'after %s that nothing catches, the file is whole, and it ends with 1 and one line',
  async (_, bug) => {
    const upstream = createServer((__, response) => response.end('ok'));
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const { port } = upstream.address() as AddressInfo;
    const out = join(folder, `bug-${port}.ndjson`);
    const plant = `data:text/javascript,process.on('SIGUSR2',()=>{${encodeURIComponent(bug)}})`;
    const { child, said, ended } = startWith(
      ['--import', plant],
      '--upstream',
      `http://127.0.0.1:${port}`,
      '--out',
      out,
      '--port',
      '0',
    );
    await expect.poll(() => said.out).toMatch(/^Recording /);
    const [, url = ''] = /^Recording (\S+)/.exec(said.out) ?? [];
    await Promise.all(Array.from({ length: 50 }, async () => (await fetch(url)).text()));
    child.kill('SIGUSR2');
    child.kill('SIGUSR2');
    expect(await ended).toBe(1);
    expect(said.error).toBe(
      'smstwin record: stopped by a bug, once the file is written: planted\n',
    );
    expect(readFileSync(out, 'utf8').trimEnd().split('\n')).toHaveLength(50);
    upstream.close();
  },
);

test('a command line that cannot be carried out ends with 2 and a line that names the mistake', async () => {
  const faults = join(folder, 'faults.json');
  writeFileSync(faults, '[{"when":{"nth":[0]},"fault":{"kind":"refuse"}}]');
  const out = join(folder, 'never.ndjson');
  const upstream = ['--upstream', 'http://127.0.0.1:9'];
  const runs = [
    start('--out', out),
    start(...upstream),
    start('--upstream', 'http://user@host', '--out', out),
    start(...upstream, '--out', out, '--redact', 'keys'),
    start(...upstream, '--out', out, '--faults', faults),
    start(...upstream, '--out', join(folder, 'none', 'a.ndjson')),
  ];
  expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual(runs.map(() => 2));
  expect(runs.map(({ said }) => said.error)).toEqual([
    'smstwin record: --upstream is missing: name the service\n',
    'smstwin record: --out is missing: name the file to record in\n',
    'smstwin record: --upstream http://user@host: expected a URL such as http://smstwin:8080, without a user or a query\n',
    'smstwin record: --redact keys: expected one or more of numbers, text, with commas between\n',
    expect.stringMatching(/^smstwin record: faults\.json: .*\n$/),
    expect.stringMatching(/: --out .*none\/a\.ndjson: there is no such folder; create it\n$/),
  ]);
});
