/**
 * The intents file: one JSON object per line, written by the client under test. It lists the messages
 * that the client meant to send, and the outcome of each that it reported.
 */
import { z } from 'zod';
import { UsageError } from '../commands/command-error.ts';
import { many } from '../commands/table.ts';
import { mistakeLine, mistakesOf } from '../config/mistakes.ts';
import { readText } from '../config/world-file.ts';

/** A message that the client meant to send, and the outcome that it reported. */
export const reportSchema = z.strictObject({
  intent: z.string().min(1),
  to: z.string(),
  from: z.string(),
  message: z.string(),
  request_id: z.string().exactOptional(),
  reported: z.enum(['accepted', 'delivered', 'failed']).exactOptional(),
});
export type Report = z.output<typeof reportSchema> & {
  /** Every line of the intent; by default this one alone. */
  readonly lines?: readonly Report[];
};

/** Throws a UsageError that names every mistake of every line. */
export function readIntentsFile(path: string): Report[] {
  const text = readText(path, '--intents');
  const reports: Report[] = [];
  const mistakes: string[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const reading = lineOf(line);
    if (Array.isArray(reading))
      mistakes.push(...reading.map((one) => `${path}: line ${at + 1}: ${one}`));
    else reports.push(reading);
  }
  const more = mistakes.splice(shownMistakes).length;
  if (more > 0) mistakes.push(`${path}: and ${many(more, 'more mistake')}`);
  if (mistakes.length > 0) throw new UsageError(...mistakes);
  return latestReports(reports);
}

const shownMistakes = 100;

/** One report of each intent: its last line counts, and it keeps all lines. */
export function latestReports(reports: readonly Report[]): Report[] {
  const linesOf = new Map<string, Report[]>();
  for (const report of reports) {
    const lines = linesOf.get(report.intent);
    if (lines === undefined) linesOf.set(report.intent, [report]);
    else lines.push(report);
  }
  return [...linesOf.values()].map((lines) => Object.assign({}, ...lines, { lines }) as Report);
}

/** The report of a line, or its mistakes. */
function lineOf(line: string): Report | string[] {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return ['not a JSON object'];
  }
  const reading = reportSchema.safeParse(value, { reportInput: true });
  return reading.success ? reading.data : mistakesOf(reading.error).map(mistakeLine);
}
