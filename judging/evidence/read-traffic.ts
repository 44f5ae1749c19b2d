/**
 * Reads recorded traffic from several files in one pass, and merges their exchanges in the order of
 * their times. A file is a recording of `smstwin record`, a HAR file or a journal, gzipped or not,
 * and is known by its content.
 */
import type { NoticeTaker, TrafficEvent, TrafficExchange } from '#contract/exchange.ts';
import { cuts, faultKinds, isReadable } from '#contract/fault-kinds.ts';
import { counted } from '#io/terminal.ts';
import { CopiesOfTools, KnownExchanges, sourceOf } from './copies.ts';
import { SteadyClocks } from './file-clocks.ts';
import { FileReading, type TextReader } from './file-reading.ts';
import { harReader } from './har-file.ts';
import { journalReader } from './journal-exchanges.ts';
import { KeyNames, pathOf } from './reading.ts';
import { type RecordedBody, type RecordedLine, readLine } from './recorded-line.ts';
import { opened, piecesOf, readerOfLines, type TrafficKind } from './traffic-file.ts';

/**
 * Yields lists of events, because to wait for each event would take longer than to read it. A `cut`
 * marks where the exchanges before it no longer explain those after it. `keys`: gets the keys of HAR
 * files, for texts that were read before their keys were known.
 */
export async function* readTraffic(
  files: readonly string[],
  onNotice: NoticeTaker,
  keys = new KeyNames(),
): AsyncGenerator<readonly TrafficEvent[]> {
  const known = new KnownExchanges();
  const shared = { onNotice, keys, clocks: new SteadyClocks(), known };
  const all: Head[] = files.map((path) => {
    const reading = new FileReading(path, shared);
    const pieces = piecesOf(path, () => (reading.isCut = true));
    return { reading, lists: listsOfText(pieces, reading), list: [], at: 0 };
  });
  for (const head of all) await takeNext(head);
  const sources = new Set(all.map(({ reading }) => sourceOf(reading, reading.path)));
  const copies = sources.size < 2 ? undefined : new CopiesOfTools();
  for (let heads = all.filter(hasNext); heads.length > 0; heads = heads.filter(hasNext)) {
    const head = heads.reduce((earliest, other) =>
      timeOf(other) < timeOf(earliest) ? other : earliest,
    );
    const start = head.at;
    // Of several files, takes one event: the next one may be of another file.
    head.at = heads.length === 1 ? head.list.length : start + 1;
    const list = head.list.slice(start, head.at);
    yield copies === undefined
      ? list
      : list.flatMap((event) => copies.firstOf(event, head.reading) ?? []);
    if (!hasNext(head)) await takeNext(head);
  }
  const found = known.copies + (copies?.found ?? 0);
  if (found > 0) onNotice(`${counted(found, 'exchange')} read twice; counted once`);
  const doubtful = copies?.doubtful ?? 0;
  const what = `${counted(doubtful, 'exchange')} may be in two files`;
  if (doubtful > 0) onNotice(`${what}: no limit fails by counting them`);
}

/** A file, and the place of its next event in the last list that was read of it. */
interface Head {
  readonly reading: FileReading;
  readonly lists: AsyncIterator<readonly TrafficEvent[]>;
  list: readonly TrafficEvent[];
  at: number;
}

function hasNext({ list, at }: Head): boolean {
  return at < list.length;
}

/** Takes the next list that has an event; an empty one at the end of the file. */
async function takeNext(head: Head): Promise<void> {
  const next = await head.lists.next();
  head.list = next.done ? [] : next.value;
  head.at = 0;
}

/** A cut has no time: it comes before the events of all other files. */
function timeOf({ list, at }: Head): number {
  const event = list[at];
  return event === undefined || event === 'cut' ? Number.NEGATIVE_INFINITY : event.sentAt;
}

/** The kind of a file. Throws a CommandError that names a file of another kind. */
export async function trafficKindOf(path: string): Promise<TrafficKind> {
  const pieces = piecesOf(path, () => {});
  const { kind } = await opened(pieces, path);
  await pieces.return(undefined);
  return kind;
}

const readers = {
  'HAR file': harReader,
  journal: journalReader,
  recording: recordingReader,
} as const;

/** For each piece of the text that completes an event, its events. */
export async function* listsOfText(
  pieces: AsyncGenerator<string>,
  reading: FileReading,
): AsyncGenerator<readonly TrafficEvent[]> {
  const text = await opened(pieces, reading.path);
  const reader = readers[text.kind](reading);
  for await (const piece of text.pieces) {
    try {
      reader.take(piece);
    } finally {
      // Also if a mistake ends the reading: yields what precedes it.
      const list = reading.takeEvents();
      if (list.length > 0) yield list;
    }
  }
  reader.end();
  const list = reading.takeEvents();
  if (list.length > 0) yield list;
  reading.end();
}

/** The exchanges of a recording of `smstwin record`. */
function recordingReader(reading: FileReading): TextReader {
  let number = 0;
  let broken = 0;
  let firstBroken = 0;
  const lines = readerOfLines(reading, (text) => {
    number++;
    const line = readLine(text);
    if (line !== undefined) {
      const exchange = exchangeOfLine(line, reading);
      reading.noteRequest(exchange);
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
  const mayBeRead = fault === undefined || (struck !== undefined && isReadable(struck));
  const isGarbled = struck !== undefined && !(struck.reply in cuts) && !isReadable(struck);
  // Named one by one: spreads would be most of the cost of reading.
  const { sentAt, answeredAt, precisionMs, dateShiftMs } = reading.shared.clocks.timesOf(line);
  return {
    sentAt,
    answeredAt,
    clock: line.steady?.process ?? reading.path,
    precisionMs,
    dateShiftMs,
    connection: connection === undefined ? undefined : `${line.steady?.process} ${connection}`,
    host: '',
    method: request.method,
    path: pathOf(path),
    query,
    headers: reading.headers.shared(request.headers),
    showsCredential: true,
    address: line.client,
    body: bodyIn(request),
    reply: reply && {
      status: reply.status,
      headers: reading.headers.shared(reply.headers),
      body: bodyIn(reply),
    },
    // If the request did not reach the service, the status shows nothing about it.
    isForced: struck?.isHandled === false,
    isSeen: reply !== undefined && failure === undefined && mayBeRead,
    isGarbled: isGarbled || undefined,
  };
}

function bodyIn({ body, omitted }: RecordedBody): string | undefined {
  return omitted === undefined ? (body ?? '') : undefined;
}
