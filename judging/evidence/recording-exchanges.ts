/** The exchanges of a recording of `smstwin record`. */
import { basename } from 'node:path';
import type { NoticeTaker, TrafficExchange } from '#contract/exchange.ts';
import { faultKinds } from '#contract/fault-kinds.ts';
import { many } from '#io/table.ts';
import { pathOf } from './reading.ts';
import { type RecordedBody, type RecordedLine, readLine } from './recorded-line.ts';

export async function* exchangesOfRecording(
  lines: AsyncIterable<string>,
  path: string,
  clocks: SteadyClocks,
  onNotice: NoticeTaker,
): AsyncGenerator<TrafficExchange> {
  let number = 0;
  let broken = 0;
  let firstBroken = 0;
  for await (const text of lines) {
    number++;
    const line = readLine(text);
    if (line !== undefined) yield exchangeOfLine(line, clocks);
    else if (text.trim() !== '' && broken++ === 0) firstBroken = number;
  }
  if (broken === 0) return;
  const which = broken === 1 ? `line ${firstBroken}` : `the first is line ${firstBroken}`;
  const what = `${many(broken, 'line')} cannot be read; skipped`;
  onNotice(`${basename(path)}: ${what} (${which})`, 'some');
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

function exchangeOfLine(line: RecordedLine, clocks: SteadyClocks): TrafficExchange {
  const { request, reply, fault, failure, connection } = line;
  const [path = '', query = ''] = request.path.split('?', 2);
  // A name of a later version says nothing about the reply.
  const struck =
    fault === undefined || !Object.hasOwn(faultKinds, fault) ? undefined : faultKinds[fault];
  // Named one by one: spreads would be most of the cost of reading.
  const { sentAt, answeredAt, precisionMs, setMs } = clocks.timesOf(line);
  return {
    sentAt,
    answeredAt,
    precisionMs,
    setMs,
    connection: connection === undefined ? undefined : `${line.steady?.process} ${connection}`,
    host: '',
    method: request.method,
    path: pathOf(path),
    query,
    headers: request.headers,
    showsCredential: true,
    address: line.client,
    body: bodyIn(request),
    reply: reply && { status: reply.status, headers: reply.headers, body: bodyIn(reply) },
    // If the request did not reach the service, the status shows nothing about it.
    isForced: struck?.isHandled === false,
    isSeen:
      reply !== undefined &&
      failure === undefined &&
      (fault === undefined || struck?.reply === 'late' || struck?.reply === 'stated'),
    isGarbled: struck?.reply === 'malformed' ? true : undefined,
  };
}

function bodyIn({ body, omitted }: RecordedBody): string | undefined {
  return omitted === undefined ? (body ?? '') : undefined;
}
