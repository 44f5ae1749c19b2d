/**
 * How a fleet starts and stops: what it refuses at its start, each with one line that says what to
 * do, and what its control port answers while it stops.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { FleetFixture, type Reply, runFleet } from './fleet-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'fleet-starts-'));
afterAll(() => rmSync(folder, { recursive: true }));

function refusal(...flags: readonly string[]): string {
  const { status, stderr } = runFleet(['--port', '0', '--control-port', '0', ...flags]);
  return `${status} ${stderr.replace(/^smstwin fleet: /, '')}`;
}

test('shards that run elsewhere must be there, and named in a file', () => {
  const list = join(folder, 'shards.json');
  const url = 'http://127.0.0.1:1';
  writeFileSync(list, JSON.stringify([{ base_url: url, control_url: url }]));
  expect(refusal('--join', list)).toMatch(
    /^3 http:\/\/127\.0\.0\.1:1 cannot be joined \(.*ECONNREFUSED.*\): start this shard first, or correct .*\n$/,
  );
  expect(refusal('--join', join(folder, 'none.json'))).toBe(
    `2 --join ${folder}/none.json: there is no such file; check the path\n`,
  );
  expect(refusal('--join', list, '--shards', '2')).toMatch(/^2 --join .* leave out --shards\n$/);
  expect(refusal('--shard', '0/2')).toMatch(/^2 --shard is a flag of serve.*\n$/);
});

test('a folder of journals is continued with the same settings only', async () => {
  const journals = ['--journal-dir', join(folder, 'journals')];
  const first = await FleetFixture.start(['--shards', '2', ...journals]);
  await first.stop();
  expect(refusal('--shards', '1', ...journals)).toMatch(/^2 .*: recorded with --shards 2; .*\n$/);
  expect(refusal('--wide', ...journals)).toMatch(/^2 .*: recorded without --wide; .*\n$/);
  expect(refusal('--seed', '2', ...journals)).toMatch(/^2 .*recorded with another seed.*\n$/);
  const clock = ['--clock', 'manual'];
  expect(refusal(...clock, ...journals)).toMatch(/^2 .*recorded with another clock.*\n$/);
  const again = await FleetFixture.start(['--shards', '2', ...journals]);
  await again.stop();
}, 120_000);

test.each([[[]], [['--wide']]])(
  'while it stops, it says so: %j',
  async (flags) => {
    const fleet = await FleetFixture.start(['--shards', '2', ...flags]);
    const shutdown = fleet.operate('POST', '/control/shutdown');
    const calls: Promise<Reply | undefined>[] = [];
    for (let n = 0; !fleet.served.hasEnded; n++) {
      const made = fleet.control('POST', '/control/accounts', { name: `account-${n}` });
      calls.push(made.catch(() => undefined));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await shutdown;
    await fleet.stop();
    const replies = (await Promise.all(calls)).filter((reply) => reply !== undefined);
    const refused = replies.filter(({ status }) => status >= 300);
    for (const { status, body } of refused) {
      const { message } = JSON.parse(body).error;
      expect([status, message]).toEqual([503, expect.stringMatching(/the fleet is stopping/)]);
    }
    // A fleet that stops at once refuses none.
    expect(calls.length).toBeGreaterThan(0);
  },
  60_000,
);
