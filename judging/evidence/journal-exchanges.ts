/** The exchanges of a simulator's journal, and where its operations cut what is known. */
import { crc32 } from 'node:zlib';
import { mayChangeReply } from '#contract/fault-kinds.ts';
import type { MutableTraffic } from './file-clocks.ts';
import type { FileReading, TextReader } from './file-reading.ts';
import type { EndedEntry, OperationEntry, RequestEntry } from './journal-entry.ts';
import { checksumMember, lineReader } from './journal-line.ts';
import { timeIn, valueIn } from './reading.ts';
import { readerOfLines } from './traffic-file.ts';

/** Operations after which earlier exchanges still explain later ones. */
const harmless = /^(?:clock\.|sims\.(?:poll|receive)$|messages\.|outcomes\.|referee\.|faults\.)/;

export function journalReader(reading: FileReading): TextReader {
  reading.isJournal = true;
  const read = lineReader(reading.path);
  let faults = 0;
  let requests = 0;
  /** Tells the run of the journal from others. */
  let run: number | undefined;
  /** The exchanges whose replies were delayed, by the numbers of their requests. */
  const late = new Map<number, MutableTraffic>();
  const noteOutcomes = (outcomes: unknown) => {
    for (const { to, refuse } of Array.isArray(outcomes) ? outcomes.map(Object) : [])
      if (refuse === 'throttled') reading.scriptThrottled(String(to));
  };
  return readerOfLines(reading, (text) => {
    const entry = text === '' ? undefined : read(text);
    if (entry === undefined) {
      run ??= crc32(text);
      if (requests === 0) noteOutcomes(Object(Object(valueIn(text)).settings).world?.outcomes);
      return;
    }
    if ('request' in entry) {
      const exchange = exchangeOfEntry(entry, faults > 0, reading);
      requests++;
      if (entry.reply.delivery !== undefined) late.set(requests, exchange);
      reading.noteRequest(exchange);
      // The checksum at the end tells lines apart as well as all of the text. What another run, or
      // the same one at another time, answered alike is no copy, unless it created the message.
      const number = entry.reply.status === 202 ? '' : requests;
      const checksum = text.slice(Math.max(0, text.lastIndexOf(checksumMember)));
      reading.add(exchange, `${run} ${number} ${checksum}`);
    } else if ('ended' in entry) {
      const number = requests - entry.ended + 1;
      const exchange = late.get(number);
      if (exchange !== undefined) endExchange(exchange, entry);
      late.delete(number);
    } else {
      const { operation } = entry;
      if (operation === 'faults.add' && changesReplies(entry)) faults++;
      if (operation === 'faults.clear') faults = 0;
      if (operation === 'outcomes.put') noteOutcomes(Object(entry.args[0]).outcomes);
      if (!harmless.test(operation)) reading.addCut();
      // A snapshot may bring faults along.
      if (operation.startsWith('snapshot')) faults = Number.POSITIVE_INFINITY;
    }
  });
}

function changesReplies({ args: [added] }: OperationEntry): boolean {
  return mayChangeReply(String(Object(Object(added).fault).kind));
}

function endExchange(exchange: MutableTraffic, { at, seen }: EndedEntry): void {
  exchange.answeredAt = Date.parse(at);
  if (seen === false) exchange.isSeen = false;
}

const jsonHeaders = { 'content-type': 'application/json' };

/** The exchange of a journal's entry; its times are the service's own, to the millisecond. */
function exchangeOfEntry(
  { at, request, reply }: RequestEntry,
  isForced: boolean,
  reading: FileReading,
): MutableTraffic {
  const time = timeIn(at);
  const key = request.key_id ?? request.credential;
  const { content_type: type, client_ip: address, body_base64: bytes } = request;
  const { delivery } = reply;
  const headers: Record<string, string> = {};
  if (key !== undefined) headers['authorization'] = `Bearer ${key}`;
  if (type !== undefined) headers['content-type'] = type;
  return {
    sentAt: time,
    answeredAt: time + (delivery?.delayMs ?? 0),
    clock: reading.path,
    precisionMs: 0,
    host: '',
    method: request.method,
    path: request.path,
    query: request.query ?? '',
    headers: reading.headers.shared(headers),
    showsCredential: true,
    address,
    body:
      bytes === undefined && request.content_encoding === undefined
        ? (request.body ?? '')
        : undefined,
    reply: {
      status: reply.status,
      headers: reply.headers === undefined ? jsonHeaders : { ...jsonHeaders, ...reply.headers },
      body: reply.body,
    },
    isForced,
    isSeen: delivery?.cut === undefined,
  };
}
