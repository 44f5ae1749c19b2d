/** How request bodies are buffered: alone, and over the sockets of both transports. */
import { expect, test } from 'vitest';
import { get } from '#verify/testkit/processes/raw-socket.ts';
import { both, dial, echo, start } from '#verify/testkit/transport-fixture.ts';
import { ArrivingBody, BodyRoom } from './arriving-body.ts';

const intake = { limitBytes: 10_000, drainBytes: 20_000 };

test('a body in pieces is assembled in at most twice its bytes', () => {
  const room = new BodyRoom(1_000_000);
  const body = new ArrivingBody(intake, room);
  for (let n = 0; n < 5_000; n++) expect(body.take(Uint8Array.of(n & 255))).toBeUndefined();
  expect(room.heldBytes).toBeLessThanOrEqual(10_000);
  expect(body.bytes).toEqual(Buffer.from(Array.from({ length: 5_000 }, (_, n) => n & 255)));
  body.release();
  expect(room.heldBytes).toBe(0);
});

test('a body over its limit is no longer buffered, and refused past the drain limit', () => {
  const room = new BodyRoom(1_000_000);
  const body = new ArrivingBody(intake, room);
  expect(body.take(new Uint8Array(10_000))).toBeUndefined();
  expect([body.isTooLong, room.heldBytes]).toEqual([false, 10_000]);
  expect(body.take(new Uint8Array(1))).toBeUndefined();
  expect([body.isTooLong, room.heldBytes]).toEqual([true, 0]);
  expect(body.take(new Uint8Array(9_999))).toBeUndefined();
  expect(body.take(new Uint8Array(1))).toBe('too_long');
  expect(room.heldBytes).toBe(0);
});

test('arriving bodies share one memory budget and release it', () => {
  const room = new BodyRoom(15_000);
  const [first, second] = [new ArrivingBody(intake, room), new ArrivingBody(intake, room)];
  expect(first.take(new Uint8Array(10_000))).toBeUndefined();
  expect(second.take(new Uint8Array(5_001))).toBe('no_room');
  first.release();
  expect(new ArrivingBody(intake, room).take(new Uint8Array(10_000))).toBeUndefined();
});

const slowly = (declared: number) =>
  `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${declared}\r\n\r\n${'x'.repeat(3_000)}`;

both(
  'bodies beyond the memory budget of the port are 503 until another client leaves',
  async (kind) => {
    const { port } = await start(kind, { service: echo }, { heldLimitBytes: 5_000 });
    const waiting = await dial(port);
    await waiting.write(slowly(4_000));
    const other = await dial(port);
    await other.write(slowly(4_000));
    expect(await other.reply()).toMatchObject({
      status: 503,
      body: '{"code":"busy","detail":"Too many request bodies are arriving at once."}',
    });
    expect(await other.rest()).toBe('');
    waiting.destroy();
    await expect
      .poll(async () => {
        const again = await dial(port);
        await again.write(slowly(4_000));
        await again.write('x'.repeat(1_000));
        return (await again.reply()).status;
      })
      .toBe(200);
  },
);

both('a delayed reply beyond the bound is written at once', async (kind) => {
  const service = () => ({ status: 200, body: '{}', delivery: { delayMs: 3_600_000 } });
  const { port } = await start(kind, { service }, { mostDelayed: 2 });
  const delayed = [await dial(port), await dial(port)];
  for (const socket of delayed) await socket.write(get());
  await expect
    .poll(async () => {
      const late = await dial(port);
      await late.write(get());
      return Promise.race([late.reply().then(({ status }) => status), soon()]);
    })
    .toBe(200);
});

function soon(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, 100, undefined));
}
