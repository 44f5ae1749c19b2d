/** The stream that tabs share, against servers on real ports. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Simulator } from '#src/simulator.ts';
import { EventParser, type ServerEvent, SharedEvents, type StreamState } from './shared-events.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function started(options: { readonly token?: string } = {}) {
  const simulator = new Simulator({ clock: 'manual' });
  ends.push(() => simulator.close());
  const { controlUrl } = await simulator.listen({ control: options });
  const url = `${controlUrl}/control/events?kinds=message,clock`;
  const eventsWith = (token: string | null) => new SharedEvents({ url, token });
  return { simulator, eventsWith, sharedEvents: eventsWith(null) };
}

/** A reader that keeps all states and events. */
function reader(sharedEvents: SharedEvents) {
  const states: StreamState[] = [];
  const events: ServerEvent[] = [];
  const say = sharedEvents.join((news) => {
    if ('state' in news) states.push(news.state);
    else events.push(...news.events);
  });
  ends.unshift(() => say({ isListening: false }));
  return {
    states,
    want: () => say({ isListening: true }),
    leave: () => say({ isListening: false }),
    events,
  };
}

const streams = (simulator: Simulator, count: number) =>
  expect.poll(() => simulator.activity.openStreams).toBe(count);

test('eight readers share one stream and hear the same', async () => {
  const { simulator, sharedEvents } = await started();
  const readers = Array.from({ length: 8 }, () => reader(sharedEvents));
  for (const { want } of readers) want();
  for (const { states } of readers) await expect.poll(() => states).toContain('live');
  simulator.clock.advance('1s');
  for (const { events } of readers) await expect.poll(() => events).toHaveLength(1);
  expect(simulator.activity.openStreams).toBe(1);
});

test('the stream is closed when the last reader wants nothing, and opened when one does', async () => {
  const { simulator, sharedEvents } = await started();
  const [one, other] = [reader(sharedEvents), reader(sharedEvents)];
  one.want();
  other.want();
  await streams(simulator, 1);
  one.leave();
  await expect.poll(() => other.states).toContain('live');
  expect(simulator.activity.openStreams).toBe(1);
  other.leave();
  await streams(simulator, 0);
  one.want();
  await streams(simulator, 1);
});

test('a reader that comes later hears the state, and the others get no event twice', async () => {
  const { simulator, sharedEvents } = await started();
  const one = reader(sharedEvents);
  one.want();
  await expect.poll(() => one.states).toContain('live');
  simulator.clock.advance('1s');
  await expect.poll(() => one.events).toHaveLength(1);
  const other = reader(sharedEvents);
  other.want();
  expect(other.states).toEqual(['live']);
  simulator.clock.advance('1s');
  await expect.poll(() => one.events.map(({ kind }) => kind)).toEqual(['clock', 'clock']);
  expect(other.events).toHaveLength(1);
});

test('readers with different tokens share nothing, and a wrong token is refused', async () => {
  const { simulator, eventsWith } = await started({ token: 'open-sesame' });
  const [right, wrong] = [reader(eventsWith('open-sesame')), reader(eventsWith('wrong'))];
  right.want();
  wrong.want();
  await expect.poll(() => right.states).toContain('live');
  await expect.poll(() => wrong.states).toContain('refused');
  simulator.clock.advance('1s');
  await expect.poll(() => right.events).toHaveLength(1);
  expect(wrong.events).toEqual([]);
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
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/control/events`;
  const { want, states } = reader(new SharedEvents({ url, token: null }));
  want();
  await expect.poll(() => asked).toEqual([undefined, '41']);
  expect(states).toEqual(['connecting', 'live']);
});

test('events are read whole however the stream is cut', () => {
  const text =
    ': open\n\nid: 1\nevent: message\ndata: {"a":1}\n\nid: 2\nevent: clock\ndata: {}\n\nid: 3\nev';
  for (let at = 0; at < text.length; at++) {
    const parser = new EventParser();
    const events = [...parser.parse(text.slice(0, at)), ...parser.parse(text.slice(at))];
    expect(events).toEqual([
      { id: '1', kind: 'message' },
      { id: '2', kind: 'clock' },
    ]);
  }
});
