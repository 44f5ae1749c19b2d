/** Short runs of kills, and a second SIGTERM. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { transports } from '#src/config/settings.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { longRun } from './long-run.ts';

const quick = { seed: 1, sends: 1 };

test('a killed process neither loses nor duplicates an acknowledged message', async () => {
  const plan = { ...quick, ends: ['SIGKILL'], transport: 'hyperexpress' } as const;
  const { found, keptRules, complaints } = await longRun(plan);
  expect(complaints).toEqual([]);
  expect(found).toBeGreaterThanOrEqual(100);
  expect(keptRules.length).toBeGreaterThan(15);
});

test.each(transports)(
  '%s: SIGTERM under load ends cleanly, with every 202 in the journal',
  async (transport) => {
    const { found, complaints } = await longRun({ ...quick, ends: ['SIGTERM'], transport });
    expect(complaints).toEqual([]);
    expect(found).toBeGreaterThanOrEqual(100);
  },
  240_000,
);

test('a process killed while it writes a checkpoint loses no acknowledged message', async () => {
  const plan = { sends: 1_000, journalMax: '1MiB', transport: 'hyperexpress' } as const;
  let duringCheckpoint = 0;
  // On a busy machine no kill may meet a checkpoint.
  for (let seed = 1; duringCheckpoint === 0 && seed <= 5; seed += 1) {
    const report = await longRun({ ...plan, seed, ends: ['SIGKILL', 'SIGKILL'] });
    expect(report.complaints).toEqual([]);
    expect(report.found).toBeGreaterThan(100);
    duringCheckpoint = report.duringCheckpoint;
  }
  expect(duringCheckpoint).toBeGreaterThan(0);
});

test('a second SIGTERM ends the process at once, despite requests in flight', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-second-signal-'));
  const served = await ServedProcess.start(folder);
  try {
    const fault = { when: { every: 1 }, fault: { kind: 'delay', ms: 600_000 } };
    await fetch(`${served.controlUrl}/control/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fault),
    });
    const held = fetch(`${served.baseUrl}/api/v1/account/stats/`).catch(() => 'closed');
    await answered(served, 1);
    served.signal('SIGTERM');
    while (await accepts(served.baseUrl));
    served.signal('SIGTERM');
    // A single SIGTERM would end with code 0.
    expect(await served.ended).toEqual({ code: 1, signal: null });
    expect(await held).toBe('closed');
  } finally {
    await served.kill();
    rmSync(folder, { recursive: true });
  }
});

/** Waits until the service has handled `count` requests. */
async function answered(served: ServedProcess, count: number): Promise<void> {
  for (;;) {
    const reply = await fetch(`${served.controlUrl}/control/state`);
    if (((await reply.json()) as { requests: number }).requests >= count) return;
  }
}

function accepts(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.unref();
    socket.once('connect', () => socket.destroy());
  });
}
