/**
 * Ends processes of a fleet in a flood of sends: shards and HAProxy by SIGKILL, and a shard is
 * stopped for a while. Then no minute has more than 120 sends of an account, every acknowledged
 * message exists once, and every retry with its id finds it.
 * `npm run test:fleet-kills`: SMSTWIN_KILLS of them, drawn from SMSTWIN_SEED, in narrow worlds and
 * in a wide one.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ReadyNumbers } from '#src/operations/worlds/world-view.ts';
import { Rng } from '#src/sim/random.ts';
import { Caller } from '../long/caller.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { seed } from '../testkit/runs.ts';
import { sendPaths } from '../testkit/twin/request.ts';
import { wideWorld } from './fleet-fixture.ts';

const manyKills = Number(process.env['SMSTWIN_KILLS'] ?? 0);
const plans = [
  ...(manyKills === 0 ? [{ kills: 2, seed: 4, wide: false, stopMs: 0, shards: 2 }] : []),
  ...(manyKills === 0
    ? []
    : [false, true].map((wide) => ({
        kills: manyKills,
        seed,
        wide,
        stopMs: 10_000,
        shards: 3,
      }))),
];

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

interface KillPlan {
  readonly kills: number;
  readonly seed: number;
  readonly wide: boolean;
  readonly shards: number;
  /** How long a shard is stopped at the end; 0: not at all. */
  readonly stopMs: number;
}

interface KillReport {
  readonly acknowledged: number;
  readonly throttled: number;
  /** Sends whose connection ended without a reply; each was repeated. */
  readonly cutOff: number;
  readonly complaints: readonly string[];
  readonly log: string;
}

interface Target {
  readonly key: string;
  readonly from: string;
  readonly accountId: string;
  readonly controlPath: string;
}

const targetCount = 12;
const loopsPerTarget = 2;
const limit = 120;
const windowMs = 60_000;
const throttledPauseMs = 40;

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

class Flood {
  readonly #plan: KillPlan;
  readonly #served: ServedProcess;
  readonly #caller = new Caller();
  readonly #chance: Rng;
  readonly #bodies = new Map<string, { readonly target: Target; readonly body: string }>();
  /** Sends whose reply was lost, and whose repetitions were throttled until the end. */
  readonly #unseen: { readonly target: Target; readonly id: string }[] = [];
  readonly #complaints: string[] = [];
  #throttled = 0;
  #cutOff = 0;
  #isOver = false;

  constructor(plan: KillPlan, served: ServedProcess) {
    this.#plan = plan;
    this.#served = served;
    this.#chance = Rng.stream(plan.seed, 'fleet-kills');
  }

  async run(): Promise<KillReport> {
    const targets = await this.#targets();
    const loops = targets.flatMap((target, at) =>
      Array.from({ length: loopsPerTarget }, (_, loop) => this.#sendOn(target, `${at}-${loop}`)),
    );
    for (let kill = 0; kill < this.#plan.kills; kill++) {
      await sleep(300 + this.#chance.below(900));
      await this.#kill(kill % 5 === 1 ? 'haproxy' : 'shard');
    }
    if (this.#plan.stopMs > 0) await this.#stopOne();
    this.#isOver = true;
    await Promise.all(loops);
    await this.#healthy();
    await this.#audit(targets);
    this.#caller.leave();
    return {
      acknowledged: this.#bodies.size,
      throttled: this.#throttled,
      cutOff: this.#cutOff,
      complaints: this.#complaints,
      log: this.#served.errors,
    };
  }

  async #targets(): Promise<readonly Target[]> {
    if (this.#plan.wide) {
      const { accounts, pool } = this.#served.ready;
      return accounts.map(({ api_key: key, account_id: accountId, sims }) => {
        return { key, accountId, from: sims[0]?.number ?? pool[0]?.number ?? '', controlPath: '' };
      });
    }
    const targets: Target[] = [];
    for (let n = 0; n < targetCount; n++) {
      const world = await this.#control<ReadyNumbers & { world_id: string }>(
        'POST',
        '/control/worlds',
        {},
      );
      const [account] = world.accounts;
      targets.push({
        key: account?.api_key ?? '',
        accountId: account?.account_id ?? '',
        from: account?.sims[0]?.number ?? '',
        controlPath: `/w/${world.world_id}`,
      });
    }
    return targets;
  }

  async #sendOn(target: Target, name: string): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      let isUnseen = false;
      for (;;) {
        const answer = await this.#send(target, `${name}-${n}`);
        if (answer === undefined) {
          isUnseen = true;
          this.#cutOff++;
        } else if (answer.status === 429) {
          this.#throttled++;
          if (this.#isOver) {
            if (isUnseen) this.#unseen.push({ target, id: `${name}-${n}` });
            return;
          }
          await sleep(throttledPauseMs);
        } else {
          const isAccepted = answer.status === 202 || answer.status === 200;
          if (isAccepted) this.#bodies.set(`${name}-${n}`, { target, body: answer.body });
          else this.#complaints.push(`${name}-${n} is answered ${answer.status} ${answer.body}`);
          break;
        }
      }
    }
  }

  #send({ key, from }: Target, requestId: string) {
    const fields = { to: '+12025550123', from, message: 'Hi', request_id: requestId };
    const call = { method: 'POST', path: sendPaths.send, key, body: JSON.stringify(fields) };
    return this.#caller.call(this.#served.baseUrl, call);
  }

  async #kill(kind: 'shard' | 'haproxy'): Promise<void> {
    await this.#healthy();
    const pid = kind === 'shard' ? await this.#shardPid() : haproxyOf(this.#served.ready.pid);
    process.kill(pid, 'SIGKILL');
  }

  async #stopOne(): Promise<void> {
    await this.#healthy();
    const pid = await this.#shardPid();
    process.kill(pid, 'SIGSTOP');
    await sleep(this.#plan.stopMs);
    process.kill(pid, 'SIGCONT');
    await this.#healthy();
    if (!/shard \d does not answer/.test(this.#served.errors))
      this.#complaints.push('the log does not name the shard that was stopped');
  }

  async #shardPid(): Promise<number> {
    const { shards } = await this.#control<{ shards: { pid: number }[] }>('GET', '/control/health');
    return shards[this.#chance.below(shards.length)]?.pid ?? 0;
  }

  async #healthy(): Promise<void> {
    const path = '/control/health';
    for (;;) {
      const answer = await this.#caller.call(this.#served.controlUrl, { method: 'GET', path });
      if (answer?.status === 200) return;
      await sleep(50);
    }
  }

  async #audit(targets: readonly Target[]): Promise<void> {
    for (const target of targets) {
      await this.#control('PATCH', `${target.controlPath}/control/limits`, { send: null });
      let late = 0;
      for (const { id } of this.#unseen.filter((one) => one.target === target)) {
        const answer = await this.#send(target, id);
        if (answer?.status === 200) this.#bodies.set(id, { target, body: answer.body });
        else late++;
      }
      const own = [...this.#bodies].filter(([, each]) => each.target === target);
      const times: number[] = [];
      for (const [id, { body }] of own) {
        const again = await this.#send(target, id);
        if (again?.status !== 200 || again.body !== body) {
          this.#complaints.push(
            `the retry of ${id} is ${again?.status} ${again?.body}, not ${body}`,
          );
        }
        const message = JSON.parse(body) as { message_id: string; created_at: string };
        await this.#control('GET', `${target.controlPath}/control/messages/${message.message_id}`);
        times.push(Date.parse(message.created_at));
      }
      const path = `${target.controlPath}/control/accounts/${target.accountId}`;
      const { messages } = await this.#control<{ messages: Record<string, number> }>('GET', path);
      const held = Object.values(messages).reduce((sum, count) => sum + count, 0);
      const sent = own.length + late;
      if (held !== sent) this.#complaints.push(`${held} messages for ${sent} sends`);
      times.sort((one, other) => one - other);
      for (const [at, time] of times.entries()) {
        const before = times[at - limit];
        if (before !== undefined && time - before < windowMs)
          this.#complaints.push(`${limit + 1} sends in ${time - before} ms`);
      }
    }
  }

  async #control<T>(method: string, path: string, body?: object): Promise<T> {
    const call = { method, path, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const answer = await this.#caller.call(this.#served.controlUrl, call);
    if (answer === undefined || answer.status >= 300) {
      this.#complaints.push(`${method} ${path} is ${answer?.status} ${answer?.body}`);
      return {} as T;
    }
    return JSON.parse(answer.body) as T;
  }
}

/** The HAProxy of a fleet, which is a child of its process. */
function haproxyOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  const own = children.find((each) => readFileSync(`/proc/${each}/comm`, 'utf8') === 'haproxy\n');
  return Number(own);
}
