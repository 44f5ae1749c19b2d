/**
 * The operations that look back at a world as it was at an earlier instant, rebuilt from its
 * journal, or go back to it; and the lines of the journal, from which a user chooses an instant.
 */
import { z } from 'zod';
import { isoTime } from '#contract/time.ts';
import type { Entry, OperationEntry } from '#judging/evidence/journal-entry.ts';
import { JournalError } from '#judging/evidence/journal-line.ts';
import { extentOf, type PastInstant } from '../../recording/past.ts';
import { takeSnapshot } from '../../recording/state/take-state.ts';
import { conflict, OperationRefused } from '../../sim/errors.ts';
import { defineOperation, WholeReply } from '../define.ts';
import { largestInQuery, limitSchema, ordinalSchema, timeMs, timeSchema } from '../input-fields.ts';
import { messageRecord, messageRecordSchema } from '../messages/message-query.ts';
import { find, type RunningWorld } from '../running-world.ts';
import { clockState, clockStateSchema, simView, simViewSchema } from '../views.ts';
import { situationOf, situationSchema } from './situation.ts';
import { subjectIn, subjectRequests } from './situation-subject.ts';
import { situationText } from './situation-text.ts';
import { knownKeys, restoreInto } from './snapshots.ts';
import { stateOf, stateSchema } from './state.ts';

/** Lines of the journal read before other requests get a turn. */
const linesAtOnce = 64;

export const instantSchema = z.strictObject({
  time: z.string().exactOptional().describe('ISO 8601 with its zone, in simulated time.'),
  entry: ordinalSchema(largestInQuery)
    .exactOptional()
    .describe('A line of the journal: the instant after it; 1 is the start.'),
});

const querySchema = instantSchema.extend({
  message_id: z.string().exactOptional().describe('Shows this message instead of the state.'),
  device_id: z.string().exactOptional().describe('Shows this SIM instead of the state.'),
});

const entrySchema = z
  .strictObject({
    entry: z.int().min(1).describe('The line in the journal.'),
    at: timeSchema,
    input: z.string().describe('Method and path of a request, or the name of an operation.'),
    how: z.string().nullable().describe('The input of an operation, without keys; null: none.'),
    status: z.int().nullable().describe('The status of the reply; null: an operation.'),
    number: z.int().nullable().describe('The number of the request.'),
    message_id: z.string().nullable().describe('The message that the reply is.'),
  })
  .meta({ id: 'JournalEntry' });

export const past = {
  at: defineOperation({
    http: 'GET /control/at',
    fleet: { scope: 'named' },
    summary:
      'What GET of the state, a message or a SIM would have answered at an earlier instant, rebuilt from the journal.',
    description:
      'Takes `time` or `entry`. A time counts since the last reset or restored snapshot; 409 names the earliest one that the journal holds.',
    input: querySchema,
    output: z.union([stateSchema, messageRecordSchema, simViewSchema]),
    refusals: [409],
    examples: [{ entry: 1 }],
    slices: viewAt,
    reply: (seen, live, { host }) =>
      'clock' in seen ? { ...seen, base_url: live.urlsFor(host).baseUrl } : seen,
  }),

  goBack: defineOperation({
    http: 'POST /control/at',
    fleet: { scope: 'named', changesRoutes: true },
    summary: 'Takes the world back to an earlier instant, rebuilt from the journal, in place.',
    description:
      'The journal records it as a restored snapshot and keeps what came before, so that it can itself be taken back: to the line before it. The log of requests stays; the referee starts anew.',
    input: instantSchema,
    output: clockStateSchema,
    // `goBackTo` records the snapshot that it restores.
    recorded: false,
    refusals: [409],
    examples: [{ entry: 1 }],
    slices: goBackTo,
  }),

  situation: defineOperation({
    http: 'GET /control/journal/test',
    fleet: { scope: 'named' },
    summary: 'A test file that reproduces what happened to a message or a request, or the world.',
    description:
      'It starts a simulator of its own with the same seed, and makes the inputs that this needs: requests, faults, SIM states and steps of the clock. It asserts the replies, the statuses, and that the requests break no rule for clients. 409 if the journal does not hold all of them.',
    input: situationSchema.prefault({}),
    output: z.string(),
    contentType: 'text/plain; charset=utf-8',
    refusals: [404, 409],
    examples: [{ entry: 1 }],
    slices: (live, query) => refusingUnreadable(situationTest(live, query)),
    reply: (content) =>
      new WholeReply({ status: 200, content, contentType: 'text/plain; charset=utf-8' }),
  }),

  inputs: defineOperation({
    http: 'GET /control/journal/inputs',
    fleet: { scope: 'named' },
    summary:
      'The inputs of the run, newest first: the entries of the journal without their bodies.',
    input: z
      .strictObject({
        limit: limitSchema({ largest: 1_000, fallback: 100 }),
        before: limitSchema({ largest: largestInQuery, fallback: largestInQuery }).describe(
          'Only entries before this one.',
        ),
      })
      .prefault({}),
    output: z.strictObject({
      entries: z.array(entrySchema),
      lines: z.int().describe('The number of lines in the journal, its header included.'),
      earliest: timeSchema.describe('The earliest time that `time` may name.'),
    }),
    refusals: [409],
    examples: [{ limit: 2 }],
    slices: inputsOf,
  }),
};

/** Rebuilds the world as it was at an instant, and returns what `use` returns for it. */
export function* atInstant<T>(
  live: RunningWorld,
  { time, entry }: z.output<typeof instantSchema>,
  use: (rebuilt: RunningWorld) => T,
): Generator<undefined, T> {
  if ((time === undefined) === (entry === undefined))
    throw new OperationRefused('invalid', 'expected time or entry', 'time');
  const instant: PastInstant =
    time === undefined ? { entry: entry ?? 1 } : { timeMs: timeMs(time, 'time') };
  const nowMs = live.simulation.clock.now();
  if ('timeMs' in instant && instant.timeMs > nowMs)
    throw new OperationRefused('invalid', `in the future: it is ${isoTime(nowMs)}`, 'time');
  return yield* refusingUnreadable(live.hostedWorlds.rebuildAt(live, instant, use));
}

function* viewAt(
  live: RunningWorld,
  { message_id, device_id, ...instant }: z.output<typeof querySchema>,
) {
  return yield* atInstant(live, instant, (rebuilt) => {
    const { world } = rebuilt.simulation;
    if (message_id !== undefined)
      return messageRecord(world, find('message_id', rebuilt, message_id));
    return device_id === undefined
      ? stateOf(rebuilt)
      : simView(find('device_id', rebuilt, device_id));
  });
}

function* situationTest(live: RunningWorld, query: z.output<typeof situationSchema>) {
  const { entry } = query;
  const requests = yield* subjectRequests(live, query.message_id, query.number);
  const seenIn = (world: RunningWorld) => ({
    endMs: world.simulation.clock.now(),
    subject: requests && subjectIn(world, requests),
  });
  const seen = entry === undefined ? seenIn(live) : yield* atInstant(live, { entry }, seenIn);
  const situation = yield* situationOf(live, entry, requests, seen);
  return situationText(situation, query.language, live.routeOf);
}

function* goBackTo(live: RunningWorld, instant: z.output<typeof instantSchema>) {
  const { snapshot, keyTexts } = yield* atInstant(live, instant, (rebuilt) => ({
    snapshot: takeSnapshot(rebuilt),
    keyTexts: knownKeys(rebuilt.simulation.world),
  }));
  live.change(
    'snapshot.restore',
    [snapshot],
    () => restoreInto(live, snapshot, keyTexts),
    () => undefined,
  );
  return clockState(live);
}

/** The newest `limit` entries before the line `before`, newest first. */
function* inputsOf(
  live: RunningWorld,
  { limit, before }: { readonly limit: number; readonly before: number },
) {
  const run = live.recordedRun();
  // As of the same moment: while this reads the journal, more requests may come.
  const { total } = live.exchangeRecord;
  const { lastLine: lines, startMs } = yield* refusingUnreadable(extentOf(run));
  const entries: z.output<typeof entrySchema>[] = [];
  let line = 1;
  let requests = 0;
  for (const entry of run.entries) {
    if (++line % linesAtOnce === 0) yield;
    if ('request' in entry) requests++;
    if (line >= before || 'ended' in entry) continue;
    entries.push({ entry: line, at: entry.at, ...entryView(entry, requests) });
    if (entries.length > limit) entries.shift();
  }
  // A journal that starts at a checkpoint lacks the requests before it.
  const requestsBefore = total - requests;
  const numbered = entries.map((entry) => ({
    ...entry,
    number: entry.number === null ? null : entry.number + requestsBefore,
  }));
  return { entries: numbered.reverse(), lines, earliest: isoTime(startMs) };
}

/** `number`: how many requests the journal has up to this entry. */
function entryView(entry: Exclude<Entry, { ended: unknown }>, number: number) {
  if ('operation' in entry) {
    const how = inputText(entry);
    return { input: entry.operation, how, status: null, number: null, message_id: null };
  }
  const { request, reply } = entry;
  const [, id = null] = reply.status < 400 ? (/"message_id":"([^"]+)"/.exec(reply.body) ?? []) : [];
  return {
    input: `${request.method} ${request.path}`,
    how: null,
    status: reply.status,
    number,
    message_id: id,
  };
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
/** Fields with secrets; and `since_ms`, the real time from which the clocks of a fleet count. */
const hiddenNames = /key|token|secret|^since_ms$/i;

/** The input of an operation as text: ids by their start, and no list of objects. */
function inputText({ args }: OperationEntry): string | null {
  const parts = args.flatMap((arg) => {
    if (typeof arg === 'string') return [uuidForm.test(arg) ? arg.slice(0, 8) : arg];
    return Object.entries(arg ?? {})
      .filter(([name]) => !hiddenNames.test(name))
      .map(([name, value]) => namedText(name, value));
  });
  return parts.filter((part) => part !== '').join(', ') || null;
}

function namedText(name: string, value: unknown): string {
  if (value === true) return name;
  if (name === 'to' && typeof value === 'number') return `to ${isoTime(value)}`;
  const values: readonly unknown[] =
    typeof value === 'object' && value !== null ? Object.values(value).flat() : [value];
  const isPlain = values.every((each) => typeof each !== 'object' || each === null);
  return isPlain && values.length > 0 ? `${name} ${values.join(' ')}` : '';
}

/** Turns an error of a journal that cannot be read into a refusal. */
function* refusingUnreadable<T>(work: Generator<undefined, T>): Generator<undefined, T> {
  try {
    return yield* work;
  } catch (error) {
    if (error instanceof JournalError) throw conflict(error.message);
    throw error;
  }
}
