/** Connections that become idle in different ways, and how long the server leaves them open. */
import { performance } from 'node:perf_hooks';
import type { Serve } from '../../src/http/transport/transport.ts';
import { get, post } from '../testkit/raw-socket.ts';
import { dial, echo } from '../testkit/transport-fixture.ts';

export const ports: Readonly<Record<'service' | 'control', Serve>> = {
  service: { service: echo },
  control: { control: async (request) => echo(request) },
};

/** Writes, reads one reply for each request, and then stays silent. */
const habits: Readonly<Record<string, readonly string[]>> = {
  'silent from the start': [],
  'idle after a reply': [get()],
  'idle after several replies': [get(), post('x'), get()],
};

/** How long each habit's connection stayed open after its last reply, in milliseconds. */
export async function idleTimes(port: number): Promise<Readonly<Record<string, number>>> {
  const times = Object.entries(habits).map(async ([habit, requests]) => {
    const socket = await dial(port);
    for (const request of requests) {
      await socket.write(request);
      await socket.reply();
    }
    const since = performance.now();
    await socket.rest();
    return [habit, performance.now() - since] as const;
  });
  return Object.fromEntries(await Promise.all(times));
}
