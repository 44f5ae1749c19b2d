/**
 * HTTPS on both transports, with the commands of docs/https.md. Go and Java take long to start:
 * `verify/fixtures/fixtures.release.test.ts` runs theirs.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { selfSigned } from '#src/config/self-signed.ts';
import { commandsOf, root, shell } from '../testkit/doc-commands.ts';
import { loader, program } from '../testkit/processes/program.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { both } from '../testkit/transport-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-https-'));
const started: ServedProcess[] = [];
afterAll(async () => {
  for (const served of started) await served.kill();
  rmSync(folder, { recursive: true });
});

async function serve(flags: readonly string[]): Promise<ServedProcess> {
  const served = await ServedProcess.start(folder, flags);
  started.push(served);
  return served;
}

function statusOf(url: string, ca: string | undefined, host?: string): Promise<unknown> {
  return new Promise((resolve) => {
    const name = host === undefined ? {} : { servername: new URL(`https://${host}`).hostname };
    const options = { ca, ...name, headers: host === undefined ? {} : { host } };
    const asked = get(url, options, (reply) => resolve(reply.resume().statusCode));
    asked.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
}

both('serves HTTPS to clients that trust its certificate, and to no other', async (kind) => {
  const { cert, key, ca } = await selfSigned(['127.0.0.1', '*.world.localhost'], Date.now());
  const [certFile, keyFile] = [join(folder, `${kind}.pem`), join(folder, `${kind}.key`)];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const pair = ['--tls-cert', certFile, '--tls-key', keyFile];
  const served = await serve([...pair, '--transport', kind]);
  expect(served.baseUrl).toMatch(/^https:\/\/127\.0\.0\.1:/);
  expect(served.ready.tls_ca_file).toBeUndefined();
  expect(await statusOf(served.baseUrl, ca)).toBe(404);
  expect(await statusOf(served.baseUrl, undefined)).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  const plain = await fetch(served.baseUrl.replace('https', 'http')).catch(() => 'refused');
  expect(plain).toBe('refused');
  const created = await fetch(`${served.controlUrl}/control/worlds`, { method: 'POST' });
  const { host_url: hostUrl } = (await created.json()) as { host_url: string };
  const { host, hostname } = new URL(hostUrl);
  expect(hostname).toMatch(/^[a-z0-9]+\.world\.localhost$/);
  expect(await statusOf(`${served.baseUrl}/api/v1/account/stats/`, ca, host)).toBe(401);
  await served.stop();
  expect(served.errors).toBe('');
});

test('the commands of docs/https.md reach a server that made its own certificate', async () => {
  const served = await serve(['--tls', 'self-signed']);
  const { tls_ca_file: ca = '' } = served.ready;
  expect(ca).toMatch(/\.json\.ca\.pem$/);
  const commands = commandsOf('docs/https.md');
  const trust = commands.find((line) => line.startsWith('export ')) ?? '?';
  const asks = commands.filter((line) => /^(node|python3|curl) /.test(line));
  expect(asks).toHaveLength(4);
  const env = { CA: ca, URL: served.baseUrl, NO_PROXY: '*' };
  const asked = asks.map(async (line) => {
    const debian = line.replace(/^python3/, '/usr/bin/python3');
    expect(await shell(`${trust}; ${debian}`, env), line).toBe('404\n');
    await expect(shell(debian, env), line).rejects.toThrow();
  });
  await Promise.all(asked);
  const conform = `npm run -s conform -- ${served.baseUrl} --control-url ${served.controlUrl} SEND-3`;
  expect(await shell(`${trust}; ${conform}`, env)).toContain('1 of 1 rules passed');
});

test('a certificate that cannot be served ends with exit code 2 and one line', async () => {
  const flags = ['--tls-cert', join(root, 'README.md'), '--tls-key', join(root, 'README.md')];
  const run = promisify(execFile)('node', [...loader, program, 'serve', ...flags]);
  await expect(run).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^smstwin serve: --tls-cert .*README\.md: not a certificate in PEM\n$/,
    ),
  });
});
