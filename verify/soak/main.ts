/**
 * `npm run soak -- --days 30 --minutes 5 --seed 1 --transport hyperexpress|node`
 * Exit codes: 0 no complaint, 1 complaints, 2 a wrong flag.
 */
import { number, readFlags, runProgram, whole, word } from '../testkit/program-flags.ts';
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
  const { minutes, ...plan } = readFlags(argv, {
    days: whole(2, 3_650, 30),
    minutes: number(0.05, 24 * 60, 5),
    seed: whole(0, Number.MAX_SAFE_INTEGER, 1),
    transport: word('hyperexpress', 'node'),
  });
  return { ...plan, loadMs: minutes * 60_000 * loadShare };
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
