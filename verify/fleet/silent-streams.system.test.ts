/**
 * Streams on which nothing happens, in real time: proxies cut a connection that is silent for long.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ServedProcess } from '../testkit/processes/served-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'streams-'));
const running: ServedProcess[] = [];
afterAll(async () => {
  await Promise.all(running.map((served) => served.stop()));
  rmSync(folder, { recursive: true });
});

/** Reads a stream of events until a comment has come `count` times. Returns all that came. */
async function untilComments(controlUrl: string, count: number): Promise<string> {
  const { body } = await fetch(`${controlUrl}/control/events`);
  let received = '';
  for await (const piece of body ?? []) {
    received += Buffer.from(piece).toString();
    if (received.split(/^:/m).length > count) break;
  }
  return received;
}

test('a stream without events sends comments: of a server on each transport, and of both kinds of fleet', async () => {
  const manual = ['--clock', 'manual'];
  running.push(
    await ServedProcess.start(folder, manual),
    await ServedProcess.start(folder, [...manual, '--transport', 'node']),
    await ServedProcess.startFleet(folder, [...manual, '--shards', '2']),
    await ServedProcess.startFleet(folder, [...manual, '--shards', '2', '--wide']),
  );
  const streams = running.map(({ controlUrl }) => untilComments(controlUrl, 2));
  for (const received of await Promise.all(streams))
    expect(received).toMatch(/^: open\n\n(?:event: .*\ndata: .*\n\n)*: open\n\n$/);
});
