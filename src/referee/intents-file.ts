/**
 * The intents file: one JSON object per line, written by the client under test. It lists the messages
 * that the client meant to send, and the outcome of each that it reported.
 */
import { z } from 'zod';
import { UsageError } from '../commands/command-error.ts';
import { many } from '../commands/table.ts';
import { mistakeLine, mistakesOf } from '../config/mistakes.ts';
import { readText } from '../config/world-file.ts';
import { type Exchange, grouped, senderOf } from './exchange.ts';

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
  return [...grouped(reports, ({ intent }) => intent).values()].map(
    (lines) => Object.assign({}, ...lines, { lines }) as Report,
  );
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

/** The names of one id. */
interface Named {
  latest: string;
  isSole: boolean;
  /** By what a line says: first all of it, then without the sender, then the sender alone. */
  readonly byText: Map<string, string>;
}

/**
 * The names that the client's own file gives to its sends, by `request_id`. Where two lines give one
 * id two names, as two accounts may, the line whose content is closest to the send's decides.
 */
export class IntentNames {
  readonly #ids = new Map<string, Named>();

  constructor(reports: readonly Report[] = []) {
    for (const report of reports) {
      for (const line of report.lines ?? [report]) this.#add(line);
    }
  }

  of(send: Exchange, id: string): string | undefined {
    const named = this.#ids.get(id);
    if (named === undefined || named.isSole) return named?.latest;
    const texts = textsOf(send.body?.['to'], senderOf(send), send.body?.['message']);
    const text = texts.find((one) => named.byText.has(one));
    return named.byText.get(text ?? '') ?? named.latest;
  }

  #add({ intent, to, from, message, request_id: id }: Report): void {
    if (id === undefined) return;
    const named = this.#ids.get(id) ?? { latest: intent, isSole: true, byText: new Map() };
    this.#ids.set(id, named);
    if (named.latest !== intent) named.isSole = false;
    named.latest = intent;
    for (const text of textsOf(to, from, message)) named.byText.set(text, intent);
  }
}

function textsOf(to: unknown, from: unknown, message: unknown): readonly string[] {
  return [[to, from, message], [to, message], [from]].map((part) => JSON.stringify(part));
}
