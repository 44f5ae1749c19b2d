import { expect, test } from 'vitest';
import { plainRequest, Twin } from '#verify/testkit/twin/twin.ts';
import { Simulator } from '../simulator.ts';
import { createGuard } from './guard.ts';

const statusFor = (
  headers: Readonly<Record<string, string>>,
  options: {
    host?: string;
    token?: string;
    allowedHosts?: readonly string[];
    authorization?: string;
    clientIp?: string;
  } = {},
): number => {
  const {
    host = '127.0.0.1',
    token,
    allowedHosts,
    authorization,
    clientIp,
  } = {
    clientIp: '127.0.0.1',
    ...options,
  };
  const request = { ...plainRequest, headers, authorization, clientIp };
  return createGuard({ host, token, allowedHosts })(request)?.status ?? 200;
};

test.each(['127.0.0.1:8081', 'localhost', 'LOCALHOST:1', '127.8.9.1:80', '[::1]:8081', '[::1]'])(
  'Host %s is served',
  (host) => {
    expect(statusFor({ host })).toBe(200);
  },
);

test.each([
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1.evil.example:8081',
  '10.0.0.1:8081',
  '[::2]:8081',
  'localhost:8081@evil.example',
  '',
  '127.0.0.1:8081, evil.example',
])('Host %s is refused', (host) => {
  expect(statusFor({ host })).toBe(403);
});

test('a request without Host is refused', () => {
  expect(statusFor({})).toBe(403);
});

test('the host it was bound to is served, and of a wildcard any address but no name', () => {
  const token = 't';
  const authorization = 'Bearer t';
  const bound = { host: 'twin.internal', token, authorization };
  expect(statusFor({ host: 'twin.internal:8081' }, bound)).toBe(200);
  const wild = { host: '0.0.0.0', token, authorization };
  expect(statusFor({ host: '10.1.2.3:8081' }, wild)).toBe(200);
  expect(statusFor({ host: 'evil.example' }, wild)).toBe(403);
});

test('an allowed host is served under that name and no other, from the page of that name as well', () => {
  const options = { allowedHosts: ['SMSTwin', 'twin.test'] };
  expect(statusFor({ host: 'smstwin:8081' }, options)).toBe(200);
  expect(statusFor({ host: 'TWIN.test' }, options)).toBe(200);
  expect(statusFor({ host: 'smstwin:8081', origin: 'http://smstwin:8081' }, options)).toBe(200);
  expect(statusFor({ host: 'smstwin:8081', origin: 'http://evil.example' }, options)).toBe(403);
  expect(statusFor({ host: 'a.smstwin' }, options)).toBe(403);
  expect(statusFor({ host: 'smstwin' })).toBe(403);
});

test('an allowed host does not stand in for the token', () => {
  const options = { allowedHosts: ['smstwin'], clientIp: '10.0.0.9' };
  expect(statusFor({ host: 'smstwin' }, options)).toBe(403);
  expect(statusFor({ host: 'smstwin' }, { ...options, token: 't' })).toBe(401);
});

test('a refused host is named, with the flag that allows it', () => {
  const guard = createGuard({ host: '127.0.0.1', token: undefined });
  expect(guard({ ...plainRequest, headers: { host: 'smstwin:8081' } })?.message).toBe(
    'the Host smstwin is not allowed; start with --control-allowed-host smstwin',
  );
});

test.each(['', 'two words'])(
  'the token %j, which no request can carry, is refused at once',
  (token) => {
    expect(() => createGuard({ host: '127.0.0.1', token })).toThrow(
      /^control token: expected 1 to 200 characters of /,
    );
  },
);

test.each([
  ['http://127.0.0.1:8081', 200],
  ['http://127.0.0.1:9999', 403],
  ['https://127.0.0.1:8081', 403],
  ['http://localhost:8081', 403],
  ['http://evil.example', 403],
  ['null', 403],
])('Origin %s answers %i', (origin, status) => {
  expect(statusFor({ host: '127.0.0.1:8081', origin })).toBe(status);
});

test.each([
  ['an address typed by the user', '/control/state', { site: 'none' }, 200],
  ['the page', '/control/state', { site: 'same-origin' }, 200],
  ['an image of another site', '/control/snapshot', { site: 'cross-site' }, 403],
  ['an image of another port', '/control/snapshot', { site: 'same-site' }, 403],
  ['a site that does not exist yet', '/control/state', { site: 'next-door' }, 403],
  ['a link to the page', '/', { site: 'cross-site', mode: 'navigate', dest: 'document' }, 200],
  ['the page in a frame', '/', { site: 'cross-site', mode: 'navigate', dest: 'iframe' }, 403],
  ['the page as an image', '/', { site: 'cross-site', mode: 'no-cors', dest: 'image' }, 403],
  [
    'a link to an operation',
    '/control/referee',
    { site: 'same-site', mode: 'navigate', dest: 'document' },
    403,
  ],
])('by Sec-Fetch-Site, %s at %s is decided', (_, path, fetch, status) => {
  const own = Object.entries(fetch).map(([name, value]) => [`sec-fetch-${name}`, value]);
  const headers = { host: '127.0.0.1:8081', ...Object.fromEntries(own) };
  const guard = createGuard({ host: '127.0.0.1', token: undefined });
  expect(guard({ ...plainRequest, path, headers })?.status ?? 200).toBe(status);
});

test('without a token only this machine is served; with one, any client that sends it', () => {
  const headers = { host: '127.0.0.1:8081' };
  expect(statusFor(headers, { clientIp: '10.0.0.9' })).toBe(403);
  expect(statusFor(headers, { clientIp: '0000:0000:0000:0000:0000:0000:0000:0001' })).toBe(200);
  expect(statusFor(headers, { clientIp: '::1' })).toBe(200);
  expect(statusFor(headers, { clientIp: '::2:1' })).toBe(403);
  const token = 'secret';
  expect(statusFor(headers, { token })).toBe(401);
  expect(statusFor(headers, { token, authorization: 'Bearer wrong' })).toBe(401);
  expect(statusFor(headers, { token, authorization: 'bearer secret' })).toBe(200);
  expect(statusFor(headers, { token, authorization: 'Bearer secret', clientIp: '10.0.0.9' })).toBe(
    200,
  );
});

test('no other site can embed a reply or read it as a script', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  const { controlUrl } = await simulator.listen({ control: {} });
  for (const path of ['/', '/control/state', '/control/nothing', '/openapi.json']) {
    const { headers, body } = await fetch(`${controlUrl}${path}`);
    await body?.cancel();
    expect(headers.get('x-content-type-options'), path).toBe('nosniff');
    expect(headers.get('cross-origin-resource-policy'), path).toBe('same-origin');
  }
  await simulator.close();
});

test('a refusal has the shape of every error', async () => {
  const { control: request, simulator } = new Twin({}, { token: 'secret' });
  const { status, json, headers } = await request({});
  expect(status).toBe(401);
  expect(headers['www-authenticate']).toBe('Bearer');
  expect(json.error.code).toBe('unauthorized');
  await simulator.close();
});
