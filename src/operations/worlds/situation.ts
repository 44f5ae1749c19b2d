/**
 * Copies a situation as a test: what happened to one message or request, or a world up to a line of
 * its journal. It keeps the inputs that the situation needs, plays them on a simulator of their own,
 * and lets the test assert what that run showed. `situation-text.ts` writes the text.
 */
import { z } from 'zod';
import { isoTime } from '#contract/time.ts';
import { atOnce } from '#io/slices.ts';
import { messageIdOf } from '#judging/client/exchange.ts';
import { defaultGraceMs } from '#judging/client/judge.ts';
import type { Entry, OperationEntry, RequestEntry } from '#judging/evidence/journal-entry.ts';
import { valueIn } from '#judging/evidence/reading.ts';
import type { SettingsInput } from '../../config/settings.ts';
import { readHeader } from '../../recording/journal/journal-header.ts';
import type { Message } from '../../sim/accounts/account.ts';
import { OperationRefused } from '../../sim/errors.ts';
import { newestMatching } from '../messages/message-query.ts';
import { standstills } from '../messages/waiting.ts';
import { largestInQuery, ordinalSchema } from '../query.ts';
import { reportingOn } from '../requests/referee.ts';
import { exchangesOfIntent } from '../requests/trace.ts';
import { find, type RunningWorld } from '../running-world.ts';

export const situationSchema = z.strictObject({
  language: z.enum(['vitest', 'pytest']).default('vitest').describe('Of the test file.'),
  message_id: z.string().exactOptional().describe('What happened to this message.'),
  number: ordinalSchema(largestInQuery).exactOptional().describe('And to this request.'),
  entry: ordinalSchema(largestInQuery)
    .exactOptional()
    .describe('The world after this line of the journal. Default: its last line.'),
});
type Query = z.output<typeof situationSchema>;

/** An input of the test. */
export type Step =
  | {
      readonly atMs: number;
      readonly operation: string;
      readonly args: readonly unknown[];
      /** The id of the key that it made, if it made one. */
      readonly keyId: string | undefined;
    }
  | {
      readonly atMs: number;
      readonly request: RequestEntry['request'];
      /** The name of its account, whose first key it carries, or the id of a key made before. */
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
  readonly match: { readonly to?: string; readonly request_id?: string };
  /** Newest first. */
  readonly statuses: readonly string[];
  /** Why the first of them waits for a user; empty: it does not. */
  readonly standstill: string;
  readonly faultHits: readonly number[];
  /** True if only the referee of a finished client finds what the requests break. */
  readonly isFinished: boolean;
}

/** The most inputs of a test; a longer one would not be read. */
const mostSteps = 1_000;
/** The most messages whose statuses a test asserts. */
const mostStatuses = 20;
const entriesAtOnce = 256;

/** `endMs`: the simulated time at which the situation is. */
export function* situationOf(
  live: RunningWorld,
  { message_id: messageId, number, entry }: Query,
  endMs: number,
): Generator<undefined, Situation> {
  const run = live.recordedRun();
  const header = readHeader(run.header, run.name);
  if (header.checkpoint !== undefined) {
    throw refusal('the journal begins at a checkpoint: its inputs before that are not kept');
  }
  let entries: Entry[] = [];
  let startMs = Date.parse(header.started_at);
  let line = 1;
  for (const each of run.entries) {
    if (++line % entriesAtOnce === 0) yield;
    if (entry !== undefined && line > entry) break;
    entries.push(each);
    if (!('operation' in each) || each.operation !== 'reset') continue;
    startMs = Number(each.args[0]);
    entries = [];
  }
  const inputs = entries.filter(isInput);
  const numbersBefore = live.exchangeRecord.total - inputs.filter(isRequest).length;
  const subject = yield* subjectOf(live, messageId, number);
  const { clock: _, startTime: __, rate: ___, ...settings } = header.settings;
  const base = { settings: withoutKeys(settings), startMs, endMs };
  // From the fewest inputs to all: the first that play as they were recorded are enough.
  for (const isKept of subject?.filters(numbersBefore) ?? [() => true]) {
    let requests = 0;
    const kept = inputs.filter((input) => {
      if (isRequest(input)) requests++;
      return isKept(input, requests);
    });
    if (kept.length > mostSteps) continue;
    const situation = played(live, kept, base, subject);
    if (situation !== undefined) return situation;
    yield;
  }
  throw refusal(
    `no test of at most ${mostSteps} inputs plays as the journal has it; save the journal instead`,
  );
}

type Input = OperationEntry | RequestEntry;

function isInput(entry: Entry): entry is Input {
  // The times of the other inputs move the clock.
  return !('ended' in entry) && !('operation' in entry && /^clock\.|wait$/.test(entry.operation));
}

function isFault(input: Input): boolean {
  return 'operation' in input && input.operation.startsWith('faults.');
}

function isRequest(input: Entry): input is RequestEntry {
  return 'request' in input;
}

interface TestSubject {
  readonly title: string;
  readonly match: Situation['match'];
  /** Undefined: it made no message. */
  readonly statuses: readonly string[] | undefined;
  /** Which inputs are kept, from the fewest to all, by the number of requests so far. */
  readonly filters: (
    numbersBefore: number,
  ) => readonly ((input: Input, requests: number) => boolean)[];
}

/** What the test is about; undefined: the whole world. */
function* subjectOf(
  live: RunningWorld,
  messageId: string | undefined,
  number: number | undefined,
): Generator<undefined, TestSubject | undefined> {
  if (messageId === undefined && number === undefined) return undefined;
  // A finished client's intent holds its retries under a new request_id, too.
  const options = { isPartial: false, isStrict: false, graceMs: defaultGraceMs };
  const report = yield* reportingOn(live, options);
  const traced = messageId && find('message_id', live, messageId).messageId;
  const found = exchangesOfIntent(report, number, traced);
  const numbers = new Set([...found.attempts, ...found.reads].map((each) => each.number));
  if (numbers.size === 0) throw refusal('the record no longer has the requests of this');
  const last = Math.max(...numbers);
  const id = traced ?? (found.traced && messageIdOf(found.traced)) ?? found.messageId;
  const message = id === undefined ? undefined : live.simulation.world.messages.get(id);
  const [first] = found.attempts;
  const account = live.simulation.world.accounts.get(first?.caller.account ?? '');
  const keyIds = new Set((account?.keys ?? []).map(({ keyId }) => keyId));
  const match =
    message === undefined
      ? {}
      : { to: message.to, ...(message.requestId !== '' && { request_id: message.requestId }) };
  return {
    title: titleOf(found, number, message),
    match,
    statuses: message === undefined ? undefined : statusesIn(live, match),
    filters: (numbersBefore) => {
      const isOfSubject = (input: Input, requests: number) =>
        isRequest(input) ? numbers.has(numbersBefore + requests) : true;
      const isOfAccount = (input: Input, requests: number) =>
        isOfSubject(input, requests) ||
        (isRequest(input) && keyIds.has(input.request.key_id ?? ''));
      const isBeforeLast = (input: Input, requests: number) =>
        numbersBefore + requests <= last && isOfAccount(input, requests);
      // Later faults strike none of its requests.
      const isUpToLast = (input: Input, requests: number) =>
        isOfSubject(input, requests) && (numbersBefore + requests < last || !isFault(input));
      return [isUpToLast, isOfSubject, isBeforeLast, isOfAccount, () => true];
    },
  };
}

/** A test of a send is named after it, its reply, and what its intent also sent. */
function titleOf(
  { traced, attempts }: ReturnType<typeof exchangesOfIntent>,
  number: number | undefined,
  message: Message | undefined,
): string {
  const [first] = attempts;
  if (number !== undefined && traced?.method === 'POST') {
    const ending = traced.isSeen ? `answered ${traced.reply.status}` : 'whose reply was lost';
    const others = traced === first ? 'its retries' : 'the other attempts';
    return `request ${number}, ${ending}${attempts.length > 1 ? `, and ${others}` : ''}`;
  }
  return message === undefined
    ? `${first?.method} ${first?.target} is answered ${first?.reply.status}`
    : `a message to ${message.to} is ${message.status}`;
}

function statusesIn({ simulation }: RunningWorld, match: Situation['match']): readonly string[] {
  const { messages } = newestMatching(simulation.world, match, mostStatuses);
  return messages.map(({ status }) => status);
}

/** Plays the inputs on a simulator of their own; undefined if a reply is not as it was recorded. */
function played(
  live: RunningWorld,
  inputs: readonly Input[],
  base: Pick<Situation, 'settings' | 'startMs' | 'endMs'>,
  subject: TestSubject | undefined,
): Situation | undefined {
  const { settings, startMs, endMs } = base;
  const twin = live.hosting.scratch(
    { ...settings, clock: 'manual', startTime: startMs } as SettingsInput,
    startMs,
  );
  try {
    const startKeys = new Map(
      [...twin.simulation.world.accounts.values()].map(({ name, keys: [key] }) => [
        key?.keyId,
        name,
      ]),
    );
    const steps: Step[] = [];
    for (const input of inputs) {
      const atMs = Date.parse(input.at);
      twin.simulation.clock.advanceTo(atMs);
      if (!isRequest(input)) {
        const { operation, args } = input;
        const done = twin.replayOperation(operation, args)?.result as
          | { key_id?: string }
          | undefined;
        steps.push({ atMs, operation, args, keyId: done?.key_id });
        continue;
      }
      const { request, reply: recorded } = input;
      const { key_id: keyId } = request;
      const key = keyId === undefined ? undefined : twin.simulation.world.keys.get(keyId);
      if (keyId !== undefined && (key === undefined || key.key === '')) return undefined;
      const reply = twin.handle({
        method: request.method,
        path: request.path,
        query: request.query ?? '',
        authorization: key === undefined ? request.credential : `Bearer ${key.key}`,
        contentType: request.content_type,
        clientIp: '127.0.0.1',
        forwardedFor: undefined,
        body: request.body ?? '',
      });
      const { status, headers, delivery, body } = reply;
      const wait = headers?.['retry-after'];
      if (status !== recorded.status || wait !== recorded.headers?.['retry-after'])
        return undefined;
      if (delivery?.cut !== recorded.delivery?.cut) return undefined;
      const isLost = delivery?.cut !== undefined || (body !== '' && valueIn(body) === undefined);
      const name = keyId && (startKeys.get(keyId) ?? keyId);
      const seen = isLost ? 'lost' : status;
      steps.push({ atMs, request, key: name, seen, delayMs: delivery?.delayMs ?? 0 });
    }
    twin.simulation.clock.advanceTo(endMs);
    const { title = `the world at ${isoTime(endMs)}`, match = {} } = subject ?? {};
    const statuses = statusesIn(twin, match);
    const expected = subject?.statuses ?? statuses;
    if (statuses.join() !== expected.join()) return undefined;
    const [waiting] = atOnce(standstills(twin));
    const isFinished = subject !== undefined && !isBroken(twin, true) && isBroken(twin, false);
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
  } finally {
    void twin.close();
  }
}

function isBroken(twin: RunningWorld, isPartial: boolean): boolean {
  const options = { isPartial, isStrict: false, graceMs: defaultGraceMs };
  return atOnce(reportingOn(twin, options)).rules.some(({ verdict }) => verdict === 'failed');
}

/** The settings with keys that are drawn: a journal does not have the text of explicit ones. */
function withoutKeys(
  settings: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const world = settings['world'] as {
    readonly accounts: readonly { readonly keys: readonly { readonly name: string }[] }[];
  };
  const accounts = world.accounts.map((account) => ({
    ...account,
    keys: account.keys.map(({ name }) => ({ name })),
  }));
  return { ...settings, world: { ...world, accounts } };
}

function refusal(message: string): OperationRefused {
  return new OperationRefused('conflict', message);
}
