/**
 * The stream that tabs share, against servers on real ports.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createSimulator, type Simulator } from '../simulator.ts';
import { EventDesk, type News } from './page/event-desk.ts';

const kinds = ['message', 'clock'];
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function started(options: { readonly token?: string } = {}) {
  const simulator = await createSimulator({ clock: 'manual' });
  ends.push(() => simulator.close());
  const { controlUrl } = await simulator.listen({ control: options });
  return { simulator, desk: new EventDesk(`${controlUrl}/control/events`) };
}

/** A reader that keeps all events. */
function reader(desk: EventDesk, token: string | null = null) {
  const heard: News[] = [];
  const say = desk.join((news) => heard.push(news));
  ends.unshift(() => say({ token, kinds: [] }));
  const events = () => heard.filter((news) => typeof news !== 'string').flat();
  return {
    heard,
    say,
    want: () => say({ token, kinds }),
    leave: () => say({ token, kinds: [] }),
    events,
  };
}

const streams = (simulator: Simulator, count: number) =>
  expect.poll(() => simulator.activity.streams).toBe(count);

test('eight readers share one stream and hear the same', async () => {
  const { simulator, desk } = await started();
  const readers = Array.from({ length: 8 }, () => reader(desk));
  for (const { want } of readers) want();
  for (const { heard } of readers) await expect.poll(() => heard).toContain('live');
  simulator.clock.advance('1s');
  for (const { events } of readers) await expect.poll(() => events()).toHaveLength(1);
  expect(simulator.activity.streams).toBe(1);
});

test('the stream is closed when the last reader wants nothing, and opened when one does', async () => {
  const { simulator, desk } = await started();
  const [one, other] = [reader(desk), reader(desk)];
  one.want();
  other.want();
  await streams(simulator, 1);
  one.leave();
  await expect.poll(() => other.heard).toContain('live');
  expect(simulator.activity.streams).toBe(1);
  other.leave();
  await streams(simulator, 0);
  one.want();
  await streams(simulator, 1);
});

test('a kind that one reader adds comes without a gap', async () => {
  const { simulator, desk } = await started();
  const one = reader(desk);
  one.want();
  await expect.poll(() => one.heard).toContain('live');
  simulator.clock.advance('1s');
  await expect.poll(() => one.events()).toHaveLength(1);
  reader(desk).say({ token: null, kinds: ['request'] });
  simulator.clock.advance('1s');
  await expect.poll(() => one.events().map(({ kind }) => kind)).toEqual(['clock', 'clock']);
});

test('readers with different tokens share nothing, and a wrong token is refused', async () => {
  const { simulator, desk } = await started({ token: 'open-sesame' });
  const [right, wrong] = [reader(desk, 'open-sesame'), reader(desk, 'wrong')];
  right.want();
  wrong.want();
  await expect.poll(() => right.heard).toContain('live');
  await expect.poll(() => wrong.heard).toContain('refused');
  simulator.clock.advance('1s');
  await expect.poll(() => right.events()).toHaveLength(1);
  expect(wrong.events()).toEqual([]);
});

test('a broken stream resumes where it ended', async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers['last-event-id'] as string | undefined);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (asked.length === 1) response.end(': open\n\nid: 41\nevent: clock\ndata: {}\n\n');
    else response.write(': open\n\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { want, heard } = reader(
    new EventDesk(`http://127.0.0.1:${(server.address() as AddressInfo).port}/control/events`),
  );
  want();
  await expect.poll(() => asked).toEqual([undefined, '41']);
  expect(heard.filter((news) => typeof news === 'string')).toEqual(['connecting', 'live']);
});
