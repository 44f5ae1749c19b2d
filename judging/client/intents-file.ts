/**
 * The intents file: one JSON object per line, written by the client under test. It lists the
 * messages that the client meant to send, with the outcome of each, and gives names to their ids.
 */
import { z } from 'zod';
import { UsageError } from '#io/command-error.ts';
import { grouped } from '#io/grouped.ts';
import { mistakeLine, mistakesOf } from '#io/mistakes.ts';
import { readGiven } from '#io/plain-file.ts';
import { counted } from '#io/terminal.ts';
import { valueIn } from '../evidence/reading.ts';
import { messageKey, plainText } from './exchange.ts';

/** A message that the client meant to send, and the outcome that it reported. */
export const reportedIntentSchema = z.strictObject({
  intent: z.string().min(1),
  to: z.string(),
  from: z.string(),
  message: z.string(),
  request_id: z.string().exactOptional(),
  send_at: z.string().exactOptional(),
  /** `unknown`: a reply that the client did not see was never resolved. */
  reported: z.enum(['accepted', 'delivered', 'failed', 'unknown']).exactOptional(),
});
/** What the file says of an intent. */
export type ReportedIntent = z.output<typeof reportedIntentSchema> & {
  /** See `linesOf`; undefined if this line is the only one. */
  readonly lines?: readonly ReportedIntent[];
};

const shownMistakes = 100;

/** Throws a UsageError that names the mistakes of all lines, at most 100. */
export function readIntentsFile(path: string): readonly ReportedIntent[] {
  const { reports, mistakes } = reportsIn(readGiven(path, '--intents'));
  if (mistakes.length === 0) return reports;
  throw new UsageError(...mistakes.map((mistake) => `${path}: ${mistake}`));
}

/** The reports in the text of a file, and the mistakes of its lines, at most 100. */
export function reportsIn(text: string): {
  readonly reports: readonly ReportedIntent[];
  readonly mistakes: readonly string[];
} {
  const reports: ReportedIntent[] = [];
  const mistakes: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const reading = readLine(line);
    if (Array.isArray(reading))
      mistakes.push(...reading.map((mistake) => `line ${index + 1}: ${mistake}`));
    else reports.push(reading);
  }
  const hidden = mistakes.splice(shownMistakes).length;
  if (hidden > 0) mistakes.push(`and ${counted(hidden, 'more mistake')}`);
  return { reports: latestByIntent(reports), mistakes };
}

/** One report of each intent: its last line counts, and it keeps all lines. */
export function latestByIntent(reports: readonly ReportedIntent[]): ReportedIntent[] {
  return [...grouped(reports, ({ intent }) => intent).values()].map(
    (lines) => Object.assign({}, ...lines, { lines }) as ReportedIntent,
  );
}

/** All lines of the file about the intent of a report. */
export function linesOf(report: ReportedIntent): readonly ReportedIntent[] {
  return report.lines ?? [report];
}

/**
 * By recipient and text: how many messages the client names, if several. Only where a line has no
 * `request_id`: ids show by themselves which sends have which name.
 */
export function equalMessagesOf(reports: readonly ReportedIntent[]): ReadonlyMap<string, number> {
  const byMessage = grouped(reports.flatMap(linesOf), ({ to, message }) =>
    messageKey(plainNumber(to), message),
  );
  const counts = [...byMessage]
    .filter(([, equal]) => equal.some((line) => line.request_id === undefined))
    .map(([key, equal]): [string, number] => [key, new Set(equal.map((one) => one.intent)).size]);
  return new Map(counts.filter(([, intents]) => intents > 1));
}

/** A number without what people write between its digits: a line may hold it as it was entered. */
export function plainNumber(number: unknown): unknown {
  return typeof number === 'string' ? number.replace(/[\s()./-]/g, '') : number;
}

/** Equal for a line and a send of the same text, sender and recipient, however they are written. */
export function reportedContentOf(to: unknown, from: unknown, message: unknown): string {
  return JSON.stringify([plainNumber(to), plainNumber(from), plainText(message)]);
}

/** The report of a line, or its mistakes. */
function readLine(line: string): ReportedIntent | string[] {
  const value = valueIn(line);
  if (value === undefined) return ['not a JSON object'];
  const reading = reportedIntentSchema.safeParse(value, { reportInput: true });
  return reading.success ? reading.data : mistakesOf(reading.error).map(mistakeLine);
}
