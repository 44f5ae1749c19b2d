/** What a soak is asked to do and what it has found, and the summary that it prints at its end. */
import type { transports } from '#src/config/settings.ts';
import type { Closing } from './closing.ts';

export interface SoakPlan {
  readonly days: number;
  /** Real milliseconds of load, without restarts. */
  readonly loadMs: number;
  readonly seed: number;
  readonly transport: (typeof transports)[number];
  /** Called with a line of progress. */
  readonly onProgress?: ((line: string) => void) | undefined;
}

export interface SoakReport extends Closing {
  readonly requests: number;
  /** Number of answers per status. */
  readonly answers: Readonly<Record<string, number>>;
  readonly unanswered: number;
  readonly replays: number;
  /** How often each event happened. */
  readonly events: Readonly<Record<string, number>>;
  readonly longestEndMs: number;
  readonly complaints: readonly string[];
}

const shownComplaints = 20;

export function summaryOf({ days, seed, transport }: SoakPlan, report: SoakReport): string[] {
  const { heapBytes, complaints } = report;
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  return [
    `${days} days, seed ${seed}, ${transport}: ${report.requests} requests, ` +
      `${report.unanswered} unanswered under faults and restarts`,
    `answers: ${countsText(report.answers)}; replays: ${report.replays}`,
    `messages acknowledged: ${report.acknowledged}; found: ${countsText(report.messages)}`,
    `events: ${countsText(report.events)}; longest SIGTERM ${Math.round(report.longestEndMs)} ms`,
    `journals: ${megabytes(report.journalBytes)}, ${report.inputs} inputs replayed, ` +
      `${report.admitted} admitted requests recounted`,
    `heap: ${megabytes(heapBytes.atStart)} at the start, ${megabytes(heapBytes.loaded)} loaded, ` +
      `${megabytes(heapBytes.afterReset)} after a reset`,
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
