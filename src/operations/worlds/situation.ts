/**
 * Copies a situation as a test: what happened to one message or request, or a world up to a line of
 * its journal. It keeps the inputs that the situation needs, plays them on a simulator of their
 * own, and lets the test assert what that run showed. `situation-text.ts` writes the text.
 */
import { z } from 'zod';
import { isoTime } from '#contract/time.ts';
import { atOnce } from '#io/event-loop.ts';
import { defaultGraceMs } from '#judging/client/record.ts';
import type { Entry, OperationEntry, RequestEntry } from '#judging/evidence/journal-entry.ts';
import { valueIn } from '#judging/evidence/reading.ts';
import { type Settings, type SettingsInput, withDrawnKeys } from '../../config/settings.ts';
import { readHeader } from '../../recording/journal/journal-header.ts';
import type { RecordedRun } from '../../recording/journal/journal-lines.ts';
import { conflict } from '../../sim/errors.ts';
import { largestInQuery, ordinalSchema } from '../input-fields.ts';
import { standstills } from '../messages/standstills.ts';
import { keptReportOn } from '../requests/kept-reports.ts';
import type { RunningWorld } from '../running-world.ts';
import {
  type Input,
  isRequest,
  type NumberedInput,
  type ShownMessages,
  type SubjectRequests,
  statusesOf,
  type TestSubject,
} from './situation-subject.ts';

export const situationSchema = z.strictObject({
  language: z
    .enum(['vitest', 'pytest'])
    .default('vitest')
    .describe('The language of the test file.'),
  message_id: z.string().exactOptional().describe('What happened to this message.'),
  number: ordinalSchema(largestInQuery).exactOptional().describe('Or to this request.'),
  entry: ordinalSchema(largestInQuery)
    .exactOptional()
    .describe('The world after this line of the journal. Default: its last line.'),
});

/** An input of the test. */
export type Step =
  | {
      readonly atMs: number;
      readonly operation: string;
      readonly args: readonly unknown[];
      readonly keyId: string | undefined;
    }
  | {
      readonly atMs: number;
      readonly request: RequestEntry['request'];
      /** The account whose first key it carries, by name, or the id of a key created before. */
      readonly key: string | undefined;
      /** The status that a client sees; `lost`: no whole reply. */
      readonly seen: number | 'lost';
      readonly delayMs: number;
    };

export interface Situation {
  readonly title: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly startMs: number;
  readonly steps: readonly Step[];
  readonly endMs: number;
  /** Finds the messages whose statuses the test asserts. */
  readonly match: ShownMessages;
  readonly statuses: readonly string[];
  /** Why the first message that waits for a user waits; empty if none does. */
  readonly standstill: string;
  readonly faultHits: readonly number[];
  /** True if the referee finds a broken rule only if the client sends nothing more. */
  readonly isFinished: boolean;
}

type SituationBase = Pick<Situation, 'settings' | 'startMs' | 'endMs'>;

/** The most inputs of a test: a reader cannot follow a longer one. */
const mostSteps = 1_000;
const entriesAtOnce = 256;

/**
 * The situation after a line of the journal, by default the last one, as inputs and what a run of
 * them shows. `seen`: the time and the subject at that instant.
 */
export function* situationOf(
  live: RunningWorld,
  lastLine: number | undefined,
  requests: SubjectRequests | undefined,
  { endMs, subject }: { readonly endMs: number; readonly subject: TestSubject | undefined },
): Generator<undefined, Situation> {
  const run = live.recordedRun();
  const lastNumber = live.exchangeRecord.total;
  const { checkpoint, started_at: startedAt, settings } = readHeader(run.header, run.name);
  if (checkpoint !== undefined)
    throw conflict('the journal begins at a checkpoint: its inputs before that are not kept');
  const startedAtMs = Date.parse(startedAt);
  const { startMs, inputs } = yield* inputsSinceReset(run, startedAtMs, lastNumber, lastLine);
  const isOfSubject = ({ input, number }: NumberedInput) =>
    isRequest(input) && requests?.numbers.has(number) === true;
  if (requests !== undefined && !inputs.some(isOfSubject))
    throw conflict(`the journal has none of its requests up to line ${lastLine}`);
  const { clock: _, startTime: __, rate: ___, ...otherSettings } = settings;
  // A journal does not have the text of explicit keys, so all are drawn.
  const world = withDrawnKeys(otherSettings['world'] as Settings['world']);
  const base = { settings: { ...otherSettings, world }, startMs, endMs };
  // From the fewest inputs to all: the first that play as they were recorded are enough.
  for (const isKept of requests?.filters ?? [() => true]) {
    const kept = inputs.filter(isKept);
    if (kept.length > mostSteps) continue;
    const situation = playInputs(live, kept, base, subject);
    if (situation !== undefined) return situation;
    yield;
  }
  throw conflict(
    `no test of at most ${mostSteps} inputs plays as the journal has it; save the journal instead`,
  );
}

/**
 * The inputs up to a line of the journal, from the last reset on, and the time at that reset.
 * `lastNumber`: the number of the last request of the journal.
 */
function* inputsSinceReset(
  { entries }: RecordedRun,
  startedAtMs: number,
  lastNumber: number,
  lastLine = Infinity,
) {
  let startMs = startedAtMs;
  let inputs: NumberedInput[] = [];
  let line = 1;
  let requests = 0;
  for (const entry of entries) {
    if (++line % entriesAtOnce === 0) yield;
    if (isRequest(entry)) requests++;
    if (line > lastLine) continue;
    if ('operation' in entry && entry.operation === 'reset') {
      startMs = Number(entry.args[0]);
      inputs = [];
    } else if (isInput(entry)) {
      inputs.push({ input: entry, number: requests });
    }
  }
  // The journal may lack earlier requests, so they are counted back from the last one.
  const before = lastNumber - requests;
  const numbered = inputs.map(({ input, number }) => ({ input, number: number + before }));
  return { startMs, inputs: numbered };
}

function isInput(entry: Entry): entry is Input {
  // The times of the other inputs move the clock.
  return !('ended' in entry) && !('operation' in entry && /^clock\.|wait$/.test(entry.operation));
}

/** Plays the inputs on a simulator of their own; undefined if a reply is not as it was recorded. */
function playInputs(
  live: RunningWorld,
  inputs: readonly NumberedInput[],
  base: SituationBase,
  subject: TestSubject | undefined,
): Situation | undefined {
  const { settings, startMs, endMs } = base;
  const twin = live.hostedWorlds.scratch(
    { ...settings, clock: 'manual', startTime: startMs } as SettingsInput,
    startMs,
  );
  try {
    const accountNames = accountNamesOf(twin);
    const steps: Step[] = [];
    for (const { input } of inputs) {
      twin.simulation.clock.advanceTo(Date.parse(input.at));
      const step = isRequest(input)
        ? playRequest(twin, input, accountNames)
        : playOperation(twin, input);
      if (step === undefined) return undefined;
      steps.push(step);
    }
    twin.simulation.clock.advanceTo(endMs);
    return situationAfter(twin, steps, base, subject);
  } finally {
    void twin.close();
  }
}

function accountNamesOf(twin: RunningWorld): ReadonlyMap<string, string> {
  return new Map(
    [...twin.simulation.world.accounts.values()].flatMap(({ name, keys: [firstKey] }) =>
      firstKey === undefined ? [] : [[firstKey.keyId, name] as const],
    ),
  );
}

/** What the run of these steps shows; undefined if the statuses are not the recorded ones. */
function situationAfter(
  twin: RunningWorld,
  steps: readonly Step[],
  base: SituationBase,
  subject: TestSubject | undefined,
): Situation | undefined {
  const { title = `the world at ${isoTime(base.endMs)}`, match = {} } = subject ?? {};
  const statuses = statusesOf(twin, match);
  const expected = subject?.statuses ?? statuses;
  if (statuses.join() !== expected.join()) return undefined;
  const [waiting] = atOnce(standstills(twin));
  const isFinished =
    subject !== undefined &&
    !findsBroken(twin, { isPartial: true }) &&
    findsBroken(twin, { isPartial: false });
  return {
    ...base,
    title,
    match,
    statuses,
    steps,
    standstill: waiting?.waiting_for ?? '',
    faultHits: twin.simulation.faults.list.map(({ hits }) => hits),
    isFinished,
  };
}

function playOperation(twin: RunningWorld, { at, operation, args }: OperationEntry): Step {
  const done = twin.replayOperation(operation, args)?.result as { key_id?: string } | undefined;
  return { atMs: Date.parse(at), operation, args, keyId: done?.key_id };
}

/** `accountNames`: see `accountNamesOf`. Undefined if the reply is not as it was recorded. */
function playRequest(
  twin: RunningWorld,
  { at, request, reply: recorded }: RequestEntry,
  accountNames: ReadonlyMap<string, string>,
): Step | undefined {
  const { key_id: keyId } = request;
  const key = keyId === undefined ? undefined : twin.simulation.world.keys.get(keyId);
  if (keyId !== undefined && (key === undefined || key.key === '')) return undefined;
  const { status, headers, delivery, body } = twin.handle({
    method: request.method,
    path: request.path,
    query: request.query ?? '',
    authorization: key === undefined ? request.credential : `Bearer ${key.key}`,
    contentType: request.content_type,
    clientIp: '127.0.0.1',
    forwardedFor: undefined,
    body: request.body ?? '',
  });
  const isAsRecorded =
    status === recorded.status &&
    headers?.['retry-after'] === recorded.headers?.['retry-after'] &&
    delivery?.cut === recorded.delivery?.cut;
  if (!isAsRecorded) return undefined;
  const isLost = delivery?.cut !== undefined || (body !== '' && valueIn(body) === undefined);
  return {
    atMs: Date.parse(at),
    request,
    key: keyId && (accountNames.get(keyId) ?? keyId),
    seen: isLost ? 'lost' : status,
    delayMs: delivery?.delayMs ?? 0,
  };
}

/** True if the referee finds that the requests break a rule. */
function findsBroken(twin: RunningWorld, record: { readonly isPartial: boolean }): boolean {
  const options = { ...record, isStrict: false, graceMs: defaultGraceMs };
  const { report } = atOnce(keptReportOn(twin, options));
  return report.rules.some(({ verdict }) => verdict === 'failed');
}
