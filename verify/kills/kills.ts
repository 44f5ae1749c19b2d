/**
 * Ends a serving process under a load of sends, restarts it with the same journal, and checks that
 * no acknowledged message is lost or duplicated; requested ends must also be clean.
 * `npm run test:kills` does this twenty times on one journal; `-- --signal SIGKILL|SIGTERM|shutdown
 * --transport hyperexpress|node` selects the end and the transport.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { replayJournal } from '../../src/cli/replay-journal.ts';
import type { transports } from '../../src/cli/serve-options.ts';
import { routeOf } from '../../src/operations/table.ts';
import { openKeptConnections } from '../connections/kept-connections.ts';
import { readFlags, runProgram, whole, word } from '../testkit/program-flags.ts';
import { checkBooks, loadUntilGone } from '../testkit/send-load.ts';
import { ServedProcess } from '../testkit/served-process.ts';

/** A signal, or the operation `simulator.shutdown`. */
const endings = ['SIGKILL', 'SIGTERM', 'shutdown'] as const;
export type Ending = (typeof endings)[number];

export interface KillPlan {
  readonly kills: number;
  /** Answered sends of a round before its end. */
  readonly afterSends: number;
  readonly ending: Ending;
  /** Adds a client that never finishes its body, which may delay the end for the whole grace. */
  readonly unfinishedBody: boolean;
  readonly transport: (typeof transports)[number];
}

export interface KillReport {
  readonly kills: number;
  /** Sends answered 202. */
  readonly acknowledged: number;
  /** The longest time from an ending to the end of the process. */
  readonly longestMs: number;
  /** Everything that went wrong; empty if nothing was lost or duplicated. */
  readonly complaints: readonly string[];
}

/** The promise of `serve`: SIGTERM ends it with code 0 within this time. */
const endWithinMs = 5_000;

export async function killAndRestart(plan: KillPlan): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-kills-'));
  const journal = join(folder, 'run.ndjson');
  const flags = ['--no-limits', '--journal', journal, '--transport', plan.transport];
  const acknowledged = new Map<string, string>();
  const complaints: string[] = [];
  let longestMs = 0;
  let served: ServedProcess | undefined;
  try {
    served = await ServedProcess.start(folder, flags);
    for (let round = 0; round < plan.kills; round++) {
      const ended = await endUnderLoad(served, plan, String(round), acknowledged);
      complaints.push(...ended.complaints);
      longestMs = Math.max(longestMs, ended.tookMs);
      // The process of the next round also reports what the journal holds of this round.
      served = await ServedProcess.start(folder, flags);
      complaints.push(...(await checkBooks(served.ready, acknowledged)));
    }
    await served.kill();
    const { differing, differences } = replayJournal(journal);
    if (differing > 0) complaints.push(`the replay differs: ${JSON.stringify(differences[0])}`);
    return { kills: plan.kills, acknowledged: acknowledged.size, longestMs, complaints };
  } finally {
    await served?.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface EndedRound {
  readonly tookMs: number;
  readonly complaints: readonly string[];
}

/** Runs senders and idle clients, and ends the process while the senders continue. */
async function endUnderLoad(
  served: ServedProcess,
  { afterSends, ending, unfinishedBody }: KillPlan,
  round: string,
  acknowledged: Map<string, string>,
): Promise<EndedRound> {
  const connections = await openKeptConnections(served, unfinishedBody);
  const startedMs: number[] = [];
  const end = (): void => {
    startedMs.push(performance.now());
    if (ending !== 'shutdown') served.signal(ending);
    else
      void fetch(`${served.controlUrl}${routeOf('simulator.shutdown').path}`, {
        method: 'POST',
      }).catch(() => {});
  };
  const took = served.ended.then(() => performance.now() - (startedMs[0] ?? 0));
  const senders = ending === 'SIGKILL' ? 8 : 64;
  const load = await loadUntilGone(served, { senders, afterSends, round, end });
  const [{ code, signal }, tookMs] = await Promise.all([served.ended, took]);
  for (const connection of connections) connection.resume();
  await Promise.all(connections.map((connection) => connection.rest()));
  for (const [requestId, body] of load.acknowledged) acknowledged.set(requestId, body);
  const complaints = [...load.complaints];
  if (ending !== 'SIGKILL') {
    if (code !== 0) complaints.push(`round ${round}: exit code ${code}, signal ${signal}`);
    if (tookMs > endWithinMs) complaints.push(`round ${round}: ended after ${tookMs} ms`);
    if (served.errors !== '') complaints.push(`round ${round}: ${served.errors}`);
  }
  return { tookMs, complaints };
}

function planOf(argv: readonly string[]): KillPlan {
  const { signal, transport, kills } = readFlags(
    argv,
    { signal: word(...endings), transport: word('hyperexpress', 'node') },
    { kills: whole(1, 10_000, 20) },
  );
  return { kills, afterSends: 300, ending: signal, unfinishedBody: true, transport };
}

async function main(argv: string[]): Promise<number> {
  const report = await killAndRestart(planOf(argv));
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  return report.complaints.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runProgram('test:kills', main);
