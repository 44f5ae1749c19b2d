/**
 * Checks docs/proxies.md: nginx with the page's own lines, and ApacheBench on Node's server.
 * Skipped with a message where the programs are not installed.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { freePort } from '#src/http/transport/listening.ts';
import { echo, kinds, start } from '../testkit/transport-fixture.ts';

const isMissing = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args).error !== undefined;
const noNginx = isMissing('nginx', '-v') ? ' (nginx is not installed)' : '';
const noAb = isMissing('ab', '-V') ? ' (ab is not installed)' : '';

const page = readFileSync(new URL('../../docs/proxies.md', import.meta.url), 'utf8');
const [locationBlock = '', upstream = ''] = [...page.matchAll(/^```nginx\n(.*?)^```$/gms)].map(
  ([, text = '']) => text,
);

/** The status of one request through an nginx with this configuration. */
async function statusThrough(http: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-nginx-'));
  const port = await freePort(0, '127.0.0.1');
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join('\n');
  writeFileSync(
    join(folder, 'nginx.conf'),
    `pid ${folder}/pid; daemon off; master_process off; events {}
     http { access_log off; ${paths} ${http.replace('{port}', String(port))} }`,
  );
  const options = ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'errors')];
  const nginx = spawn('nginx', options, { stdio: 'ignore' });
  const ended = once(nginx, 'exit');
  try {
    return await vi.waitFor(async () => (await fetch(`http://127.0.0.1:${port}/`)).status, 10_000);
  } finally {
    nginx.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  }
}

test.runIf(noNginx === '').each(kinds)(`%s: the lines for nginx help${noNginx}`, async (kind) => {
  const { port } = await start(kind, { service: echo });
  const here = (text: string): string => text.replace('127.0.0.1:8080', `127.0.0.1:${port}`);
  const server = (location: string): string => `server { listen 127.0.0.1:{port}; ${location} }`;
  const pooled = locationBlock.replace('127.0.0.1:8080', 'smstwin');
  const bare = `location / { proxy_pass http://127.0.0.1:${port}; }`;

  expect(await statusThrough(server(here(locationBlock)))).toBe(200);
  expect(await statusThrough(here(upstream) + server(pooled))).toBe(200);
  expect(await statusThrough(server(bare))).toBe(kind === 'node' ? 200 : 505);
});

test.runIf(noAb === '').each(kinds)(`%s: what the page says of ab holds${noAb}`, async (kind) => {
  const { port } = await start(kind, { service: echo });
  const args = ['-k', '-n', '20', '-c', '2', `http://127.0.0.1:${port}/`];
  const { stdout } = await promisify(execFile)('ab', args);
  expect(stdout).toMatch(/^Complete requests: +20$/m);
  expect(stdout).toMatch(/^Failed requests: +0$/m);
  expect(/^Non-2xx responses: +20$/m.test(stdout)).toBe(kind === 'hyperexpress');
});
