/**
 * Plays the inputs of a journal (requests and operations) on a simulator in its start state, and
 * compares: replies byte for byte, results of operations by digest.
 */
import type { ApiReply, ApiRequest, Awaits } from '#contract/request-and-reply.ts';
import { isoTime } from '#contract/time.ts';
import { reasonOf } from '#io/plain-file.ts';
import {
  type EndedEntry,
  type Entry,
  type JournalReply,
  type JournalRequest,
  journalReply,
  type OperationEntry,
  type RequestEntry,
  resultDigest,
} from '#judging/evidence/journal-entry.ts';
import { JournalError } from '#judging/evidence/journal-line.ts';
import { timeIn } from '#judging/evidence/reading.ts';
import type { Settings } from '../config/settings.ts';
import { OperationRefused } from '../sim/errors.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { WallClock } from '../simulation/wall-clock.ts';
import type { ExchangeRecord } from './exchange-record.ts';

type Input = Exclude<Entry, EndedEntry>;

/** The simulator on which a run is played, and whose state a checkpoint saves and restores. */
export interface ReplayTarget {
  readonly settings: Settings;
  readonly simulation: Simulation;
  readonly wallClock: WallClock;
  readonly exchangeRecord: ExchangeRecord;
  /** `awaits`: the reply may wait for the write that records the request. */
  handle(request: ApiRequest, awaits?: Awaits): ApiReply;
  /** Runs a recorded operation again; undefined if no operation has this name. */
  replayOperation(name: string, args: readonly unknown[]): { readonly result: unknown } | undefined;
  /** An empty simulation of the same classes. */
  makeSimulation(settings: Settings, startMs: number): Simulation;
  replace(simulation: Simulation): void;
}

/** A result that differs from the recorded one. */
export interface Difference {
  /** Line number in the file, from 1. */
  readonly line: number;
  /** The simulated time of the input, in ISO 8601. */
  readonly at: string;
  /** Such as `POST /api/v1/sms/send/`, or the operation's name. */
  readonly input: string;
  readonly expected: string;
  readonly actual: string;
}

export interface Played {
  readonly inputs: number;
  /** How many results differ from the recorded ones. */
  readonly differing: number;
  /** The first of those differences. */
  readonly differences: readonly Difference[];
}

const keptDifferences = 20;
/** Entries that are played before the generator yields, so that ports can answer meanwhile. */
const entriesPerSlice = 64;

/**
 * Plays all entries. The caller must hold the simulator's wall clock, and runs the generator to its
 * end. `name`: the file, for errors. Throws a JournalError for an input that was not recorded.
 */
export function* playing(
  simulator: ReplayTarget,
  entries: Iterable<Entry>,
  name: string,
): Generator<undefined, Played> {
  // The header is line 1.
  let line = 1;
  let inputs = 0;
  let differing = 0;
  const differences: Difference[] = [];
  for (const entry of entries) {
    line++;
    if (line % entriesPerSlice === 0) yield;
    if ('ended' in entry) {
      simulator.exchangeRecord.ended(entry.ended, Date.parse(entry.at), entry.seen !== false);
      continue;
    }
    inputs++;
    const mismatch = playInput(simulator, entry, `${name}: line ${line}`);
    if (mismatch === undefined) continue;
    differing++;
    if (differences.length < keptDifferences) differences.push({ line, at: entry.at, ...mismatch });
  }
  return { inputs, differing, differences };
}

/**
 * A time before the present one is a mismatch: only a reset or a restore sets time back, and both
 * are inputs. An input that throws was not recorded by a run: the journal was changed by hand or by
 * another version.
 */
function playInput(simulator: ReplayTarget, entry: Input, position: string): Mismatch | undefined {
  const { clock } = simulator.simulation;
  const nowMs = clock.now();
  const atMs = timeIn(entry.at);
  if (atMs < nowMs)
    return { input: 'the clock', expected: entry.at, actual: `already at ${isoTime(nowMs)}` };
  try {
    clock.advanceTo(atMs);
    return 'request' in entry ? playRequest(simulator, entry) : playOperation(simulator, entry);
  } catch (error) {
    throw new JournalError(`${position} cannot be played: ${reasonOf(error)}`, { cause: error });
  }
}

type Mismatch = Pick<Difference, 'input' | 'expected' | 'actual'>;

function playRequest(
  simulator: ReplayTarget,
  { request, reply }: RequestEntry,
): Mismatch | undefined {
  const replayed = withCaller(simulator, request, (input) => simulator.handle(input));
  const isEqual = reply.status === replayed.status && reply.body === replayed.body;
  // Most replies are plain and equal: this saves two texts for each.
  if (isEqual && isPlain(reply) && isPlain(replayed)) return undefined;
  const expected = JSON.stringify(journalReply(reply));
  const actual = JSON.stringify(journalReply(replayed));
  if (actual === expected) return undefined;
  return { input: `${request.method} ${request.path}`, expected, actual };
}

/** True if a journal holds only the status and the body of a reply. */
function isPlain({ headers, delivery }: ApiReply | JournalReply): boolean {
  return headers === undefined && delivery === undefined;
}

function playOperation(
  simulator: ReplayTarget,
  { operation, args, result }: OperationEntry,
): Mismatch | undefined {
  const mismatch = (actual: string) => ({ input: operation, expected: result, actual });
  try {
    const replayed = simulator.replayOperation(operation, args);
    if (replayed === undefined) return mismatch('no operation has this name');
    const actual = resultDigest(replayed.result);
    return actual === result ? undefined : mismatch(actual);
  } catch (error) {
    if (!(error instanceof OperationRefused)) throw error;
    return error.code === result ? undefined : mismatch(`${error.code}: ${error.message}`);
  }
}

/**
 * Runs a recorded request with its key. A key known only by digest gets a temporary alias. Without
 * the key, the replies differ, which then shows.
 */
function withCaller<T>(
  simulator: ReplayTarget,
  recorded: JournalRequest,
  run: (request: ApiRequest) => T,
): T {
  const { world } = simulator.simulation;
  const key = recorded.key_id === undefined ? undefined : world.keys.get(recorded.key_id);
  if (key === undefined || key.key !== '') return run(requestOf(recorded, key?.key));
  const alias = `replayed-${key.keyId}`;
  world.keyRing.alias(alias, key);
  try {
    return run(requestOf(recorded, alias));
  } finally {
    world.keyRing.dropAlias(alias);
  }
}

function requestOf(recorded: JournalRequest, key: string | undefined): ApiRequest {
  const { body_base64: bytes } = recorded;
  return {
    method: recorded.method,
    path: recorded.path,
    query: recorded.query ?? '',
    authorization: key === undefined ? recorded.credential : `Bearer ${key}`,
    contentType: recorded.content_type,
    contentEncoding: recorded.content_encoding,
    clientIp: recorded.client_ip ?? '',
    forwardedFor: recorded.forwarded_for,
    headers: recorded.headers,
    body: bytes === undefined ? (recorded.body ?? '') : Buffer.from(bytes, 'base64'),
  };
}
