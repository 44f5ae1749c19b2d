/**
 * Series of requests whose answers differ from one kind of limiter to another: the limit in two
 * parts or across the end of a window, a request after a silence, single requests, and what comes
 * back in ever longer pauses. Also how long the pause before a burst must be.
 */
import { hullOf, type Span } from '#judging/limiter/space/decision.ts';
import type { Allowance } from './allowance.ts';
import type { Evidence } from './evidence.ts';
import { halfRace, type Races } from './race.ts';
import { firmRefusals, growingWaits, justOver, type Recovery } from './recovery.ts';
import { isKindCertain, nextPass, sameWindow, surelyNext } from './remaining.ts';
import type { Run } from './run.ts';

/** The rest of a limit is spent this share of a window after the first part. */
const restShare = 0.45;
/** A silence after a burst ends at this share of a window. */
const silenceShare = 0.75;
/** How long single requests show how often one passes: the longer of a time and some windows. */
const singlyMs = 9_000;
const singlyWindows = 3;
/** A window that may be shorter than this many replies is brief. */
const briefReplies = 2;
/** How often many at once are sent, to exclude brief windows. */
const mostBriefRaces = 3;
/** A sliding counter looks back two windows, so a burst after this many meets an empty one. */
export const counterWindows = 2.05;
/** Each burst after a pause begins this share of a window later, so no place repeats. */
const goldenShare = 0.382;
/** Single requests end after this many refusals at times when one should pass. */
const mostLate = 3;

/** The most passes that are confirmed in turn; each shows a bit more of how they come back. */
const mostConfirmed = 12;
/** Short windows are confirmed for this many windows, whatever time is left. */
const confirmingWindows = 1.2;

/** A late refusal comes at this share of a window, or at most this long before its end. */
const lateShare = 0.7;
const tightMs = 1_000;
/** The first try of a wait shows whether it is true. Further ones halve where a window may end. */
const mostLateWaits = 3;

/** What asks, and what limits and remembers it. */
export interface Tools {
  readonly run: Run;
  readonly evidence: Evidence;
  readonly allowance: Allowance;
  readonly recovery: Recovery;
}

/**
 * Spends a part, then the rest half a window later: what then comes back differs from one limiter
 * to another. False if the part does not pass.
 */
export async function spendInParts(
  { run, recovery }: Tools,
  limit: number,
  lengthMs: number,
): Promise<boolean> {
  run.doing('the limit in two parts');
  const begin = run.now();
  const [, high] = recovery.span;
  // In a sliding log, the requests of the first burst come back as far apart as they were sent.
  if (lengthMs < high / 4) await run.until(begin + lengthMs);
  for (let passed = 1; passed < limit / 3; passed += 1)
    if ((await recovery.ask()).outcome === 'refused') return false;
  await run.until(begin + restShare * high);
  await recovery.sendUntilRefused({ most: limit * 2 + 2, refusals: firmRefusals - 1 });
  return true;
}

/**
 * A burst, and one request late in its window. If replies are slow, requests that follow each
 * other at once also fit windows as short as a few of them, if those of other callers count. A
 * refusal after a silence excludes such windows.
 */
export async function askAfterSilence(
  { run, allowance, recovery }: Tools,
  windowMs: number,
): Promise<void> {
  run.doing('a request after a silence');
  const begin = run.now();
  await recovery.sendUntilRefused({ most: allowance.mostInBurst, refusals: 1 });
  await run.until(begin + silenceShare * windowMs);
  await recovery.ask();
}

/**
 * While a window may be so brief that requests one by one hardly share one, sends as many at once as
 * passed one by one in the first burst, which took `ms`.
 */
export async function excludeBriefWindows(
  { run, evidence, allowance }: Tools,
  races: Races,
  { count, ms }: Readonly<Record<'count' | 'ms', number>>,
): Promise<void> {
  for (let race = 0; race < mostBriefRaces; race += 1) {
    const mayBeBrief = evidence.isKnown && evidence.windowMs[0] < briefReplies * run.replyMs;
    if (!mayBeBrief || run.requests + count > run.settings.budget) return;
    run.doing('a pause, so that much of the limit comes back');
    const pauseMs = Math.max(ms, allowance.mayBlock ? evidence.blockMs[0] : 0);
    await run.until(run.now() + pauseMs * surelyNext);
    run.doing('many at once, as short windows may let one by one pass');
    if (await races.raceForEvidence(count)) continue;
    run.doing('a pause, until no refusal counts');
    await run.until(run.now() + counterWindows * allowance.windowMs[1]);
  }
}

/**
 * For a limit of one request: asks between the longest wait that was refused and the shortest that
 * passed, and after a refusal just after the latter. The wait of a window of the clock, or of a
 * counter, would change from one pass to the next. A pass after a refusal shows that refusals do
 * not block.
 */
export async function askSingly({ run, recovery }: Tools): Promise<void> {
  run.doing('how often one request passes');
  let [low, high] = recovery.span;
  let last = run.exchanges.at(-1);
  const end = run.now() + Math.max(singlyWindows * high, singlyMs);
  let [step, wasRefused, late] = [0, false, 0];
  while (last !== undefined && late < mostLate && run.now() + high < end) {
    step += wasRefused ? 0 : 1;
    const between = low + (high - low) * ((step * goldenShare) % 1);
    await run.until(last.answeredAtMs + (wasRefused ? high * justOver : between));
    const asked = await recovery.ask();
    if (asked.outcome === 'passed') {
      high = Math.min(high, asked.answeredAtMs - last.sentAtMs);
      [last, wasRefused, late] = [asked, false, 0];
    } else if (wasRefused) {
      // It passed late, or each refusal prolongs the wait.
      [last, late] = [asked, late + 1];
    } else {
      low = Math.max(low, asked.sentAtMs - last.answeredAtMs);
      wasRefused = true;
    }
  }
  recovery.span = [low, high];
}

/** A bucket of tokens, or a counter that slides, gives back as many as a pause was long. */
export async function takeBitByBit(
  { run, evidence, recovery }: Tools,
  limit: number,
): Promise<void> {
  run.doing('how many come back in a pause');
  const begin = run.now();
  if (!(await recovery.recover(begin, growingWaits()))) return;
  const [, gapMs] = recovery.span;
  const { longestMs } = evidence;
  let sum = 0;
  for (let waitMs = 2 * gapMs; sum < limit / 4 && waitMs < longestMs; waitMs *= 2) {
    await run.until(run.now() + waitMs);
    const burst = await recovery.sendUntilRefused({ most: limit + 2, refusals: 1 });
    sum += burst.passed;
  }
}

/**
 * Spends the limit just before the end of a window, and again just after it. A window lets all of
 * that pass. With a bucket of as many tokens beside it, only what returned in between passes.
 * `earlyShare`: how long before the end it begins, in windows.
 */
export async function spendAcrossEnd(
  { run, evidence, recovery }: Tools,
  races: Races,
  earlyShare: number,
): Promise<void> {
  run.doing('the limit just before the end of a window, and just after it');
  const limit = evidence.limit[1];
  const longest = evidence.windowMs[1];
  await run.until(run.now() + longest * justOver);
  const { sentAtMs, answeredAtMs } = await recovery.ask();
  const [soonest, latest] = endAfter(evidence, [sentAtMs, answeredAtMs]);
  const oneByOne = Math.max(0, limit - 1 - halfRace);
  const { settings, replyMs } = run;
  const paceMs = Math.max(settings.paceMs, replyMs);
  const begin = soonest - oneByOne * paceMs - replyMs - earlyShare * longest;
  const times = Array.from({ length: oneByOne }, (_, i) => begin + i * paceMs);
  if (!(await recovery.askAt(times))) return;
  await run.until(begin + oneByOne * paceMs);
  await races.raceForEvidence(limit - 1 - oneByOne, 'passes');
  await run.until(latest + paceMs);
  await races.raceForEvidence(limit, 'passes');
  if (limit > halfRace)
    await recovery.sendUntilRefused({ most: limit - halfRace + 1, refusals: 1 });
}

/**
 * When a window ends, by what remains: that which a request opened at this time, or the clock's next
 * but one, in which no request has been spent.
 */
function endAfter({ candidates }: Evidence, [from, to]: Span): Span {
  const ends = candidates.map(({ family, version: { windowMs, phase } }): Span => {
    const [shortest, longest] = windowMs;
    if (!family.hasPhase) return [from + shortest, to + longest];
    const next = Math.floor(to / longest - phase[1]) + 2;
    return [(next + phase[0]) * shortest, (next + phase[1]) * longest];
  });
  return hullOf(ends) ?? [to, to];
}

/**
 * Asks just before a request passes, by all that remains, and just after, again and again. A limiter
 * that restarted, or one of no known kind, can look like another one until then. If refusals
 * count, those of the race delay the next pass by an unknown time, so a late wait is tried instead.
 */
export async function confirmPasses(tools: Tools): Promise<void> {
  const { run, evidence, allowance, recovery } = tools;
  const modes = new Set(evidence.candidates.map(({ family }) => family.refusals));
  if (modes.size === 1 && modes.has('spend')) await tryLateWaits(tools);
  if (modes.has('spend') || modes.has('block')) return;
  run.doing('whether the next request passes when it should');
  const leastMs = allowance.isShortWindow ? confirmingWindows * allowance.windowMs[1] : 0;
  const endMs = Math.max(allowance.confirmedMs, run.now() + leastMs);
  for (let asked = 0; asked < mostConfirmed && isKindCertain(evidence); asked += 1) {
    const now = run.now();
    const waits = nextPass(evidence, now, evidence.windowMs[1] * surelyNext);
    if (waits.length > allowance.requests || now + waits[1] > endMs) return;
    for (const waitMs of waits) await recovery.askAt([now + waitMs]);
  }
}

/**
 * If each refusal counts, the last one alone states the real wait. So far, each came soon after
 * another request. Provokes one late in the window, and waits as long as it says.
 */
async function tryLateWaits({ run, evidence, allowance, recovery }: Tools): Promise<void> {
  for (let tries = 0; tries < mostLateWaits; tries += 1) {
    const [shortest, longest] = evidence.windowMs;
    const [, limit] = evidence.limit;
    const cost = { requests: limit + 3, windows: 2 * surelyNext };
    const isAffordable = allowance.affords(cost) || allowance.affordsIfOpen(cost);
    if (!isAffordable || (tries > 0 && longest / shortest <= sameWindow)) return;
    run.doing('a wait that is stated late in the window');
    const burst = await recovery.sendUntilRefused({ most: limit + 1, refusals: 1 });
    if (!burst.isRefused) return;
    const lateMs = Math.max(lateShare * shortest, shortest - tightMs);
    await run.until(run.now() + (tries === 0 ? lateMs : (shortest + longest) / 2));
    if ((await recovery.ask()).outcome === 'refused') await recovery.askWhenStated();
  }
}

/** A pause is this much longer than planned, as a reply can come a bit later than the last. */
const pauseMarginMs = 20;
/** A pause for the whole limit takes just over a window, and a part of one. */
const wholePause = 1.01;
/** A pause for a part of the limit takes at least this share of a window. */
const partPause = 0.2;
/** A window that remains may be longer than the usual one by up to this factor. */
const mostLonger = 1.5;
/** After this many windows no earlier request counts, wherever a clock's windows begin. */
const freeOfEarlierWindows = 2.6;

interface Pause {
  /** False: for a part of the limit. */
  readonly isForWholeLimit: boolean;
  /** True if no other caller was tested. */
  readonly isUntested: boolean;
  /** How many bursts have followed a pause. */
  readonly freshBursts: number;
}

/** When a pause ends after which a burst may begin. */
export function endOfPause({ run, evidence, allowance }: Tools, pause: Pause): number {
  const [, likelyMs] = allowance.windowMs;
  // In windows of a clock, the next bursts then begin at other places. After a long pause, a long
  // window of the clock hardly ends at the same times as one that a request opens.
  const later = (pause.freshBursts * goldenShare) % 1;
  const share = allowance.isShortWindow ? later : 1 - later;
  // The longest window that remains explains a few more passes by what it still counts.
  const longer = Math.min(evidence.windowMs[1] / likelyMs, mostLonger);
  const whole = evidence.isCounter ? counterWindows * longer : wholePause + share;
  const windows = pause.isForWholeLimit ? whole : partPause + share / 2;
  // The first test of other callers needs a limit in which no earlier request counts.
  const freeAtMs = pause.isUntested ? allowance.begin.ms + freeOfEarlierWindows * likelyMs : 0;
  const pauseMs = Math.max(likelyMs * windows, allowance.blockedMs) + pauseMarginMs;
  return Math.max(run.now() + pauseMs, freeAtMs);
}
