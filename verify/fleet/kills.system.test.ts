/**
 * Ends processes of a fleet in a flood of sends: shards and HAProxy by SIGKILL, and a shard is
 * stopped for a while. Then no minute has more than 120 sends of an account, every acknowledged
 * message exists once, and every retry with its id finds it.
 * `npm run test:fleet-kills`: SMSTWIN_KILLS of them, in narrow worlds and in a wide one.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ServedProcess } from '../testkit/served-process.ts';
import { wideWorld } from './fleet-fixture.ts';
import { Flood, type KillPlan, type KillReport } from './flood.ts';

const manyKills = Number(process.env['SMSTWIN_KILLS'] ?? 0);
const longPlan = { kills: manyKills, seed: 1, stopMs: 10_000, shards: 3 };
const plans: readonly KillPlan[] =
  manyKills === 0
    ? [{ kills: 2, seed: 4, wide: false, stopMs: 0, shards: 2 }]
    : [false, true].map((wide) => ({ ...longPlan, wide }));

test.each(plans)(
  'processes that are killed in a flood lose and double nothing: %j',
  async (plan) => {
    const { log, ...report } = await killInFlood(plan);
    if (manyKills > 0) process.stdout.write(`${log}${JSON.stringify({ ...plan, ...report })}\n`);
    expect(report.complaints).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(100);
  },
  3_600_000,
);

async function killInFlood(plan: KillPlan): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-kills-'));
  const world = join(folder, 'world.json');
  writeFileSync(world, JSON.stringify(wideWorld));
  const flags = [
    '--shards',
    `${plan.shards}`,
    '--shard-timeout',
    '60s',
    '--journal-dir',
    join(folder, 'j'),
  ];
  const more = plan.wide ? ['--wide', '--world', world] : [];
  const served = await ServedProcess.startFleet(folder, [...flags, ...more]);
  try {
    return await new Flood(plan, served).run();
  } finally {
    await served.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
