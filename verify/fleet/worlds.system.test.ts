/**
 * Many test processes use one fleet of three shards at the same time, each with worlds of its own.
 * `npm run test:fleet`: SMSTWIN_WORLDS of them, from SMSTWIN_CLIENTS processes.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { FleetFixture } from './fleet-fixture.ts';

const worlds = Number(process.env['SMSTWIN_WORLDS'] ?? 6);
const clients = Number(process.env['SMSTWIN_CLIENTS'] ?? 2);
const program = fileURLToPath(new URL('./world-client.ts', import.meta.url));

test(`${worlds} worlds of ${clients} processes are exact, and leave no entry in a map`, async () => {
  const fleet = await FleetFixture.start(['--shards', '3']);
  const places = new Set<string>();
  const look = async () => {
    for (const place of (await fleet.map('worlds')).values()) places.add(place);
  };
  const looking = setInterval(() => look().catch(() => {}), 100);
  try {
    const complaints = await Promise.all(
      Array.from({ length: clients }, (_, at) => {
        const own = Math.floor((worlds + at) / clients);
        return outcomeOf(
          fork(program, [fleet.served.controlUrl, `client-${at}`, `${own}`], {
            execArgv: ['--import', 'tsx'],
            stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
          }),
        );
      }),
    );
    expect(complaints.filter((text) => text !== '')).toEqual([]);
    expect([...places].sort()).toEqual(['s0', 's1', 's2']);
    const entries = async () => [(await fleet.map('worlds')).size, (await fleet.map('keys')).size];
    await expect.poll(entries, { timeout: 60_000 }).toEqual([0, 0]);
    expect(await fleet.operate('GET', '/control/worlds')).toEqual({ worlds: [] });
    expect(fleet.served.errors).toBe('');
  } finally {
    clearInterval(looking);
    await fleet.stop();
  }
}, 1_800_000);

/** Why a client failed; empty if all of its worlds were as they must be. */
function outcomeOf(child: ChildProcess): Promise<string> {
  let errors = '';
  child.stderr?.on('data', (piece: Buffer) => {
    errors += piece.toString();
  });
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code === 0 ? '' : `exit code ${code}: ${errors}`));
  });
}
