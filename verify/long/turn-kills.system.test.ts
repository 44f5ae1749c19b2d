/** Kills of a process in the middle of its turns, with four worlds that record what they answer. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { servicePaths } from '#contract/routes.ts';
import { Rng } from '#src/sim/random.ts';
import { RawSocket } from '../testkit/processes/raw-socket.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { seed } from '../testkit/runs.ts';
import { plainSend } from '../testkit/twin/twin.ts';

const kills = Number(process.env['SMSTWIN_KILLS'] ?? 3);
const connections = 32;
const acknowledgedPerKill = 300;

const folder = mkdtempSync(join(tmpdir(), 'smstwin-turn-kills-'));
const journalDir = join(folder, 'journals');
const flags = ['--journal-dir', journalDir, '--no-limits', '--seed', `${seed}`];

/** The keys of four worlds; a key finds its world. */
async function createWorlds({ controlUrl, ready }: ServedProcess): Promise<string[]> {
  const keys = [ready.accounts[0]?.api_key ?? ''];
  while (keys.length < 4) {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: '{}' };
    const reply = await fetch(`${controlUrl}/control/worlds`, init);
    const { accounts } = (await reply.json()) as ServedProcess['ready'];
    keys.push(accounts[0]?.api_key ?? '');
  }
  return keys;
}

/** Sends one to three messages in a packet, again and again, until the process is killed. */
async function load(
  port: number,
  keys: readonly string[],
  rng: Rng,
  onReply: (id: string) => void,
) {
  const socket = await RawSocket.open(port);
  try {
    for (let n = 0; ; n++) {
      const ids = Array.from(
        { length: 1 + rng.below(3) },
        (_, at) => `${rng.below(2 ** 31)}-${n}-${at}`,
      );
      const texts = ids.map((request_id) => {
        const body = JSON.stringify({ ...plainSend, request_id });
        const key = keys[rng.below(keys.length)];
        return [
          `POST ${servicePaths.send} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}`,
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        ].join('\r\n');
      });
      await socket.write(texts.join(''));
      for (const id of ids) {
        expect((await socket.reply('POST')).status).toBe(202);
        onReply(id);
      }
    }
  } finally {
    socket.destroy();
  }
}

/** The ids of the sends in all journals, and the number of complete lines of each. */
function recordedIds(): string[] {
  const files = readdirSync(journalDir).filter((name) => name.endsWith('.ndjson'));
  const ids = files.map((name) => {
    const text = readFileSync(join(journalDir, name), 'utf8');
    return [...text.matchAll(/\\"request_id\\":\\"([^"\\]+)\\"/g)].map(([, id = '']) => id);
  });
  expect(ids.filter(({ length }) => length > 0)).toHaveLength(4);
  return ids.flat();
}

test('a process killed in the middle of a turn loses no acknowledged send, and has none twice', async () => {
  const rng = Rng.stream(seed, 'turn kills');
  const acknowledged: string[] = [];
  try {
    let keys: string[] | undefined;
    for (let kill = 0; kill <= kills; kill++) {
      const served = await ServedProcess.start(folder, flags);
      keys ??= await createWorlds(served);
      if (kill === kills) {
        await served.kill();
        break;
      }
      const port = Number(new URL(served.baseUrl).port);
      const before = acknowledged.length;
      const own = keys;
      const clients = Array.from({ length: connections }, () =>
        load(port, own, rng, (id) => acknowledged.push(id)).catch((error: Error) => error.name),
      );
      while (acknowledged.length < before + acknowledgedPerKill) await sleep(1);
      await sleep(rng.below(20));
      served.signal('SIGSTOP');
      await sleep(rng.below(5));
      served.signal('SIGKILL');
      for (const how of await Promise.all(clients)) expect(how).toBe('WrongReply');
    }
    const recorded = recordedIds();
    const once = new Set(recorded);
    expect(recorded).toHaveLength(once.size);
    expect(acknowledged.filter((id) => !once.has(id))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThanOrEqual(kills * acknowledgedPerKill);
    process.stdout.write(`${kills} kills: ${acknowledged.length} acknowledged, 0 lost\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 900_000);
