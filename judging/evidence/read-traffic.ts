/**
 * Reads recorded traffic from several files in one pass, and merges their exchanges in the order of
 * their times. A file is a recording of `smstwin record`, a HAR file or a journal, gzipped or not,
 * and is known by its content.
 */
import {
  lacksBody,
  type NoticeTaker,
  type TrafficEvent,
  type TrafficExchange,
} from '#contract/exchange.ts';
import { cuts, faultKinds, isReadable } from '#contract/fault-kinds.ts';
import { minuteMs } from '#contract/time.ts';
import { counted } from '#io/terminal.ts';
import { FileReading, KnownExchanges, type TextReader } from './file-reading.ts';
import { harReader } from './har-file.ts';
import { journalReader } from './journal-exchanges.ts';
import { KeyNames, pathOf } from './reading.ts';
import { type RecordedBody, type RecordedLine, readLine, SteadyClocks } from './recorded-line.ts';
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
  let heads: Head[] = [];
  for (const path of files) {
    const reading = new FileReading(path, shared);
    const pieces = piecesOf(path, () => (reading.isCut = true));
    heads.push({ reading, lists: listsOfText(pieces, reading), list: [], at: 0 });
  }
  for (const head of heads) await takeNext(head);
  const tools = new Set(heads.map(({ reading }) => (reading.isJournal ? journals : reading.path)));
  const copies = tools.size < 2 ? undefined : new CopiesOfTools();
  heads = heads.filter(hasNext);
  while (heads.length > 0) {
    const head = heads.reduce((earliest, other) =>
      timeOf(other) < timeOf(earliest) ? other : earliest,
    );
    const start = head.at;
    head.at = heads.length === 1 ? head.list.length : start + 1;
    const list = head.list.slice(start, head.at);
    yield copies === undefined
      ? list
      : list.flatMap((event) => copies.firstOf(event, head.reading) ?? []);
    if (hasNext(head)) continue;
    await takeNext(head);
    heads = heads.filter(hasNext);
  }
  const twice = known.copies + (copies?.found ?? 0);
  if (twice > 0) onNotice(`${counted(twice, 'exchange')} read twice; counted once`);
  const doubtful = copies?.doubtful ?? 0;
  if (doubtful > 0)
    onNotice(
      `${counted(doubtful, 'exchange')} may be in two files: no limit fails by counting them`,
    );
}

/** What comes next of a file: an event of a list of events, of which a piece of the text has one. */
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

/** Simulators are one source: two of them never answer one request. */
const journals = 'journals';

/** An exchange that may come again from another tool. */
interface FirstCopy {
  readonly sentAt: number;
  readonly endsAt: number;
  /** The sources that had it. */
  readonly sources: string[];
}

/** The clocks of two tools that recorded one exchange differ by less. */
const mostClocksDiffer = 10 * minuteMs;
const mostKept = 20_000;
/** So many of the latest exchanges are compared by their times. */
const latestFew = 8;

/** The exchanges that say the same. */
class Alike {
  readonly #firsts: FirstCopy[] = [];
  /** By source: the first of them that may still be the first copy of its next exchange. */
  readonly #next = new Map<string, number>();

  add(first: FirstCopy): void {
    this.#firsts.push(first);
    const half = this.#firsts.length >> 1;
    if (half < latestFew || !isPast(this.#firsts[half], first.sentAt)) return;
    this.#firsts.splice(0, half);
    for (const [source, at] of this.#next) this.#next.set(source, Math.max(0, at - half));
  }

  /** The latest, of the last few, that is one with an exchange of this source. */
  latest(source: string, isOne: (first: FirstCopy) => boolean): FirstCopy | undefined {
    const start = Math.max(0, this.#firsts.length - latestFew);
    const nth = this.#firsts.slice(start).findLastIndex(isOne);
    if (nth < 0) return undefined;
    this.#next.set(source, Math.max(start + nth, this.#next.get(source) ?? 0));
    return this.#firsts[start + nth];
  }

  /** Copies come in one order in each file, so a source goes on after its last copy. */
  nextOf(source: string, atMs: number): FirstCopy | undefined {
    const cannotBe = (first: FirstCopy | undefined) =>
      first !== undefined && (first.sources.includes(source) || isPast(first, atMs));
    let at = this.#next.get(source) ?? 0;
    while (cannotBe(this.#firsts[at])) at++;
    this.#next.set(source, at);
    return this.#firsts[at];
  }
}

/** Tells an exchange that two tools recorded, in texts of their own, from two equal exchanges. */
class CopiesOfTools {
  found = 0;
  /** How many exchanges may be copies or not. */
  doubtful = 0;
  #kept = 0;
  /** By what the exchanges say, in two generations. */
  #recent = new Map<string, Alike>();
  #older = new Map<string, Alike>();
  /** Pairs of sources that recorded one creation, so both recorded the same client. */
  readonly #pairs = new Set<string>();

  /** The event as it counts; undefined if a file of another tool had it already. */
  firstOf(event: TrafficEvent, { isJournal }: FileReading): TrafficEvent | undefined {
    if (event === 'cut') return event;
    const copy = this.#copyOf(event, isJournal ? journals : (event.clock ?? ''));
    if (copy === 'certain') this.found++;
    if (copy !== 'possible') return copy === undefined ? event : undefined;
    this.doubtful++;
    return { ...event, mayBeCopy: true };
  }

  /** `certain`: the times or the id of a message show its first copy, not only the order. */
  #copyOf(event: TrafficExchange, source: string): 'certain' | 'possible' | undefined {
    // Another tool may have kept the body.
    if (lacksBody(event)) return 'possible';
    const alike = this.#alikeTo(event);
    const certain = alike.latest(source, (first) => this.#areOne(first, event, source));
    const first = certain ?? alike.nextOf(source, event.sentAt);
    if (first === undefined) {
      const { sentAt, answeredAt, precisionMs } = event;
      alike.add({ sentAt, endsAt: answeredAt + precisionMs, sources: [source] });
      if (++this.#kept % mostKept === 0) [this.#older, this.#recent] = [this.#recent, new Map()];
      return undefined;
    }
    if (certain !== undefined)
      for (const other of first.sources) this.#pairs.add(pairOf(other, source));
    first.sources.push(source);
    return certain === undefined ? 'possible' : 'certain';
  }

  #alikeTo({ method, path, query, body, reply }: TrafficExchange): Alike {
    const key = [method, path, query, body ?? '', reply?.status, reply?.body].join('\n');
    const alike = this.#recent.get(key) ?? this.#older.get(key) ?? new Alike();
    this.#recent.set(key, alike);
    return alike;
  }

  /**
   * True if two records that say the same are of one exchange. A right service creates a message
   * once; two clients that poll at the same time are answered alike.
   */
  #areOne(
    first: FirstCopy,
    { method, reply, sentAt, answeredAt, precisionMs }: TrafficExchange,
    source: string,
  ): boolean {
    if (first.sources.includes(source)) return false;
    if (method === 'POST' && reply?.status === 202) return !isPast(first, sentAt);
    const areTogether = first.sentAt <= answeredAt + precisionMs && sentAt <= first.endsAt;
    return areTogether && first.sources.some((each) => this.#pairs.has(pairOf(each, source)));
  }
}

/** True if no other tool's record of the exchange comes at this time or later. */
function isPast(first: FirstCopy | undefined, atMs: number): boolean {
  return first !== undefined && first.endsAt < atMs - mostClocksDiffer;
}

function pairOf(one: string, other: string): string {
  return JSON.stringify([one, other].sort());
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
      const list = reading.taken();
      if (list.length > 0) yield list;
    }
  }
  reader.end();
  const list = reading.taken();
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
    clock: line.steady?.process ?? reading.path,
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
