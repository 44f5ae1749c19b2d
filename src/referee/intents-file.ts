/**
 * The intents file: one JSON object per line, written by the client under test. It says which
 * messages the client meant to send, and what it told its own caller about each.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { CommandError } from '../config/command-error.ts';

/** What a client meant to send, and what it told its own caller. */
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

/** Throws a CommandError that names the line. */
export function readIntentsFile(path: string): Report[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new CommandError(2, `--intents ${path}: cannot be read (${code})`);
  }
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
    throw new CommandError(2, `${place}: not a JSON object`);
  }
  const reading = reportSchema.safeParse(value);
  if (reading.success) return reading.data;
  const [issue] = reading.error.issues;
  const path = issue?.path.join('.') ?? '';
  throw new CommandError(2, `${place}: ${path === '' ? '' : `${path}: `}${issue?.message ?? ''}`);
}
