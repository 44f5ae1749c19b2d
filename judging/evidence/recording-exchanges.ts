/** The exchanges of a recording of `smstwin record`. */
import type { TrafficExchange } from '#contract/exchange.ts';
import { cuts, faultKinds, isReadable } from '#contract/fault-kinds.ts';
import { counted } from '#io/terminal.ts';
import type { FileReading, TextReader } from './file-reading.ts';
import { pathOf } from './reading.ts';
import { type RecordedBody, type RecordedLine, readLine } from './recorded-line.ts';
import { readerOfLines } from './traffic-file.ts';

export function recordingReader(reading: FileReading): TextReader {
  let number = 0;
  let broken = 0;
  let firstBroken = 0;
  const lines = readerOfLines(reading, (text) => {
    number++;
    const line = readLine(text);
    if (line !== undefined) {
      const exchange = exchangeOfLine(line, reading);
      reading.isOfService(exchange);
      reading.add(exchange, text);
    } else if (text.trim() !== '' && broken++ === 0) firstBroken = number;
  });
  return {
    take: lines.take,
    end() {
      lines.end();
      if (broken === 0) return;
      const which = broken === 1 ? `line ${firstBroken}` : `the first is line ${firstBroken}`;
      reading.notice(`${counted(broken, 'line')} cannot be read; skipped (${which})`, 'some');
    },
  };
}

function exchangeOfLine(line: RecordedLine, reading: FileReading): TrafficExchange {
  const { request, reply, fault, failure, connection } = line;
  const [path = '', query = ''] = request.path.split('?', 2);
  // A name of a later version says nothing about the reply.
  const struck =
    fault === undefined || !Object.hasOwn(faultKinds, fault) ? undefined : faultKinds[fault];
  // Named one by one: spreads would be most of the cost of reading.
  const { sentAt, answeredAt, precisionMs, dateShiftMs } = reading.shared.clocks.timesOf(line);
  return {
    sentAt,
    answeredAt,
    precisionMs,
    dateShiftMs,
    connection: connection === undefined ? undefined : `${line.steady?.process} ${connection}`,
    host: '',
    method: request.method,
    path: pathOf(path),
    query,
    headers: reading.sameHeaders(request.headers),
    showsCredential: true,
    address: line.client,
    body: bodyIn(request),
    reply: reply && {
      status: reply.status,
      headers: reading.sameHeaders(reply.headers),
      body: bodyIn(reply),
    },
    // If the request did not reach the service, the status shows nothing about it.
    isForced: struck?.isHandled === false,
    isSeen:
      reply !== undefined &&
      failure === undefined &&
      (fault === undefined || (struck !== undefined && isReadable(struck))),
    isGarbled:
      struck !== undefined && !(struck.reply in cuts) && !isReadable(struck) ? true : undefined,
  };
}

function bodyIn({ body, omitted }: RecordedBody): string | undefined {
  return omitted === undefined ? (body ?? '') : undefined;
}
