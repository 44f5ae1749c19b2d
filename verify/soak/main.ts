/**
 * `npm run soak -- --days 30 --minutes 5 --seed 1 --transport hyperexpress|node`
 * Exit codes: 0 no complaint, 1 complaints, 2 a wrong flag.
 */
import { parseArgs } from 'node:util';
import { transports } from '../../src/cli/serve-options.ts';
import { numberFlag, runProgram, wholeFlag, wordFlag } from '../testkit/program-flags.ts';
import { type SoakPlan, type SoakReport, soak } from './soak.ts';

/** The load's share of the whole time; the rest is for restarts and the audit. */
const loadShare = 0.6;
const shownComplaints = 20;

async function main(argv: string[]): Promise<number> {
  const plan = planOf(argv);
  const startedMs = performance.now();
  const seconds = () => Math.round((performance.now() - startedMs) / 1_000);
  const say = (line: string) =>
    process.stdout.write(`${String(seconds()).padStart(4)} s  ${line}\n`);
  const report = await soak({ ...plan, onProgress: say }).catch((error: unknown) => {
    say(`the run failed: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (report === undefined) return 1;
  for (const line of summaryOf(plan, report)) say(line);
  return report.complaints.length === 0 ? 0 : 1;
}

function planOf(argv: string[]): SoakPlan {
  const { values } = parseArgs({
    args: argv,
    options: {
      days: { type: 'string', default: '30' },
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string', default: '1' },
      transport: { type: 'string', default: 'hyperexpress' },
    },
  });
  const minutes = numberFlag('minutes', values.minutes, 0.05, 24 * 60);
  return {
    days: wholeFlag('days', values.days, 2, 3_650),
    loadMs: minutes * 60_000 * loadShare,
    seed: wholeFlag('seed', values.seed, 0, Number.MAX_SAFE_INTEGER),
    transport: wordFlag('transport', values.transport, transports),
  };
}

function summaryOf({ days, seed, transport }: SoakPlan, report: SoakReport): string[] {
  const { restarts, heapBytes, complaints } = report;
  const mega = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  return [
    `${days} days, seed ${seed}, ${transport}: ${report.requests} requests, ` +
      `${report.unanswered} unanswered under faults and restarts`,
    `answers: ${countsText(report.answers)}; replays: ${report.replays}`,
    `messages acknowledged: ${report.acknowledged}; found: ${countsText(report.messages)}`,
    `restarts: ${countsText(restarts)}; longest SIGTERM ${Math.round(report.longestEndMs)} ms`,
    `journals: ${mega(report.journalBytes)}, ${report.inputs} inputs replayed, ` +
      `${report.admitted} admitted requests recounted`,
    `heap: ${mega(heapBytes.atStart)} at the start, ${mega(heapBytes.loaded)} loaded, ` +
      `${mega(heapBytes.afterReset)} after a reset`,
    `handles after a reset: ${report.handles}`,
    complaints.length === 0 ? 'no complaint' : `${complaints.length} complaints:`,
    ...complaints.slice(0, shownComplaints),
  ];
}

function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

await runProgram('soak', main);
