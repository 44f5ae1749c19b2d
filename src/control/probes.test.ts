/** The two paths that need no token: who is served, and what they do not say. */
import { expect, test } from 'vitest';
import { plainRequest } from '#verify/testkit/twin/twin.ts';
import { Simulator } from '../simulator.ts';
import { controlApi } from './control-api.ts';

/** How a kubelet asks: from the address of its node, by the address of the pod. */
const fromKubelet = {
  ...plainRequest,
  clientIp: '10.1.0.1',
  headers: { host: '10.1.2.3:8081' },
};
const onEveryAddress = { host: '0.0.0.0', token: 'secret' };

async function ask(path: string, more: object = {}, method = 'GET') {
  const simulator = new Simulator({ clock: 'manual' });
  const reply = await controlApi(simulator, onEveryAddress).control({
    ...fromKubelet,
    method,
    path,
    ...more,
  });
  await simulator.close();
  return [reply.status, 'body' in reply ? JSON.parse(reply.body) : undefined];
}

test.each([
  ['/control/live', { status: 'live' }],
  ['/control/ready', { status: 'ready' }],
])('%s is served to a kubelet without the token, and says nothing else', async (path, body) => {
  expect(await ask(path)).toEqual([200, body]);
  expect(await ask(path, { authorization: 'Bearer wrong' })).toEqual([200, body]);
});

test.each([
  '/control/health',
  '/control/live/',
  '/control/LIVE',
  '/control/live/x',
  '//control/live',
  '/control/state',
])('%s needs the token', async (path) => {
  expect((await ask(path))[0]).toBe(401);
});

test.each([
  { headers: { host: 'evil.example' } },
  { headers: { host: '10.1.2.3:8081', origin: 'http://evil.example' } },
  { headers: { host: '10.1.2.3:8081', 'sec-fetch-site': 'cross-site' } },
  { headers: {} },
])('another site is refused: %j', async (more) => {
  expect((await ask('/control/live', more))[0]).toBe(403);
  expect((await ask('/control/ready', more))[0]).toBe(403);
});

test('no other method is served, and a path below a world says nothing of that world', async () => {
  expect((await ask('/control/live', {}, 'POST'))[0]).toBe(405);
  const ofNoWorld = await ask('/w/no-such-world/control/live');
  expect(ofNoWorld).toEqual(await ask('/w/default/control/live'));
});

test('a journal that cannot be written makes it unready, without the reason', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  Object.defineProperty(simulator, 'journalFailure', { value: '/data/run.ndjson: disk full' });
  const control = controlApi(simulator, onEveryAddress);
  const ready = await control.control({ ...fromKubelet, path: '/control/ready' });
  const live = await control.control({ ...fromKubelet, path: '/control/live' });
  expect(ready).toMatchObject({ status: 503, body: '{"status":"not_ready"}' });
  expect(live).toMatchObject({ status: 200, body: '{"status":"live"}' });
  await simulator.close();
});
