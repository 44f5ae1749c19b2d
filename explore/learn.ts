/**
 * Learns from two runs without faults at which points the client calls the service, and which
 * messages it gets accepted. A client that fails or differs without faults cannot be explored. A
 * third run answers 429 and measures how long the client waits by itself: the fault `throttle` then
 * asks for more, so that a client which ignores `Retry-After` retries too early.
 */
import type { FaultName, Point, Schedule } from '#contract/fault-schedule.ts';
import { matchRoute } from '#contract/routes.ts';
import { grouped } from '#io/grouped.ts';
import { counted } from '#io/terminal.ts';
import {
  type ClientExchange,
  isAcceptedOrReplayed,
  recipientAndTextOf,
} from '#judging/client/exchange.ts';
import { isSend } from '#judging/evidence/exchange.ts';
import {
  acceptedIn,
  areEqual,
  newlyAccepted,
  type RawRun,
  type RunClient,
  recipientOf,
  sentUnderSeveralIds,
  totalOf,
} from './client-run.ts';
import { agreedIntents, type KnownIntents } from './points.ts';
import { faultsAt, pointKey, pointText } from './schedule.ts';
import { type Expected, type Run, runOf } from './verdict.ts';

export interface Learned {
  readonly subject: ClientUnderTest;
  readonly knownIntents: KnownIntents;
  readonly expected: Expected;
  /** The first run without faults. */
  readonly run: Run;
  readonly throttleWaits: readonly number[];
  /** What a reader must know before the findings, which compare with the run without faults. */
  readonly notices: readonly string[];
}

/** Why the client cannot be explored: one line, and the end of the client's output. */
export interface Problem {
  readonly line: string;
  readonly tail: string;
}

/** A command of its own, or a function in this process. */
export type ClientKind = 'command' | 'client';

interface ClientUnderTest {
  readonly name: ClientKind;
  /** True if the client runs on a scaled clock. */
  readonly isScaled: boolean;
}

/** What may be wrong with a client that makes no request. */
const remedies: Readonly<Record<ClientKind, string>> = {
  command: 'does it use SMSTWIN_BASE_URL? --env NAME=base_url sets a variable of its own',
  client: 'it must use the fetch that it is given',
};

export interface LearnOptions {
  readonly subject?: ClientKind | undefined;
  /** The intents of an earlier learning, which keep their numbers. */
  readonly intents?: KnownIntents;
  /** The seconds that `throttle` asks for; by default they are measured. */
  readonly throttleWaits?: readonly number[] | undefined;
  /** The faults to try; the wait is measured only if `throttle` is one of them. */
  readonly faults: readonly FaultName[];
  readonly isScaled?: boolean | undefined;
}

export async function learn(
  runClient: RunClient,
  options: LearnOptions,
): Promise<Learned | Problem> {
  const { intents = {} } = options;
  const subject = { name: options.subject ?? 'client', isScaled: options.isScaled === true };
  const firstRaw = await runClient([], intents, []);
  const first = judged(firstRaw, undefined, subject);
  if (isProblem(first)) return first;
  const secondRaw = await runClient([], intents, []);
  const second = judged(secondRaw, undefined, subject);
  if (isProblem(second)) return differing(subject, second);
  const difference = differenceOf(first.trace, second.trace);
  if (difference !== undefined) return problemOf(subject, `${differs}: ${difference}`, '');
  const [one, other] = [exchangesOf(firstRaw), exchangesOf(secondRaw)];
  const accepted = acceptedIn(one);
  const otherTexts = acceptedIn(other, recipientAndTextOf);
  const knownIntents = agreedIntents(firstRaw.intents, secondRaw.intents);
  return {
    subject,
    knownIntents,
    expected: {
      accepted: areEqual(accepted, acceptedIn(other)) ? accepted : undefined,
      total: totalOf(accepted),
      texts: new Map(
        [...acceptedIn(one, recipientAndTextOf)].filter(([text, n]) => otherTexts.get(text) === n),
      ),
      equalMessages: sentUnderSeveralIds(one),
    },
    run: first,
    throttleWaits:
      options.throttleWaits ?? (await throttleWaitsFor(first, options, runClient, knownIntents)),
    notices: noticesOf(firstRaw),
  };
}

/** The service's limits are by the minute, so it asks for no longer wait than this one. */
export const longestStatedWaitSeconds = 60;

/** The measured wait; if waiting is cheap, the first throttle asks for the longest stated wait. */
async function throttleWaitsFor(
  first: Run,
  { faults, subject, isScaled }: LearnOptions,
  runClient: RunClient,
  knownIntents: KnownIntents,
): Promise<readonly number[]> {
  const seconds = await measuredWait(first, faults, runClient, knownIntents);
  const isCheap = subject !== 'command' || isScaled === true;
  return isCheap ? [Math.max(seconds, longestStatedWaitSeconds), seconds] : [seconds];
}

/** No throttle asks for a longer wait, even if the client waits longer by itself. */
const longestWaitSeconds = 120;

/** One second more than twice the client's longest wait after a 429 that asks for one second. */
async function measuredWait(
  { trace }: Run,
  faults: readonly FaultName[],
  runClient: RunClient,
  knownIntents: KnownIntents,
): Promise<number> {
  // The reversed order makes the first point of each endpoint win.
  const firstPoints = new Map(trace.map((at) => [at.endpoint, at] as const).reverse());
  const probe: Schedule = [...firstPoints.values()]
    .filter(({ endpoint }) => faultsAt(endpoint, faults).includes('throttle'))
    .map((at) => ({ at, fault: 'throttle' }));
  if (probe.length === 0) return 1;
  const { seen } = await runClient(probe, knownIntents, [1]);
  const arrivals = new Map(
    seen.flatMap(({ point, exchange }) => (point ? [[pointKey(point), exchange] as const] : [])),
  );
  const sends = seen.map(({ exchange }) => exchange).filter(isSend);
  const waits = probe.map(({ at }) => {
    const refused = arrivals.get(pointKey(at));
    if (refused === undefined) return 0;
    const retry =
      arrivals.get(pointKey({ ...at, attempt: at.attempt + 1 })) ??
      // With another endpoint or id, the retry looks like another message to the same recipient.
      sends.find((one) => one.number > refused.number && recipientOf(one) === recipientOf(refused));
    return (retry?.sentAt ?? 0) - refused.sentAt;
  });
  const seconds = Math.ceil((2 * Math.max(0, ...waits)) / 1_000) + 1;
  return Math.min(seconds, longestWaitSeconds);
}

/** The problem of a later run without faults; undefined if it passes like the first two. */
export function controlProblem(raw: RawRun, { expected, subject }: Learned): Problem | undefined {
  const run = judged(raw, expected, subject);
  return isProblem(run) ? differing(subject, run) : undefined;
}

export function isProblem(value: Learned | Run | Problem): value is Problem {
  return 'line' in value;
}

function judged(
  raw: RawRun,
  expected: Expected | undefined,
  subject: ClientUnderTest,
): Run | Problem {
  const run = runOf(raw, [], expected, { mayFail: false });
  const { ending, trace, failures } = run;
  const { kind, how, tail } = ending;
  const { name } = subject;
  if (kind === 'timeout') return problemOf(subject, `does not end without any fault: ${how}`, tail);
  if (kind === 'failed') return { line: `the ${name} fails without any fault: ${how}`, tail };
  if (trace.length === 0) {
    const nothingSent = `the ${name} made no request to the service: ${remedies[name]}`;
    return { line: elsewhereIn(raw) ?? nothingSent, tail };
  }
  const [failure] = failures;
  if (failure !== undefined)
    return { line: `the client fails without any fault: ${failure.cause}: ${failure.what}`, tail };
  const refused = refusedIn(raw);
  return refused === undefined ? run : { line: refused, tail };
}

/** Peculiarities of the run without faults, with which all other runs are compared. */
function noticesOf(raw: RawRun): string[] {
  const elsewhere = elsewhereIn(raw);
  const accepted = newlyAccepted(exchangesOf(raw));
  const nameOf = (send: ClientExchange) =>
    JSON.stringify([recipientOf(send), send.fields?.['message']]);
  const copies = [...grouped(accepted, nameOf).values()].filter(({ length }) => length > 1);
  const repeated = copies.map(([send, ...others]) => {
    const to = send && recipientOf(send);
    return `${to} is sent one text ${others.length + 1} times: if that is one message, it is sent twice, and what follows is measured by it`;
  });
  return [...repeated, ...(elsewhere === undefined ? [] : [elsewhere])].map(
    (what) => `without any fault, ${what}`,
  );
}

/** The requests of a run that came to no path of the service; undefined without any. */
function elsewhereIn(raw: RawRun): string | undefined {
  const requests = exchangesOf(raw).filter(({ endpoint }) => endpoint === undefined);
  const [first] = requests;
  if (first === undefined) return undefined;
  const { method, target, reply } = first;
  const withSlash = `${target}/`;
  const isKnown = matchRoute(withSlash)?.route.endpoint !== undefined;
  const hint = isKnown ? `: the path is ${withSlash}` : '';
  return `${counted(requests.length, 'request')} came to no known path: ${method} ${target} → ${reply.status}${hint}`;
}

/** Why other runs cannot be compared with this one: it tries to send, and no message is accepted. */
function refusedIn(raw: RawRun): string | undefined {
  const exchanges = exchangesOf(raw);
  const sends = exchanges.filter(isSend);
  const isMisdirected = exchanges.some(({ endpoint, target }) => !endpoint && /send/i.test(target));
  const triesToSend = sends.length > 0 || isMisdirected;
  if (!triesToSend || sends.some(isAcceptedOrReplayed)) return undefined;
  const statuses = [...new Set(sends.map(({ reply }) => reply.status))];
  const hints = statuses.flatMap((status) => hintsOn[status] ?? []);
  const answered = `${counted(sends.length, 'send')} answered ${statuses.join(', ')}`;
  const elsewhere = elsewhereIn(raw);
  const reasons = [
    ...(sends.length === 0 ? [] : [answered, ...hints]),
    ...(elsewhere === undefined ? [] : [elsewhere]),
  ];
  return `no message was accepted without any fault: ${reasons.join('; ')}`;
}

/** What to do about a status that every send gets. */
const hintsOn: Readonly<Record<number, string>> = {
  401: 'send the key of SMSTWIN_API_KEY as Authorization: Bearer',
  403: 'send from the number in SMSTWIN_FROM',
  415: 'send the header Content-Type: application/json',
};

/** A scaled clock shortens the client's own timeouts, which a busy machine then reaches. */
export const tryLess = 'try a lower --rate';

const differs = 'differs between runs without any fault';

function differing(subject: ClientUnderTest, { line, tail }: Problem): Problem {
  return problemOf(subject, `${differs}: passed, then did not: ${line}`, tail);
}

function problemOf({ name, isScaled }: ClientUnderTest, what: string, tail: string): Problem {
  return { line: `the ${name} ${what}${isScaled ? `; ${tryLess}` : ''}`, tail };
}

/** A point that only one run reached. Ignores how often a client reads, as that depends on time. */
function differenceOf(one: readonly Point[], other: readonly Point[]): string | undefined {
  const missing = missingIn(other, one) ?? missingIn(one, other);
  return missing && `only one of two made the request ${pointText(missing)}`;
}

function missingIn(trace: readonly Point[], points: readonly Point[]): Point | undefined {
  const keys = new Set(trace.map(keyOf));
  return points.find((point) => !keys.has(keyOf(point)));
}

function keyOf(point: Point): string {
  return pointKey(isRead(point) ? { ...point, attempt: 1 } : point);
}

function isRead({ endpoint }: Point): boolean {
  return !endpoint.endsWith('send');
}

function exchangesOf({ seen }: RawRun) {
  return seen.map(({ exchange }) => exchange);
}
