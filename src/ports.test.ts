/** The URLs that are handed out: by `--public-url`, otherwise by the `Host` of the request. */
import { request } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { Simulator } from './simulator.ts';

const token = 't';
const control = { token, allowedHosts: ['smstwin'] };
let simulator: Simulator | undefined;
afterEach(() => simulator?.close());

/** Asks the control port under a `Host` that is not its address. */
function ask(url: string, host: string, method: string, path: string) {
  return new Promise<{ status: number | undefined; json: Record<string, unknown> }>(
    (resolve, reject) => {
      const headers = { host, authorization: `Bearer ${token}` };
      const asked = request(`${url}${path}`, { method, headers }, (reply) => {
        let text = '';
        reply.on('data', (part) => {
          text += part;
        });
        reply.on('end', () => resolve({ status: reply.statusCode, json: JSON.parse(text) }));
      });
      asked.on('error', reject);
      asked.end();
    },
  );
}

test('a client that reaches the control port by a name gets URLs with that name', async () => {
  simulator = new Simulator();
  const { baseUrl, controlUrl } = await simulator.listen({ control });
  const servicePort = new URL(baseUrl).port;
  const url = String(controlUrl);
  const created = await ask(url, 'smstwin:9999', 'POST', '/control/worlds');
  const path = `/w/${created.json['world_id']}`;
  const there = {
    base_url: `http://smstwin:${servicePort}${path}`,
    control_url: `http://smstwin:9999${path}`,
  };
  expect(created).toMatchObject({ status: 201, json: there });
  const read = await ask(url, 'smstwin:9999', 'GET', `/control/worlds/${path.slice(3)}`);
  expect(read.json).toMatchObject(there);
  const list = await ask(url, 'smstwin:9999', 'GET', '/control/worlds');
  expect(list.json['worlds']).toMatchObject([there]);
  const state = await ask(url, 'smstwin', 'GET', '/control/state');
  expect(state.json).toMatchObject({ base_url: `http://smstwin:${servicePort}` });
  const local = await ask(url, new URL(url).host, 'GET', `/control/worlds/${path.slice(3)}`);
  expect(local.json).toMatchObject({
    base_url: `${baseUrl}${path}`,
    control_url: `${controlUrl}${path}`,
  });
});

test('the public URL is handed out to everybody, and its name is allowed as Host', async () => {
  simulator = new Simulator();
  const publicUrl = 'http://twin.test:1234';
  const listening = await simulator.listen({
    publicUrl,
    control: { host: '0.0.0.0', token },
  });
  const { controlUrl } = listening;
  expect(listening.baseUrl).toBe(publicUrl);
  expect(controlUrl).toMatch(/^http:\/\/twin\.test:\d+$/);
  expect(simulator.readyFile()).toMatchObject({ base_url: publicUrl, control_url: controlUrl });
  const here = `http://127.0.0.1:${new URL(String(controlUrl)).port}`;
  for (const host of [new URL(here).host, 'twin.test:5']) {
    const { status, json } = await ask(here, host, 'POST', '/control/worlds');
    const path = `/w/${json['world_id']}`;
    expect(status).toBe(201);
    expect(json).toMatchObject({
      base_url: `${publicUrl}${path}`,
      control_url: `http://${host}${path}`,
      host_url: `http://${json['world_id']}.localhost:1234`,
    });
  }
});

test('a control port for this machine alone keeps its own address', async () => {
  simulator = new Simulator();
  const { controlUrl } = await simulator.listen({ publicUrl: 'https://twin.test', control: {} });
  expect(controlUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const created = simulator.worlds.create();
  expect(created.host_url).toBe(`https://${created.world_id}.world.localhost`);
});

test('a Host with a port that is none hands out the addresses of the server', async () => {
  simulator = new Simulator();
  const { baseUrl, controlUrl } = await simulator.listen({ control });
  const { status, json } = await ask(
    String(controlUrl),
    '127.0.0.1:99999',
    'POST',
    '/control/worlds',
  );
  const path = `/w/${json['world_id']}`;
  expect(status).toBe(201);
  expect(json).toMatchObject({
    base_url: `${baseUrl}${path}`,
    control_url: `${controlUrl}${path}`,
  });
});
