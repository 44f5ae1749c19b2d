/**
 * Requests that arrive in one turn of the event loop are handled at once, and answered in order.
 */
import { expect, onTestFinished, test, vi } from 'vitest';
import { servicePaths } from '#contract/routes.ts';
import type { Simulator } from '#src/simulator.ts';
import { prefixOf } from '#src/worlds/address.ts';
import { sample } from '../testkit/runs.ts';
import { dialAll, head, newPath, sendText, serve } from '../testkit/served-fixture.ts';
import { both, dial, kinds, start } from '../testkit/transport-fixture.ts';

const modes = kinds.flatMap((kind) => [
  { kind, mode: 'with a journal' },
  { kind, mode: 'without one' },
]);

test.each(modes)(
  '$kind $mode: sends in one packet, whole or cut anywhere, are all answered in order',
  async ({ kind, mode }) => {
    const options = mode === 'without one' ? {} : { journal: newPath() };
    const { simulator, port } = await serve(options, kind);
    const idOf = (index: number, n: number) => `r-${String(index).padStart(4, '0')}-${n}`;
    const packetOf = (count: number, index: number) =>
      Array.from({ length: count }, (_, n) => sendText(simulator, idOf(index, n))).join('');
    const everyByteOf = (count: number) => [...Buffer.from(packetOf(count, 0)).keys()];
    const oneRequest = everyByteOf(1);
    // `SMSTWIN_RUNS=120` cuts the long packet at every byte, too.
    const plans = [
      { count: 20, cuts: [] as number[] },
      { count: 20, cuts: [5_001, 5_002] },
      ...sample(everyByteOf(20), 50).map((at) => ({ count: 20, cuts: [at] })),
      // At every byte of the second of three requests, which are equally long.
      ...oneRequest.map((at) => ({ count: 3, cuts: [oneRequest.length + at] })),
    ];
    const run = async ({ count, cuts }: (typeof plans)[number], index: number) => {
      const socket = await dial(port);
      await socket.write(packetOf(count, index), cuts);
      for (let n = 0; n < count; n++) {
        const { status, body } = await socket.reply('POST');
        expect([status, JSON.parse(body).request_id]).toEqual([202, idOf(index, n)]);
      }
      expect(socket.isClosed).toBe(false);
      socket.destroy();
    };
    for (let at = 0; at < plans.length; at += 30)
      await Promise.all(plans.slice(at, at + 30).map((plan, n) => run(plan, at + n)));
    const sent = plans.reduce((sum, { count }) => sum + count, 0);
    expect(simulator.state().messages.total).toBe(sent);
  },
  3_600_000,
);

test('without --transport a run in a file or in scaled time is served by Node, others natively', async () => {
  const native = kinds.includes('hyperexpress') ? '505' : '404';
  for (const [options, settings, status] of [
    [{ journal: newPath() }, { clock: 'real' }, '404'],
    [{ journalDir: newPath() }, { clock: 'real' }, '404'],
    [{}, { clock: 'scaled', rate: 2 }, '404'],
    [{}, { clock: 'manual' }, native],
    [{}, { clock: 'real' }, native],
  ] as const) {
    const { port } = await serve(options, undefined, settings);
    const socket = await dial(port);
    await socket.write('GET / HTTP/1.0\r\n\r\n');
    expect(await socket.rest()).toContain(`HTTP/1.1 ${status}`);
  }
});

both('a HEAD among other requests of a packet costs none of their replies', async (kind) => {
  // As rare as the end of a connection by chance once was, with any HEAD request.
  vi.spyOn(Math, 'random').mockReturnValue(1 / 4_096);
  onTestFinished(() => void vi.restoreAllMocks());
  const { port } = await start(kind, { service: () => ({ status: 200, body: '{}' }) });
  const socket = await dial(port);
  const methods = ['GET', 'DELETE', 'GET', 'HEAD', 'GET', 'HEAD', 'GET'];
  await socket.write(methods.map((method) => `${method} / HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
  for (const method of methods) expect((await socket.reply(method)).status).toBe(200);
});

test('requests that cannot wait follow those of their packet that do', async () => {
  const { simulator, port } = await serve({ journal: newPath() });
  const read = (method: string, more: string) =>
    `${method} ${servicePaths.stats} HTTP/1.1\r\n${head(simulator, more)}\r\n`;
  const socket = await dial(port);
  const [first, last] = [sendText(simulator, '1'), sendText(simulator, '2')];
  await socket.write(first + read('HEAD', '') + last + read('GET', 'TE: trailers\r\n'));
  expect((await socket.reply('POST')).status).toBe(202);
  expect((await socket.reply('HEAD')).status).toBe(200);
  expect((await socket.reply('POST')).status).toBe(202);
  expect(JSON.parse((await socket.reply()).body)).toHaveProperty('quota');
  const other = await dial(port);
  await other.write(sendText(simulator, '3') + read('GET', 'Connection: close\r\n'));
  const rest = await other.rest();
  expect(rest.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 202', 'HTTP/1.1 200']);
  const wrong = await dial(port);
  await wrong.write(`${sendText(simulator, '4')}garbage\r\n\r\n`);
  expect((await wrong.rest()).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 202', 'HTTP/1.1 400']);
});

test('a client that sends no more gets the replies of its packet', async () => {
  const { simulator, port } = await serve({ journal: newPath() });
  const socket = await dial(port, undefined, true);
  void socket.write(sendText(simulator, '1') + sendText(simulator, '2'));
  socket.halfClose();
  expect((await socket.rest()).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 202', 'HTTP/1.1 202']);
});

test('an exception in the middle of a packet is answered in its place', async () => {
  const errors: unknown[] = [];
  const service = ({ path }: { readonly path: string }) => {
    if (path === '/fails') throw new Error('planted');
    return { status: 200, body: JSON.stringify({ path }) };
  };
  const options = { onInternalError: (error: unknown) => errors.push(error) };
  const { port } = await start('node', { service }, options);
  const socket = await dial(port);
  const paths = ['/fails', '/1', '/fails', '/2'];
  await socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
  const statuses: number[] = [];
  for (const _path of paths) statuses.push((await socket.reply()).status);
  expect(statuses).toEqual([500, 200, 500, 200]);
  expect(errors).toHaveLength(2);
});

test('the Date of a reply is that of its own world, whichever was asked after it', async () => {
  const { simulator, port } = await serve({ journalDir: newPath() });
  const { world_id: worldId } = simulator.worlds.create({});
  const other = simulator.hostedWorlds.get(worldId)?.simulator as Simulator;
  other.clock.advance({ by: '24h' });
  const socket = await dial(port);
  const prefix = prefixOf(worldId);
  await socket.write(sendText(simulator, '1') + sendText(other, '2', prefix));
  const dates: number[] = [];
  for (let n = 0; n < 2; n++)
    dates.push(Date.parse((await socket.reply('POST')).headers['date'] ?? ''));
  expect((dates[1] ?? 0) - (dates[0] ?? 0)).toBe(86_400_000);
});

test('a close in the middle of a turn answers what has arrived', async () => {
  const { simulator, port } = await serve({ journal: newPath() });
  const sockets = await dialAll(port, 3);
  let closing: Promise<void> | undefined;
  simulator.activity.listen('message', () => {
    closing ??= simulator.close();
  });
  await Promise.all(sockets.map((socket, n) => socket.write(sendText(simulator, `${n}`))));
  for (const socket of sockets) expect((await socket.reply('POST')).status).toBe(202);
  await closing;
});
