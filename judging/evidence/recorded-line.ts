/**
 * One line of a recording: an exchange as it went through the proxy. If a fault struck it, the line
 * names the fault. If that fault let the request through, the reply is the one that the service
 * sent.
 */
import type { TrafficExchange } from '#contract/exchange.ts';
import type { FaultKindName } from '#contract/fault-kinds.ts';

export interface RecordedLine {
  /** When the head of the request had arrived, and when the last byte of the reply had left. */
  readonly sent: string;
  readonly answered: string;
  /** The same by a clock that runs steadily in one process, which `process` names. */
  readonly steady?: {
    readonly process: string;
    readonly sent_ms: number;
    readonly answered_ms: number;
  };
  /** The connection of the client: a number within the process. */
  readonly connection?: string;
  /** The digest of the client's address. */
  readonly client: string;
  readonly fault?: FaultKindName;
  /** The path is as sent, with the query. */
  readonly request: RecordedBody & { readonly method: string; readonly path: string };
  /** Absent if no whole reply came. */
  readonly reply?: RecordedBody & { readonly status: number };
  /** Why there is no whole reply, or why the client did not see it. */
  readonly failure?: string;
}

/** Bodies are decoded text; a body that is not text, or too long, is left out. */
export interface RecordedBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The bytes of a body that was left out. */
  readonly omitted?: number;
}

/** The beginning of every line of a recording. */
export const lineOpening = /\{\s*"sent"\s*:\s*"/;

/** Parses a line; undefined for any other text, such as a line that was cut off. */
export function readLine(text: string): RecordedLine | undefined {
  if (text.search(lineOpening) !== 0) return undefined;
  try {
    const line = JSON.parse(text) as RecordedLine;
    const isLine =
      isTime(line.sent) &&
      isTime(line.answered) &&
      isSteady(line.steady) &&
      typeof line.client === 'string' &&
      isMessage(line.request) &&
      typeof line.request.method === 'string' &&
      typeof line.request.path === 'string' &&
      (line.reply === undefined ||
        (isMessage(line.reply) && typeof line.reply.status === 'number'));
    return isLine ? line : undefined;
  } catch {
    return undefined;
  }
}

function isSteady(value: RecordedLine['steady']): boolean {
  if (value === undefined) return true;
  const { process, sent_ms: sent, answered_ms: answered } = Object(value);
  return typeof process === 'string' && Number.isFinite(sent) && Number.isFinite(answered);
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

function isMessage(value: unknown): boolean {
  const { headers, body = '' } = Object(value);
  return typeof headers === 'object' && headers !== null && typeof body === 'string';
}

/** Dates differ from a steady clock by this much because both are rounded. */
const roundingMs = 5;

/** The steady clocks of recorders, and what the date was when each of them was read first. */
export class SteadyClocks {
  readonly #starts = new Map<string, number>();

  /** The times of a line. */
  timesOf({
    sent,
    answered,
    steady,
  }: RecordedLine): Pick<TrafficExchange, 'sentAt' | 'answeredAt' | 'precisionMs' | 'setMs'> {
    const dates = { sentAt: Date.parse(sent), answeredAt: Date.parse(answered), precisionMs: 1 };
    if (steady === undefined) return dates;
    const { process, sent_ms: sentMs, answered_ms: answeredMs } = steady;
    const startMs = this.#starts.get(process) ?? dates.sentAt - sentMs;
    this.#starts.set(process, startMs);
    const setMs = dates.sentAt - startMs - sentMs;
    return {
      sentAt: startMs + sentMs,
      answeredAt: startMs + answeredMs,
      precisionMs: 0,
      setMs: Math.abs(setMs) > roundingMs ? setMs : undefined,
    };
  }
}
