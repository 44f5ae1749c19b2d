/**
 * Reads recorded traffic from several files in one pass, and merges their exchanges in the order of
 * their times. A file is a recording of `smstwin record`, a HAR file or a journal, gzipped or not,
 * and is known by its content.
 */
import { basename } from 'node:path';
import type { NoticeTaker, TrafficEvent } from '#contract/exchange.ts';
import { matchRoute } from '#contract/routes.ts';
import { many } from '#io/table.ts';
import { Copies } from './copies.ts';
import { Elsewhere } from './foreign-file.ts';
import { exchangesOfHarFile } from './har-file.ts';
import { eventsOfJournal } from './journal-exchanges.ts';
import { KeyNames } from './key-names.ts';
import { exchangesOfRecording, SteadyClocks } from './recording-exchanges.ts';
import { linesOf, opened, piecesOf, type TrafficKind } from './traffic-file.ts';

/** What all files that are read together share. */
class Shared {
  readonly clocks = new SteadyClocks();
  readonly keys: KeyNames;
  readonly onNotice: NoticeTaker;

  constructor(onNotice: NoticeTaker, keys = new KeyNames()) {
    this.onNotice = onNotice;
    this.keys = keys;
  }
}

/**
 * A `cut` event marks where the exchanges before it no longer explain those after it. `keys`: gets
 * the keys of HAR files, for texts that were read before their keys were known.
 */
export async function* readTraffic(
  files: readonly string[],
  onNotice: NoticeTaker,
  keys?: KeyNames,
): AsyncGenerator<TrafficEvent> {
  /** The next event of each file that has one. */
  const heads: { readonly events: AsyncIterator<TrafficEvent>; event: TrafficEvent }[] = [];
  const copies = new Copies();
  const shared = new Shared(onNotice, keys);
  for (const file of files) {
    const events = cutWhereSetBack(copies.without(eventsOf(file, shared)));
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
  if (copies.found > 0) onNotice(`${many(copies.found, 'exchange')} were read twice; counted once`);
}

/** Of what kind a file is. Throws a CommandError that names a file of another kind. */
export async function trafficKindOf(path: string): Promise<TrafficKind> {
  const pieces = piecesOf(path, () => {});
  const { kind } = await opened(pieces, path);
  await pieces.return(undefined);
  return kind;
}

/** A line may be written so much later than one of a reply that came after it. */
const lateMs = 1_000;

/**
 * Cuts a recording where its clock was set back: its lines are written as replies come. The entries
 * of a HAR file, which name a host, are in the order of their requests.
 */
async function* cutWhereSetBack(events: AsyncIterable<TrafficEvent>): AsyncGenerator<TrafficEvent> {
  let latestMs = Number.NEGATIVE_INFINITY;
  for await (const event of events) {
    if (event !== 'cut' && event.host === '') {
      if (event.answeredAt < latestMs - lateMs) {
        yield 'cut';
        latestMs = event.answeredAt;
      }
      latestMs = Math.max(latestMs, event.answeredAt);
    }
    yield event;
  }
}

/** A cut has no time: it comes before the events of all other files. */
function timeOf(event: TrafficEvent): number {
  return event === 'cut' ? Number.NEGATIVE_INFINITY : event.sentAt;
}

async function* eventsOf(path: string, shared: Shared): AsyncGenerator<TrafficEvent> {
  let isCut = false;
  const onCut = () => {
    isCut = true;
  };
  let latestMs = Number.NEGATIVE_INFINITY;
  let isInOrder = true;
  const pieces = piecesOf(path, onCut);
  for await (const event of eventsOfText(pieces, path, shared.onNotice, onCut, shared)) {
    if (event !== 'cut') {
      // Lines of a recording are in the order of their replies.
      const { host, sentAt, answeredAt } = event;
      isInOrder &&= host === '' ? answeredAt > latestMs - lateMs : sentAt >= latestMs;
      latestMs = Math.max(latestMs, host === '' ? answeredAt : sentAt);
    }
    yield event;
  }
  if (!isCut) return;
  const lacks = isInOrder ? 'end' : 'some';
  shared.onNotice(`${basename(path)}: it ends in the midst; read up to there`, lacks);
}

/** The pieces of the text may end anywhere. `path`: names it in errors and notices. */
export async function* eventsOfText(
  pieces: AsyncGenerator<string>,
  path: string,
  onNotice: NoticeTaker,
  onCut: () => void,
  { clocks, keys }: Pick<Shared, 'clocks' | 'keys'> = new Shared(onNotice),
): AsyncGenerator<TrafficEvent> {
  const text = await opened(pieces, path);
  const elsewhere = new Elsewhere();
  const lines = () => linesOf(text.pieces, path, onCut);
  if (text.kind === 'HAR file')
    yield* exchangesOfHarFile(text.pieces, { path, onNotice, onCut, keys, elsewhere });
  else {
    const events =
      text.kind === 'journal'
        ? eventsOfJournal(lines(), path)
        : exchangesOfRecording(lines(), path, clocks, onNotice);
    for await (const event of events) {
      if (event !== 'cut') elsewhere.note(event, matchRoute(slashed(event.path)) !== undefined);
      yield event;
    }
  }
  const line = elsewhere.lineOn(path);
  if (line !== undefined) onNotice(line);
}

function slashed(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}
