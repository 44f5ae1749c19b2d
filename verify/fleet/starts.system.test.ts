/**
 * How a fleet starts and stops: what it refuses at its start, each with one line that says what to
 * do, and what its control port answers while it stops.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { listen } from '../testkit/processes/listen.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { sample } from '../testkit/runs.ts';
import { bearer } from '../testkit/twin/request.ts';
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
});

test('a state file that is torn ends the start with exit code 2 and one line', async () => {
  const journals = join(folder, 'torn');
  const flags = ['--wide', '--shards', '2', '--journal-dir', journals];
  await (await FleetFixture.start(flags)).stop();
  const torn = [
    ['owners.json', '{"a":2}'],
    ['owners.json', ''],
    ['changes.json', '[{'],
    ['changes.json', '[{"shard":0,"asked":{}}]'],
    ['fleet.json', ''],
  ] as const;
  // `SMSTWIN_RUNS=5` tries all of them.
  for (const [name, text] of sample(torn, 1)) {
    const file = join(journals, name);
    const before = existsSync(file) ? readFileSync(file, 'utf8') : '[]';
    writeFileSync(file, text);
    expect(refusal(...flags), name).toMatch(new RegExp(`^2 [^\\n]*${name}: [^\\n]+\\n$`));
    writeFileSync(file, before);
  }
});

test('a shard that lists what is no id of ours ends the start with one line', async () => {
  const shard = await ServedProcess.start(folder, ['--trust-proxy', '--shard', '0/1']);
  await fetch(`${shard.controlUrl}/control/worlds`, { method: 'POST' });
  const foreign = createServer(async ({ url }, response) => {
    const reply = await fetch(`${shard.controlUrl}${url}`);
    response.end((await reply.text()).replaceAll(/"world_id":"w\w+"/g, '"world_id":"w 1; x"'));
  });
  const control = `http://127.0.0.1:${await listen(foreign)}`;
  const list = join(folder, 'foreign.json');
  writeFileSync(list, JSON.stringify([{ base_url: shard.baseUrl, control_url: control }]));
  const started = ServedProcess.startFleet(folder, ['--join', list]);
  await expect(started).rejects.toThrow(
    /^the process did not start: smstwin fleet: shard 0 is not a server .*: its reply to worlds\.list has an unexpected worlds\.0\.world_id\n$/,
  );
  foreign.close();
  await shard.stop();
});

test('no command line of its processes shows the token, which they require', async () => {
  const token = 'only-for-this-test';
  for (const [flags, env] of [
    [['--control-token', token], {}],
    [[], { SMSTWIN_CONTROL_TOKEN: token }],
  ] as const) {
    const served = await ServedProcess.startFleet(folder, ['--shards', '1', ...flags], env);
    const init = { headers: { authorization: `Bearer ${token}` } };
    const health = await fetch(`${served.controlUrl}/control/health`, init);
    const { shards } = (await health.json()) as { shards: { pid: number }[] };
    for (const { pid } of shards) {
      const [line, environment] = ['cmdline', 'environ'].map((name) =>
        readFileSync(`/proc/${pid}/${name}`, 'utf8'),
      );
      expect([line?.includes(token), environment?.includes('SMSTWIN_CONTROL_TOKEN')]).toEqual([
        false,
        false,
      ]);
      const port = /--control-port\0(\d+)/.exec(line ?? '')?.[1];
      const path = `http://127.0.0.1:${port}/control/health`;
      expect([(await fetch(path)).status, (await fetch(path, init)).status]).toEqual([401, 200]);
    }
    await served.stop();
  }
});

test('the temporary folder may have any name, also that of HAProxy files', async () => {
  const odd = join(folder, `my 'tmp' "$HOME" #1\\,(é)%`);
  mkdirSync(odd);
  const served = await ServedProcess.startFleet(folder, ['--shards', '1'], { TMPDIR: odd });
  const world = await fetch(`${served.controlUrl}/control/worlds`, { method: 'POST' });
  const { base_url: url } = (await world.json()) as { base_url: string };
  expect((await fetch(`${url}/api/v1/account/stats/`)).status).toBe(401);
  await served.stop();
  expect(readdirSync(odd)).toEqual([]);
});

test('what a killed fleet leaves is removed by the next one, and no folder in use', async () => {
  const temporary = join(folder, 'temporary');
  const foreign = ['smstwin-fleet-', 'smstwin-fleet-of-others', 'smstwin-other'];
  for (const name of foreign) mkdirSync(join(temporary, name), { recursive: true });
  const flags = ['--shards', '1', '--tls', 'self-signed'];
  const start = () => ServedProcess.startFleet(folder, flags, { TMPDIR: temporary });
  const keys = () =>
    readdirSync(temporary).filter((name) => existsSync(join(temporary, name, 'tls.pem')));
  const [killed, running] = [await start(), await start()];
  const before = keys();
  await killed.kill();
  const next = await start();
  const after = keys();
  expect([before.length, after.length]).toEqual([2, 2]);
  expect(after.filter((name) => before.includes(name))).toHaveLength(1);
  const health = await fetch(`${running.controlUrl}/control/health`);
  expect(health.status).toBe(200);
  await Promise.all([running.stop(), next.stop()]);
  expect(keys()).toEqual([]);
  expect(readdirSync(temporary).filter((name) => foreign.includes(name))).toEqual(foreign.sort());
});

test('a temporary folder that cannot be used, and why HAProxy ends, are one line', () => {
  const long = join(folder, 'x'.repeat(120));
  mkdirSync(long);
  for (const TMPDIR of [long, join(folder, 'missing')]) {
    const { status, stderr } = runFleet(['--port', '0', '--control-port', '0'], { TMPDIR });
    const line = /^[^\n]*: set TMPDIR to .*\n$/;
    expect([status, stderr]).toEqual([3, expect.stringMatching(line)]);
    expect(readdirSync(long)).toEqual([]);
  }
  const script = `#!/bin/sh
test "$1" = -v && exit 0
printf '[NOTICE] (7) : version\\n[ALERT]  (7) : config : the reason\\n[ALERT] (7) : config : errors\\n' >&2
exit 1
`;
  writeFileSync(join(folder, 'haproxy'), script, { mode: 0o755 });
  const ended = runFleet(['--port', '0', '--control-port', '0', '--shards', '1'], {
    PATH: `${folder}:${process.env['PATH']}`,
  });
  const line = 'smstwin fleet: HAProxy did not start (exit code 1): config : the reason\n';
  expect([ended.status, ended.stderr]).toEqual([3, line]);
});

// `SMSTWIN_RUNS=2` tries all of them.
test.each(sample([['fleet --wide'], ['serve'], ['fleet']], 2))(
  '%s says that it drains from the signal on, until what is in flight has ended',
  async (command) => {
    const [, ...flags] = command.split(' ');
    const served = command.startsWith('fleet')
      ? await ServedProcess.startFleet(folder, ['--shards', '2', ...flags])
      : await ServedProcess.start(folder);
    const { baseUrl, controlUrl, ready } = served;
    const [account] = ready.accounts;
    const match = { account_id: account?.account_id };
    const fault = { kind: 'delay', ms: 1_500 };
    const body = JSON.stringify({ match, when: { every: 1 }, fault });
    await fetch(`${controlUrl}/control/faults`, { method: 'POST', body });
    const headers = { authorization: bearer(account?.api_key) };
    const inFlight = fetch(`${baseUrl}/api/v1/account/stats/`, { headers });
    const handled = async () => {
      const state = await fetch(`${controlUrl}/control/requests?limit=1`);
      return ((await state.json()) as { requests: object[] }).requests.length;
    };
    await expect.poll(handled).toBeGreaterThan(0);
    served.signal('SIGTERM');
    const health = async () => {
      const reply = await fetch(`${controlUrl}/control/health`);
      const body = await reply.text();
      if (reply.status === 200) return 'ready';
      return `${reply.status}${/"message":"draining: /.test(body) ? ' draining' : body}`;
    };
    let isAnswered = false;
    const answer = inFlight.finally(() => {
      isAnswered = true;
    });
    let seen = '';
    // The signal may arrive after the first one, and the process may end before the last one.
    while (!isAnswered) {
      seen += `${await health().catch(() => 'closed')}, `;
      // Without a pause, the loop and the process would compute all the time.
      await pause(20);
    }
    expect(seen).toMatch(/^(ready, )*(503 draining, )+(closed, )?$/);
    expect([(await answer).status, (await served.ended).code]).toEqual([200, 0]);
  },
  60_000,
);

test.each(sample([[['--wide']], [[]]], 1))(
  'while it stops, it says so: %j',
  async (flags) => {
    const fleet = await FleetFixture.start(['--shards', '2', ...flags]);
    const shutdown = fleet.operate('POST', '/control/shutdown');
    const calls: Promise<Reply | undefined>[] = [];
    for (let n = 0; !fleet.served.hasEnded; n++) {
      const made = fleet.control('POST', '/control/accounts', { name: `account-${n}` });
      calls.push(made.catch(() => undefined));
      await pause(10);
    }
    await shutdown;
    await fleet.stop();
    const replies = (await Promise.all(calls)).filter((reply) => reply !== undefined);
    const refused = replies.filter(({ status }) => status >= 300);
    for (const { status, body } of refused) {
      const { message } = JSON.parse(body).error;
      expect([status, message]).toEqual([
        503,
        expect.stringMatching(/the fleet is stopping|^draining: /),
      ]);
    }
    // A fleet that stops at once refuses none.
    expect(calls.length).toBeGreaterThan(0);
  },
  60_000,
);
