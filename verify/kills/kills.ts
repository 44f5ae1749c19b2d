/**
 * Ends a serving process in the middle of a load of sends, starts it again with the same journal, and looks
 * whether anything that was acknowledged is lost or there twice; an end that is asked for must also be in good
 * order. `npm run test:kills` does it twenty times on one journal;
 * `-- --signal SIGKILL|SIGTERM|shutdown --transport hyperexpress|node` chooses how, and of whom.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { replayJournal } from '../../src/cli/replay-journal.ts';
import { transports } from '../../src/cli/serve-options.ts';
import { routeOf } from '../../src/operations/table.ts';
import { openBystanders } from '../connections/bystanders.ts';
import { runProgram, wholeFlag, wordFlag } from '../testkit/program-flags.ts';
import { checkBooks, loadUntilGone } from '../testkit/send-load.ts';
import { ServedProcess } from '../testkit/served-process.ts';

/** A signal, or the operation `simulator.shutdown`. */
const endings = ['SIGKILL', 'SIGTERM', 'shutdown'] as const;
export type Ending = (typeof endings)[number];

export interface KillPlan {
  readonly kills: number;
  /** Of a round, how many answered sends come before its end. */
  readonly afterSends: number;
  readonly ending: Ending;
  /** One more client, which never finishes its body: it may hold the end up for the whole grace. */
  readonly unfinishedBody: boolean;
  readonly transport: (typeof transports)[number];
}

export interface KillReport {
  readonly kills: number;
  /** Sends that were answered 202. */
  readonly acknowledged: number;
  /** The longest time from an ending to the end of the process. */
  readonly longestMs: number;
  /** What went wrong; empty when nothing was lost and nothing is there twice. */
  readonly complaints: readonly string[];
}

/** The promise of `serve`: SIGTERM ends it, code 0, within so long. */
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
      // The next round's process is also the one that is asked what became of this round.
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

/** Some senders, and clients that wait for nothing; the process is ended while the senders go on. */
async function endUnderLoad(
  served: ServedProcess,
  { afterSends, ending, unfinishedBody }: KillPlan,
  round: string,
  acknowledged: Map<string, string>,
): Promise<EndedRound> {
  const bystanders = await openBystanders(served, unfinishedBody);
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
  for (const bystander of bystanders) bystander.resume();
  await Promise.all(bystanders.map((bystander) => bystander.rest()));
  for (const [requestId, body] of load.acknowledged) acknowledged.set(requestId, body);
  const complaints = [...load.complaints];
  if (ending !== 'SIGKILL') {
    if (code !== 0) complaints.push(`round ${round}: exit code ${code}, signal ${signal}`);
    if (tookMs > endWithinMs) complaints.push(`round ${round}: ended after ${tookMs} ms`);
    if (served.errors !== '') complaints.push(`round ${round}: ${served.errors}`);
  }
  return { tookMs, complaints };
}

function planOf(argv: string[]): KillPlan {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      signal: { type: 'string', default: 'SIGKILL' },
      transport: { type: 'string', default: 'hyperexpress' },
    },
  });
  return {
    kills: wholeFlag('kills', positionals.at(-1) ?? '', 1, 10_000),
    afterSends: 300,
    ending: wordFlag('signal', values.signal, endings),
    unfinishedBody: true,
    transport: wordFlag('transport', values.transport, transports),
  };
}

async function main(argv: string[]): Promise<number> {
  const report = await killAndRestart(planOf(argv));
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  return report.complaints.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runProgram('test:kills', main);
