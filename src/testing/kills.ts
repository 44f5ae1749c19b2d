/**
 * Kills a serving process in the middle of a load of sends, starts it again with the same journal, and looks
 * whether anything that was acknowledged is lost or there twice. `npx tsx src/testing/kills.ts 20` does it twenty
 * times on one journal.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { replayJournal } from '../journal/replay.ts';
import { createSimulator, type ReadyFile } from '../simulator.ts';

const thisFile = fileURLToPath(import.meta.url);
const senders = 8;
const startWithinMs = 60_000;

export interface KillReport {
  readonly kills: number;
  /** Sends that were answered 202. */
  readonly acknowledged: number;
  /** What went wrong; empty when nothing was lost and nothing is there twice. */
  readonly complaints: readonly string[];
}

interface Running {
  readonly process: ChildProcess;
  readonly ready: ReadyFile;
}

/** `afterSends`: how many acknowledged sends of a round come before its kill. */
export async function killAndRestart(kills: number, afterSends: number): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-kills-'));
  const journal = join(folder, 'run.ndjson');
  /** Body of the 202 by request_id. */
  const acknowledged = new Map<string, string>();
  const complaints: string[] = [];
  let running: Running | undefined;
  try {
    for (let round = 0; round < kills; round++) {
      running = await startServing(folder, journal, round);
      await load(running, round, afterSends, acknowledged);
      running = await startServing(folder, journal, kills + round);
      complaints.push(...(await check(running, acknowledged)));
      await kill(running.process);
    }
    const { differing, differences } = replayJournal(journal);
    if (differing > 0) complaints.push(`the replay differs: ${JSON.stringify(differences[0])}`);
    return { kills, acknowledged: acknowledged.size, complaints };
  } finally {
    if (running !== undefined) await kill(running.process);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Several senders at once; the process is killed while they go on. */
async function load(
  { process: child, ready }: Running,
  round: number,
  afterSends: number,
  acknowledged: Map<string, string>,
): Promise<void> {
  let answered = 0;
  let isKilled = false;
  const sendOn = async (sender: number) => {
    for (let n = 0; !isKilled; n++) {
      const requestId = `${round}-${sender}-${n}`;
      const reply = await send(ready, requestId).catch(() => undefined);
      if (reply?.status === 202) acknowledged.set(requestId, reply.body);
      answered++;
      if (answered === afterSends) {
        isKilled = true;
        child.kill('SIGKILL');
      }
    }
  };
  await Promise.all(Array.from({ length: senders }, (_, sender) => sendOn(sender)));
  await kill(child);
}

/** Every acknowledged message is there once, and its request_id is answered 200 with the first bytes. */
async function check({ ready }: Running, acknowledged: Map<string, string>): Promise<string[]> {
  const complaints: string[] = [];
  const found = await requestIds(ready);
  for (const [requestId, body] of acknowledged) {
    const times = found.get(requestId) ?? 0;
    if (times !== 1) complaints.push(`${requestId} is there ${times} times`);
    const replay = await send(ready, requestId);
    if (replay.status !== 200 || replay.body !== body) {
      complaints.push(`${requestId} is answered ${replay.status} ${replay.body}`);
    }
  }
  for (const [requestId, times] of found) {
    if (times > 1) complaints.push(`${requestId} is there ${times} times`);
  }
  return complaints;
}

async function requestIds(ready: ReadyFile): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = cursor === '' ? '' : `&cursor=${cursor}`;
    const reply = await fetch(`${ready.control_url}/control/messages?limit=1000${query}`);
    const page = (await reply.json()) as {
      messages: { request_id: string }[];
      next_cursor: string | null;
    };
    for (const { request_id: id } of page.messages) found.set(id, (found.get(id) ?? 0) + 1);
    cursor = page.next_cursor;
  }
  return found;
}

async function send(
  { base_url: baseUrl, accounts: [account] }: ReadyFile,
  requestId: string,
): Promise<{ status: number; body: string }> {
  const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${account?.api_key}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      to: '+12025550123',
      from: account?.sims[0]?.number,
      message: 'Hello',
      request_id: requestId,
    }),
  });
  return { status: reply.status, body: await reply.text() };
}

async function startServing(folder: string, journal: string, start: number): Promise<Running> {
  const readyFile = join(folder, `ready-${start}.json`);
  const args = ['--import', 'tsx', thisFile, 'serve', journal, readyFile];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const until = performance.now() + startWithinMs;
  while (!existsSync(readyFile)) {
    if (child.exitCode !== null || performance.now() > until) {
      throw new Error(`the process did not start (exit ${child.exitCode})`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return { process: child, ready: JSON.parse(readFileSync(readyFile, 'utf8')) as ReadyFile };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

/** The process that is killed: serves with a journal, and says where. */
async function serve(journal: string, readyFile: string): Promise<void> {
  const simulator = await createSimulator({ noLimits: true }, { journal });
  await simulator.listen({ control: {} });
  writeFileSync(`${readyFile}.tmp`, JSON.stringify(simulator.readyFile()));
  renameSync(`${readyFile}.tmp`, readyFile);
}

async function main([first = '20', journal = '', readyFile = '']: string[]): Promise<void> {
  if (first === 'serve') return serve(journal, readyFile);
  const report = await killAndRestart(Number(first), 300);
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  process.exitCode = report.complaints.length === 0 ? 0 : 1;
}

if (process.argv[1] === thisFile) await main(process.argv.slice(2));
