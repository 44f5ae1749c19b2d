/** The page as it is bundled, and as the control port serves it. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { controlApi } from '#src/control/control-api.ts';
import type { ContentReply, ControlRequest } from '#src/http/transport/transport.ts';
import { Simulator } from '#src/simulator.ts';
import { plainRequest } from '#verify/testkit/twin/twin.ts';
import { bundleDashboard } from './bundle.ts';

async function asked(overrides: Partial<ControlRequest>, token?: string) {
  const simulator = new Simulator({ clock: 'manual' });
  const reply = await controlApi(simulator, { host: '127.0.0.1', token }).control({
    ...plainRequest,
    ...overrides,
  });
  await simulator.close();
  return reply as ContentReply;
}

test('the page loads in under 100 KB compressed', async () => {
  const files = await bundleDashboard();
  const sizeOf = (name: string) => {
    const file = files.find((one) => one.name === name);
    return file === undefined ? Number.NaN : gzipSync(file.bytes).length;
  };
  const page = Buffer.from(files.find(({ name }) => name === 'page.js')?.bytes ?? []).toString();
  const eager = [...page.matchAll(/from"\.\/([^"]+)"/g)].map(([, name = '']) => name);
  const first = ['index.html', 'style.css', 'page.js', ...eager];
  const bytes = first.reduce((sum, name) => sum + sizeOf(name), 0);
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThan(100_000);
});

test('the page and its files come from this port alone, by a strict content policy', async () => {
  const reply = await asked({ path: '/' });
  expect(reply).toMatchObject({ status: 200, contentType: 'text/html; charset=utf-8' });
  expect(reply.headers?.['content-security-policy']).toMatch(/^default-src 'none'; /);
  const html = Buffer.from(reply.content).toString();
  const named = [...html.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, path = '']) => path);
  expect(named).toEqual(['/assets/style.css', '/assets/page.js']);
  for (const path of named) {
    const file = await asked({ path });
    expect(file.status).toBe(200);
    // Names of XML's vocabularies, and the example of a curl command, are never fetched.
    const addresses =
      Buffer.from(file.content)
        .toString()
        .match(/https?:\/\/[\w.]+/g) ?? [];
    const known = ['http://www.w3.org', 'http://127.0.0.1'];
    expect(addresses.filter((address) => !known.includes(address))).toEqual([]);
  }
});

test('a file is compressed for who can read that, with an etag of its own', async () => {
  const plain = await asked({ path: '/assets/page.js' });
  const headers = { ...plainRequest.headers, 'accept-encoding': 'gzip, br' };
  const zipped = await asked({ path: '/assets/page.js', headers });
  expect(zipped.headers?.['content-encoding']).toBe('gzip');
  expect(gunzipSync(zipped.content)).toEqual(Buffer.from(plain.content));
  expect(zipped.etag).not.toBe(plain.etag);
});

test('the page is served without the token, the control API is not, and another site gets neither', async () => {
  expect((await asked({ path: '/' }, 'secret')).status).toBe(200);
  expect((await asked({ path: '/control/state' }, 'secret')).status).toBe(401);
  const headers = { ...plainRequest.headers, origin: 'http://elsewhere.example' };
  expect((await asked({ path: '/', headers }, 'secret')).status).toBe(403);
  expect((await asked({ path: '/', headers: { host: 'rebound.example' } })).status).toBe(403);
  expect((await asked({ path: '/', clientIp: '192.0.2.7' })).status).toBe(403);
});

test('the page takes GET and HEAD; a file that is not there is 404', async () => {
  expect((await asked({ method: 'HEAD', path: '/' })).status).toBe(200);
  const wrong = await asked({ method: 'POST', path: '/' });
  expect([wrong.status, wrong.headers?.['allow']]).toEqual([405, 'GET, HEAD']);
  expect((await asked({ path: '/assets/../package.json' })).status).toBe(404);
});
