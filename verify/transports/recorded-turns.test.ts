/**
 * The requests of one turn of the event loop share one write of their journal, and nothing says
 * that they were answered before it has succeeded.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { PendingWrite } from '#contract/request-and-reply.ts';
import { servicePaths } from '#contract/routes.ts';
import { Simulator } from '#src/simulator.ts';
import { prefixOf } from '#src/worlds/address.ts';
import { diskError, type OnWrite, onWrites } from '../testkit/failing-disk.ts';
import {
  closeAfterTest,
  dialAll,
  newPath,
  sendText,
  serve,
  settings,
} from '../testkit/served-fixture.ts';
import { bearer, postTo } from '../testkit/twin/request.ts';
import { plainSend, sendBy } from '../testkit/twin/twin.ts';

test('the sends of one turn share one write, which comes before their replies', async () => {
  const journal = newPath();
  const { simulator, port } = await serve({ journal });
  const sockets = await dialAll(port, 30);
  const lines: number[] = [];
  let replies = 0;
  for (const socket of sockets) void socket.reply('POST').then(() => replies++);
  const watch: OnWrite = (bytes) => {
    lines.push(Buffer.from(bytes).toString().split('\n').length - 1);
    expect(replies).toBe(0);
    return undefined;
  };
  onWrites({ [journal]: watch });
  await Promise.all(sockets.map((socket, n) => socket.write(sendText(simulator, `${n}`))));
  await expect.poll(() => replies).toBe(30);
  expect(lines).toEqual([30]);
  lines.length = 0;
  for (let n = 0; n < 5; n++) {
    replies = 0;
    await sockets[0]?.write(sendText(simulator, `alone-${n}`));
    await sockets[0]?.reply('POST');
  }
  expect(lines).toEqual([1, 1, 1, 1, 1]);
});

test('a turn with more than 64 KiB ends early', async () => {
  const journal = newPath();
  const { simulator, port } = await serve({ journal });
  const sizes: number[] = [];
  const watch: OnWrite = ({ length }) => {
    sizes.push(length);
    return undefined;
  };
  onWrites({ [journal]: watch });
  const count = 100;
  const sockets = await dialAll(port, count);
  const long = sendText(simulator, 'r'.repeat(200)).replace(
    'Host: x',
    `Host: x\r\nX-Forwarded-For: ${'1'.repeat(1_000)}`,
  );
  await Promise.all(sockets.map((socket) => socket.write(long)));
  for (const socket of sockets) await socket.reply('POST');
  expect(Math.max(...sizes)).toBeGreaterThan(32_768);
  expect(Math.max(...sizes)).toBeLessThan(65_536 + 4_096);
  expect(simulator.recordedRun().entries[Symbol.iterator]().next().done).toBe(false);
});

/** What a disk does with a write of several lines: it takes some bytes of it, and then fails. */
const failures: readonly [string, 'EIO' | 'ENOSPC', number][] = [
  ['an error', 'EIO', 0],
  ['a full disk', 'ENOSPC', 0],
  ['a short write, and then an error', 'EIO', 1],
  ['a short write of whole lines, and then a full disk', 'ENOSPC', 1_500],
];

test.each(failures)('%s fails the requests of its world alone', async (_, code, taken) => {
  const journalDir = newPath();
  const { simulator, port } = await serve({ journalDir });
  const { world_id: worldId } = simulator.worlds.create({});
  const other = simulator.hostedWorlds.get(worldId)?.simulator as Simulator;
  const failing = join(journalDir, 'default.ndjson');
  const seen: string[] = [];
  simulator.activity.listen('request', ({ status }) => seen.push(`${status}`));
  let writes = 0;
  const fail: OnWrite = () => {
    if (writes++ === 0 && taken > 0) return taken;
    throw diskError(code);
  };
  const before = readFileSync(failing, 'utf8');
  onWrites({ [failing]: fail });
  const sockets = await dialAll(port, 12);
  const prefix = prefixOf(worldId);
  const texts = sockets.map((_socket, n) =>
    n % 2 === 0 ? sendText(simulator, `${n}`) : sendText(other, `${n}`, prefix),
  );
  await Promise.all(sockets.map((socket, n) => socket.write(texts[n] ?? '')));
  const statuses: number[] = [];
  for (const socket of sockets) statuses.push((await socket.reply('POST')).status);
  expect(statuses).toEqual(sockets.map((_socket, n) => (n % 2 === 0 ? 500 : 202)));
  expect(seen).toEqual([]);
  expect(simulator.requests.list()).toEqual([]);
  expect(simulator.state().requests).toBe(0);
  expect(simulator.referee({ details: true }).details?.exchanges).toEqual([]);
  const { values } =
    simulator.metrics().find(({ name }) => name === 'smstwin_requests_total') ?? {};
  expect(values?.filter(({ value }) => value > 0)).toMatchObject([
    { labels: { status: 500, world: 'default' }, value: 6 },
    { labels: { status: 202, world: worldId }, value: 6 },
  ]);
  expect(simulator.journalFailure).toContain(code);
  expect(other.requests.list().map(({ status }) => status)).toEqual(Array(6).fill(202));
  expect(other.journalFailure).toBeUndefined();
  expect(readFileSync(failing, 'utf8')).toBe(before);
  await sockets[0]?.write(sendText(simulator, 'later'));
  expect((await sockets[0]?.reply('POST'))?.status).toBe(500);
});

test('what is written before the failure of a turn is answered and counted', async () => {
  const journal = newPath();
  const { simulator, port } = await serve({ journal });
  const long = (n: number) => sendText(simulator, `${n}`).replace('Hello', 'x'.repeat(1_590));
  const wide = (n: number) => {
    const [start = '', body = ''] = long(n).split('\r\n\r\n');
    const head = start.replace(/Content-Length: \d+/, `Content-Length: ${body.length}`);
    return `${head}\r\n\r\n${body}`;
  };
  let writes = 0;
  const fail: OnWrite = () => {
    if (++writes === 1) return undefined;
    throw diskError('EIO');
  };
  onWrites({ [journal]: fail });
  const sockets = await dialAll(port, 50);
  await Promise.all(sockets.map((socket, n) => socket.write(wide(n))));
  const statuses: number[] = [];
  for (const socket of sockets) statuses.push((await socket.reply('POST')).status);
  const answered = statuses.filter((status) => status === 202).length;
  expect(answered).toBeGreaterThan(10);
  expect(answered).toBeLessThan(50);
  expect(statuses).toEqual([...Array(answered).fill(202), ...Array(50 - answered).fill(500)]);
  expect(simulator.state().requests).toBe(answered);
  expect([...simulator.recordedRun().entries]).toHaveLength(answered);
});

/** Handles a send of which the reply waits. Returns the function that ends its turn. */
function handleWaiting(simulator: Simulator, requestId: string): () => void {
  let end = (): void => {};
  const awaits = (write: PendingWrite) => {
    end = write;
  };
  const [account] = simulator.readyFile().accounts;
  const request = postTo(servicePaths.send, { ...plainSend, request_id: requestId });
  const authorization = bearer(account?.api_key);
  expect(simulator.handle({ ...request, authorization }, awaits).status).toBe(202);
  return end;
}

test('a checkpoint in the middle of a turn has each send once', async () => {
  const journal = newPath();
  const options = { journal, journalMaxBytes: 65_536 };
  const simulator = new Simulator(settings, options);
  closeAfterTest(simulator);
  const hasCheckpoint = () =>
    readdirSync(dirname(journal)).some((name) => name.includes('.checkpoint-'));
  // Each line is written a turn after its request was handled: checkpoints begin in between.
  let end = (): void => {};
  let sent = 0;
  for (; sent < 400 || !hasCheckpoint(); sent++) {
    end();
    end = handleWaiting(simulator, `${sent}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await simulator.close();
  const again = new Simulator(settings, options);
  closeAfterTest(again);
  expect(again.state().messages.total).toBe(sent);
  expect(again.state().requests).toBe(sent);
});

test('what is done in the middle of a turn follows its requests in the journal', async () => {
  const journal = newPath();
  const simulator = new Simulator(settings, { journal });
  closeAfterTest(simulator);
  const steps = [
    () => expect(sendBy(simulator, 0, { request_id: 'in process' }).status).toBe(202),
    () => void simulator.clock.advance({ by: '1s' }),
    () => expect([...simulator.recordedRun().entries].length).toBeGreaterThan(0),
    () => simulator.referee.restart(),
  ];
  for (const [n, step] of steps.entries()) {
    const end = handleWaiting(simulator, `${n}`);
    step();
    expect(simulator.requests.list()[0]?.status).toBe(202);
    end();
  }
  handleWaiting(simulator, 'last');
  await simulator.close();
  const again = new Simulator(settings, { journal });
  closeAfterTest(again);
  expect(again.state().messages.total).toBe(steps.length + 2);
});

test('a replay names the send that it repeats, even of its own turn', async () => {
  const { simulator, port } = await serve({ journal: newPath() });
  const [socket] = await dialAll(port, 1);
  await socket?.write(['a', 'b', 'c', 'b'].map((id) => sendText(simulator, id)).join(''));
  const statuses: (number | undefined)[] = [];
  for (let n = 0; n < 4; n++) statuses.push((await socket?.reply('POST'))?.status);
  expect(statuses).toEqual([202, 202, 202, 200]);
  expect(simulator.requests.list()[0]).toMatchObject({ number: 4, repeats: 2 });
});
