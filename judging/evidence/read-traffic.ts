/**
 * Reads recorded traffic from several files in one pass, and merges their exchanges in the order of
 * their times. A file is a recording of `smstwin record`, a HAR file or a journal, gzipped or not,
 * and is known by its content.
 */
import type { NoticeTaker, TrafficEvent } from '#contract/exchange.ts';
import { many } from '#io/table.ts';
import { FileReading, KnownExchanges } from './file-reading.ts';
import { harReader } from './har-file.ts';
import { journalReader } from './journal-exchanges.ts';
import { KeyNames } from './reading.ts';
import { SteadyClocks } from './recorded-line.ts';
import { recordingReader } from './recording-exchanges.ts';
import { opened, piecesOf, type TrafficKind } from './traffic-file.ts';

/**
 * A `cut` event marks where the exchanges before it no longer explain those after it. `keys`: gets
 * the keys of HAR files, for texts that were read before their keys were known.
 */
export async function* readTraffic(
  files: readonly string[],
  onNotice: NoticeTaker,
  keys = new KeyNames(),
): AsyncGenerator<TrafficEvent> {
  const known = new KnownExchanges();
  const shared = { onNotice, keys, clocks: new SteadyClocks(), known };
  /** The next event of each file that has one. */
  const heads: { readonly events: AsyncIterator<TrafficEvent>; event: TrafficEvent }[] = [];
  for (const path of files) {
    const reading = new FileReading(path, shared);
    const events = eventsOfText(
      piecesOf(path, () => (reading.isCut = true)),
      reading,
    );
    const first = await events.next();
    if (!first.done) heads.push({ events, event: first.value });
  }
  while (heads.length > 0) {
    const head = heads.reduce((earliest, other) =>
      timeOf(other.event) < timeOf(earliest.event) ? other : earliest,
    );
    yield head.event;
    const next = await head.events.next();
    if (next.done) heads.splice(heads.indexOf(head), 1);
    else head.event = next.value;
  }
  if (known.copies > 0) onNotice(`${many(known.copies, 'exchange')} were read twice; counted once`);
}

/** A cut has no time: it comes before the events of all other files. */
function timeOf(event: TrafficEvent): number {
  return event === 'cut' ? Number.NEGATIVE_INFINITY : event.sentAt;
}

/** Of what kind a file is. Throws a CommandError that names a file of another kind. */
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

/** The pieces of the text may end anywhere. */
export async function* eventsOfText(
  pieces: AsyncGenerator<string>,
  reading: FileReading,
): AsyncGenerator<TrafficEvent> {
  const text = await opened(pieces, reading.path);
  const reader = readers[text.kind](reading);
  for await (const piece of text.pieces) {
    try {
      reader.take(piece);
    } finally {
      // Also what precedes a mistake that ends the reading.
      yield* reading.taken();
    }
  }
  reader.end();
  yield* reading.taken();
  reading.end();
}
