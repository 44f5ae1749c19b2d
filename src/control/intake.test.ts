/** Before it reads a body, the control port knows whether to accept it, and up to which size. */
import { afterEach, expect, test } from 'vitest';
import type { RawSocket } from '#verify/testkit/processes/raw-socket.ts';
import { dial, kinds } from '#verify/testkit/transport-fixture.ts';
import { plainRequest } from '#verify/testkit/twin/twin.ts';
import { Simulator } from '../simulator.ts';
import { controlApi } from './control-api.ts';

const open: Simulator[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((simulator) => simulator.close()));
});

async function connect(transport: (typeof kinds)[number]): Promise<RawSocket> {
  const simulator = new Simulator({ clock: 'manual' });
  open.push(simulator);
  const { controlUrl } = await simulator.listen({ transport, control: { token: 'secret' } });
  return dial(Number(new URL(controlUrl ?? '').port));
}

const head = (lines: readonly string[], token: string, path = '/control/snapshot') =>
  [
    `PUT ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${token}`,
    ...lines,
    '\r\n',
  ].join('\r\n');

test.each(kinds)(
  '%s: without the token, 200 MB announced are 401 before any came',
  async (kind) => {
    const socket = await connect(kind);
    await socket.write(head(['Content-Length: 200000000'], 'wrong'));
    const { status, headers, body } = await socket.reply();
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'unauthorized' } });
    expect(await socket.rest()).toBe('');
  },
);

test.each(kinds)('%s: without the token, a body without a length ends at 1 MiB', async (kind) => {
  const socket = await connect(kind);
  await socket.write(head(['Transfer-Encoding: chunked'], 'wrong'));
  const piece = `20000\r\n${'x'.repeat(0x20000)}\r\n`;
  for (let n = 0; n < 9; n++) await socket.write(piece);
  expect((await socket.reply()).status).toBe(401);
  expect(await socket.rest()).toBe('');
});

test.each(kinds)(
  '%s: a small body is read before its refusal, and the connection lives on',
  async (kind) => {
    const socket = await connect(kind);
    await socket.write(`${head(['Content-Length: 2'], 'wrong')}{}`);
    expect((await socket.reply()).status).toBe(401);
    await socket.write(`${head(['Content-Length: 2'], 'secret')}{}`);
    expect((await socket.reply()).status).toBe(400);
  },
);

test.each(kinds)('%s: a path takes no more than its own limit', async (kind) => {
  const socket = await connect(kind);
  const body = JSON.stringify({ mode: 'x'.repeat(70_000) });
  const lines = [`Content-Length: ${body.length}`];
  await socket.write(head(lines, 'secret', '/control/clock') + body);
  const { status, body: reply } = await socket.reply();
  expect([status, JSON.parse(reply).error.message]).toEqual([
    413,
    'Request body exceeds 65536 bytes.',
  ]);
});

test('each path has its body limit, and a refused caller has none', () => {
  const simulator = new Simulator({ clock: 'manual' });
  open.push(simulator);
  const { intake } = controlApi(simulator, { host: '127.0.0.1', token: 'secret' });
  const limit = (method: string, path: string, token = 'secret') =>
    intake({ ...plainRequest, method, path, authorization: `Bearer ${token}` }).limitBytes;
  expect(limit('PUT', '/control/snapshot')).toBe(256 * 1_048_576);
  expect(limit('PUT', '/control/outcomes')).toBe(4 * 1_048_576);
  expect(limit('POST', '/control/faults')).toBe(1_048_576);
  expect(limit('POST', '/control/accounts')).toBe(65_536);
  expect(limit('GET', '/')).toBe(65_536);
  expect(limit('PUT', '/control/snapshot', 'wrong')).toBe(0);
  expect(limit('POST', '/control/nowhere')).toBe(0);
  const evil = { ...plainRequest, method: 'PUT', path: '/control/snapshot' };
  expect(intake({ ...evil, headers: { host: 'evil.example' } }).limitBytes).toBe(0);
});
