/**
 * The intents file: one JSON object per line, written by the client under test. It lists the messages
 * that the client meant to send, and the outcome of each that it reported.
 */
import { z } from 'zod';
import { UsageError } from '../commands/command-error.ts';
import { mistakeLine, mistakesOf } from '../config/mistakes.ts';
import { readText } from '../config/world-file.ts';

/** A message that the client meant to send, and the outcome that it reported. */
export const reportSchema = z.strictObject({
  intent: z.string().min(1),
  to: z.string(),
  from: z.string(),
  message: z.string(),
  request_id: z.string().exactOptional(),
  reported: z.enum(['accepted', 'failed']).exactOptional(),
});
export type Report = z.output<typeof reportSchema> & {
  /** All ids that the lines of the intent name. */
  readonly requestIds?: readonly string[];
};

/** Throws a UsageError that names the line, and every mistake in it. */
export function readIntentsFile(path: string): Report[] {
  const text = readText(path, '--intents');
  const lines = [...text.split('\n').entries()].filter(([, line]) => line.trim() !== '');
  return latestReports(lines.map(([at, line]) => lineOf(line, `${path}: line ${at + 1}`)));
}

/** One report of each intent: its last line counts, and it keeps all ids. */
export function latestReports(reports: readonly Report[]): Report[] {
  const byIntent = new Map<string, Report>();
  for (const report of reports) {
    const earlier = byIntent.get(report.intent);
    const ids = new Set(earlier?.requestIds);
    if (report.request_id !== undefined) ids.add(report.request_id);
    byIntent.set(report.intent, { ...earlier, ...report, requestIds: [...ids] });
  }
  return [...byIntent.values()];
}

function lineOf(line: string, place: string): Report {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new UsageError(`${place}: not a JSON object`);
  }
  const reading = reportSchema.safeParse(value, { reportInput: true });
  if (reading.success) return reading.data;
  const mistakes = mistakesOf(reading.error).map((mistake) => `${place}: ${mistakeLine(mistake)}`);
  throw new UsageError(...mistakes);
}
