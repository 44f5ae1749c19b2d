/** The audit of a real limiter: nginx, where it is installed. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { learn } from '#audit/audit.ts';
import { HttpRequests } from '#cli/audit/http-requests.ts';
import { freePort } from '#src/http/transport/listening.ts';

const hasNginx = spawnSync('nginx', ['-v']).status === 0;

test.runIf(hasNginx)('nginx: what is certain of burst=9 at 5 a second is true', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-nginx-'));
  const port = await freePort(0, '127.0.0.1');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; error_log ${folder}/error.log; pid ${folder}/pid; events {}
http { access_log off; ${temporary.map((each) => `${each}_temp_path ${folder}/${each};`).join(' ')}
limit_req_zone $binary_remote_addr zone=a:1m rate=5r/s; limit_req_status 429;
server { listen 127.0.0.1:${port}; location / { limit_req zone=a burst=9 nodelay; try_files /nothing @ok; } location @ok { return 200; } } }`,
  );
  const nginx = spawn('nginx', ['-c', join(folder, 'nginx.conf')], { stdio: 'ignore' });
  const template = { method: 'GET', headers: {}, body: undefined };
  const callers = [{ name: 'first', differsBy: '' }];
  const requests = new HttpRequests(new URL(`http://127.0.0.1:${port}`), template, callers, 5_000);
  const first = { caller: 'first', path: '/' };
  await expect.poll(async () => (await requests.request(first)).status).toBe(200);
  const { statements } = await learn({
    request: requests.request,
    callers: ['first'],
    rate: 50,
    maxWindow: 10_000,
  });
  nginx.kill();
  requests.close();
  rmSync(folder, { recursive: true, force: true });
  const { algorithm, burst, refill_per_second: refill, retry_after: wait } = statements;
  if (algorithm.certainty === 'certain') expect(algorithm.value).toBe('token_bucket');
  if (burst.certainty === 'certain') expect(burst.value).toBe(10);
  if (refill.certainty === 'certain') expect(refill.value).toBe(5);
  expect(wait.value).toBe('absent');
});
