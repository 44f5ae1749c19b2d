/**
 * What a server and a fleet say of their own life: each line with its time, as JSON where the log
 * is.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ServedProcess } from '../testkit/processes/served-process.ts';

const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/.source;

async function linesOf(start: (folder: string) => Promise<ServedProcess>, isKilled = false) {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-life-'));
  const served = await start(folder);
  if (isKilled) {
    const reply = await fetch(`${served.controlUrl}/control/health`);
    const { shards } = (await reply.json()) as { readonly shards: readonly { pid: number }[] };
    process.kill(shards[1]?.pid ?? 0, 'SIGKILL');
    await expect.poll(() => served.errors).toContain('shard 1 runs again');
  }
  served.signal('SIGTERM');
  await served.ended;
  rmSync(folder, { recursive: true, force: true });
  return served.errors.trim().split('\n');
}

/** The part of a notice that is the same in each run. */
function noticeOf(line: string): string {
  const { time: at, notice } = JSON.parse(line) as {
    readonly time: string;
    readonly notice: string;
  };
  expect(at).toMatch(new RegExp(`^${time}$`));
  return notice.replace(/[ :].*/, '');
}

test('serve --log json: its start, its drain and its end are JSON', async () => {
  const lines = await linesOf((folder) => ServedProcess.start(folder, ['--log', 'json']));
  expect(lines.map(noticeOf)).toEqual(['started', 'stopping', 'stopped']);
});

test('serve --log text: each of them opens with the time', async () => {
  const lines = await linesOf((folder) => ServedProcess.start(folder, ['--log', 'text']));
  expect(lines).toEqual(
    ['started: ', 'stopping: ', 'stopped'].map((what) =>
      expect.stringMatching(new RegExp(`^smstwin: ${time} ${what}`)),
    ),
  );
});

test('fleet --log json: the end and return of a shard are JSON with the time, too', async () => {
  const start = (folder: string) =>
    ServedProcess.startFleet(folder, ['--shards', '2', '--log', 'json']);
  const all = await linesOf(start, true);
  // A shard has lines of its own, which the fleet passes on from whenever it reads them.
  const lines = all.filter((line) => !('shard' in (JSON.parse(line) as object)));
  const notices = lines.map((line) => (JSON.parse(line) as { readonly notice: string }).notice);
  expect(lines.map(noticeOf)).toEqual(['started', 'shard', 'shard', 'stopping', 'stopped']);
  expect(notices[1]).toMatch(/^shard 1 ended \(SIGKILL\)/);
  expect(notices[2]).toBe('shard 1 runs again');
});

test('fleet: without --log, what happens to a shard has its time', async () => {
  const start = (folder: string) => ServedProcess.startFleet(folder, ['--shards', '2']);
  const lines = await linesOf(start, true);
  expect(lines).toEqual([
    expect.stringMatching(new RegExp(`^smstwin: ${time} shard 1 ended \\(SIGKILL`)),
    expect.stringMatching(new RegExp(`^smstwin: ${time} shard 1 runs again$`)),
  ]);
});
