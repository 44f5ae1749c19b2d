/**
 * Reads recorded traffic from several files in one pass, and merges their exchanges in the order of
 * their times. A file is a recording of `smstwin record`, a HAR file or a journal, gzipped or not.
 */
import { closeSync, createReadStream, readSync } from 'node:fs';
import { basename } from 'node:path';
import { createGunzip } from 'node:zlib';
import type { NoticeTaker, TrafficEvent, TrafficExchange } from '#contract/exchange.ts';
import { faultKinds } from '#contract/fault-kinds.ts';
import { CommandError } from '#io/command-error.ts';
import { openingOf } from '#io/own-file.ts';
import { openPlain, reasonOf } from '#io/plain-file.ts';
import { many } from '#io/table.ts';
import { Copies } from './copies.ts';
import { endsInMidst, pathOf } from './exchanges-of-traffic.ts';
import { exchangesOfHarFile } from './har-file.ts';
import type { RequestEntry } from './journal-entry.ts';
import { lineReader } from './journal-line.ts';
import { valueIn } from './reading.ts';
import { lineOpening, type RecordedBody, type RecordedLine, readLine } from './recorded-line.ts';

/** A `cut` event marks where the exchanges before it no longer explain those after it. */
export async function* readTraffic(
  files: readonly string[],
  onNotice: NoticeTaker,
): AsyncGenerator<TrafficEvent> {
  /** The next event of each file that has one. */
  const heads: { readonly events: AsyncIterator<TrafficEvent>; event: TrafficEvent }[] = [];
  const copies = new Copies();
  for (const file of files) {
    const events = cutWhereSetBack(copies.without(eventsOf(file, onNotice)));
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

/** True for a file that `smstwin record` wrote; false for a compressed copy of one. */
export function isRecording(path: string): boolean {
  try {
    const file = openPlain(path);
    const opening = openingOf(file);
    closeSync(file);
    return opening.search(lineOpening) === 0;
  } catch {
    return false;
  }
}

/** A cut has no time: it comes before the events of all other files. */
function timeOf(event: TrafficEvent): number {
  return event === 'cut' ? Number.NEGATIVE_INFINITY : event.sentAt;
}

async function* eventsOf(path: string, onNotice: NoticeTaker): AsyncGenerator<TrafficEvent> {
  let isCut = false;
  const onCut = () => {
    isCut = true;
  };
  yield* eventsOfText(piecesOf(path, onCut), path, onNotice, onCut);
  if (isCut) onNotice(endsInMidst(path), true);
}

/** As many characters as the format is recognised by. */
const openingLength = 65_536;

/** Tells the format by the beginning. The pieces of the text may end anywhere. */
export async function* eventsOfText(
  pieces: AsyncGenerator<string>,
  path: string,
  onNotice: NoticeTaker,
  onCut: () => void,
): AsyncGenerator<TrafficEvent> {
  let start = '';
  while (start.length < openingLength) {
    const { done, value } = await pieces.next();
    if (done) break;
    start += value;
  }
  if (start === '') throw new CommandError(2, `${path}: it is empty`);
  start = start.replace(/^\uFEFF/, '');
  const opening = start.slice(0, openingLength);
  async function* allPieces() {
    yield start;
    yield* pieces;
  }
  const lines = () => linesOf(allPieces(), path, onCut);
  if (opening.startsWith('{"journal":')) yield* eventsOfJournal(lines(), path);
  else if (lineOpening.test(opening) && !/^\s*\{\s*"log"/.test(opening))
    yield* eventsOfRecording(lines(), path, onNotice);
  else if (/^\s*\{/.test(opening)) yield* exchangesOfHarFile(allPieces(), path, onNotice, onCut);
  else throw new CommandError(2, `${path}: neither a recording, a HAR file nor a journal`);
}

async function* eventsOfRecording(
  lines: AsyncIterable<string>,
  path: string,
  onNotice: NoticeTaker,
): AsyncGenerator<TrafficExchange> {
  let broken = 0;
  for await (const text of lines) {
    const line = readLine(text);
    if (line !== undefined) yield exchangeOfLine(line);
    else if (text.trim() !== '') broken++;
  }
  if (broken === 0) return;
  onNotice(`${basename(path)}: ${many(broken, 'line')} cannot be read; skipped`, true);
}

function exchangeOfLine(line: RecordedLine): TrafficExchange {
  const { request, reply, fault, failure } = line;
  const [path = '', query = ''] = request.path.split('?', 2);
  // A name of a later version says nothing about the reply.
  const struck =
    fault === undefined || !Object.hasOwn(faultKinds, fault) ? undefined : faultKinds[fault];
  return {
    sentAt: Date.parse(line.sent),
    answeredAt: Date.parse(line.answered),
    precisionMs: 1,
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
  };
}

function bodyIn({ body, omitted }: RecordedBody): string | undefined {
  return omitted === undefined ? (body ?? '') : undefined;
}

/** Operations after which earlier exchanges still explain later ones. */
const harmless = /^(?:clock\.|sims\.(?:poll|receive)$|messages\.|outcomes\.|referee\.|faults\.)/;

async function* eventsOfJournal(
  lines: AsyncIterable<string>,
  path: string,
): AsyncGenerator<TrafficEvent> {
  const read = lineReader(path);
  let faults = 0;
  for await (const text of lines) {
    const entry = text === '' ? undefined : read(text);
    if (entry === undefined) continue;
    if ('request' in entry) yield exchangeOfEntry(entry, faults > 0);
    if (!('operation' in entry)) continue;
    const { operation } = entry;
    if (operation === 'faults.add') faults++;
    else if (operation === 'faults.clear') faults = 0;
    else if (!harmless.test(operation)) yield 'cut';
    // A snapshot may bring faults along.
    if (operation.startsWith('snapshot')) faults = Number.POSITIVE_INFINITY;
  }
}

/** The exchange of a journal's entry; its times are the service's own, to the millisecond. */
function exchangeOfEntry({ at, request, reply }: RequestEntry, isForced: boolean): TrafficExchange {
  const time = Date.parse(at);
  const key = request.key_id ?? request.credential;
  const { content_type: type, client_ip: address, body_base64: bytes } = request;
  return {
    sentAt: time,
    answeredAt: time,
    precisionMs: 0,
    host: '',
    method: request.method,
    path: request.path,
    query: request.query ?? '',
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(type !== undefined && { 'content-type': type }),
    },
    showsCredential: true,
    ...(address !== undefined && { address }),
    body:
      bytes === undefined && request.content_encoding === undefined
        ? (request.body ?? '')
        : undefined,
    reply: {
      status: reply.status,
      headers: { 'content-type': 'application/json', ...reply.headers },
      body: reply.body,
    },
    isForced,
    isSeen: reply.delivery?.cut === undefined,
  };
}

/** Small, so that a piece is freed soon: longer texts wait for a full garbage collection. */
const pieceBytes = 65_536;
/** Characters: a line must fit in memory. */
const longestLine = 64 * 1_048_576;

/** The text of a file, gzipped or not, in pieces, because it may be larger than memory. */
async function* piecesOf(path: string, onCut: () => void): AsyncGenerator<string> {
  let file: number;
  try {
    file = openPlain(path);
  } catch (error) {
    throw new CommandError(2, `${path}: ${reasonOf(error)}`);
  }
  const magic = Buffer.alloc(2);
  readSync(file, magic, 0, 2, 0);
  const bytes = createReadStream('', { fd: file, start: 0, highWaterMark: pieceBytes });
  const isZipped = magic[0] === 0x1f && magic[1] === 0x8b;
  const plain = isZipped ? bytes.pipe(createGunzip({ chunkSize: pieceBytes })) : bytes;
  bytes.on('error', (error) => plain.destroy(error));
  plain.setEncoding('utf8');
  try {
    for await (const piece of plain) yield piece as string;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'Z_BUF_ERROR')
      throw new CommandError(2, `${path}: ${reasonOf(error)}`);
    onCut();
  } finally {
    bytes.destroy();
  }
}

/** Lines without their ends. A last line that is neither ended nor JSON was cut off: left out. */
async function* linesOf(
  pieces: AsyncIterable<string>,
  path: string,
  onCut: () => void,
): AsyncGenerator<string> {
  let incomplete = '';
  for await (const piece of pieces) {
    // Only the piece is split: joining it to a long line first would copy that line each time.
    const [end = '', ...lines] = piece.split('\n');
    incomplete += end;
    if (incomplete.length > longestLine)
      throw new CommandError(2, `${path}: a line has more than ${longestLine} characters`);
    for (const next of lines) {
      yield withoutReturn(incomplete);
      incomplete = next;
    }
  }
  if (valueIn(incomplete) !== undefined) yield incomplete;
  else if (incomplete.trim() !== '') onCut();
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
