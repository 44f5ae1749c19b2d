/**
 * Turns what an audit has seen into its statements. Those about the limiter itself (`factsOf`) have
 * the first reason that holds: a queue delays requests; nothing was refused; the evidence is not
 * enough (`whyUnknown`); versions remain (`knownFacts`); only rarely built ones do; none does.
 */
import { grouped } from '#io/grouped.ts';
import { mostWithin, type Span } from '#judging/limiter/space/decision.ts';
import { anyLimit, type Candidate } from '#judging/limiter/space/space.ts';
import type { Evidence } from './evidence.ts';
import { type Askers, keyedBy } from './keyed-by.ts';
import {
  mayHaveBucket,
  rareLimiters,
  turningPoints,
  versionsSinceRestart,
  whyNone,
  withoutRefusal,
} from './none-of-these.ts';
import { isSilent, type Queue, queueFacts, refusedOf, windowOf } from './queue.ts';
import type { Race, Races } from './race.ts';
import { type AuditedExchange, tookMs } from './run.ts';
import { fieldsOf, type Learned, retryAfterOf } from './said.ts';
import { algorithmOf } from './search.ts';
import {
  type Advice,
  type AlgorithmValue,
  algorithmNames,
  certain,
  list,
  rangeText,
  refillStatement,
  roundest,
  type Statement,
  type Statements,
  undetermined,
  windowStatement,
} from './statement.ts';

export interface Seen extends Askers {
  readonly evidence: Evidence;
  readonly races: readonly Race[];
  readonly atOnceForLimit: Races['atOnceForLimit'];
  readonly queue: Queue | undefined;
}

export function statementsOf(seen: Seen): Statements {
  const { evidence, queue } = seen;
  const { candidates } = evidence;
  const ownExchanges = ofEvidence(seen);
  const facts = factsOf(seen);
  const knownMs = queue === undefined ? evidence.windowMs : windowOf(queue);
  const windowMs = facts.window_seconds.value === null ? undefined : knownMs;
  const learned: Learned = {
    limit: facts.limit.value ?? undefined,
    windowMs,
    // Any request may prolong the wait of an unknown limiter.
    mayProlong:
      candidates.length === 0 || candidates.some(({ family }) => family.refusals !== 'free'),
    isContinuous: candidates.some(
      ({ family }) => family.algorithm === 'token_bucket' || family.algorithm === 'sliding_counter',
    ),
  };
  return {
    ...facts,
    keyed_by: keyedBy(seen, evidence.mayLackRequests),
    errors_spend: errorsSpend(ownExchanges),
    retry_after:
      queue === undefined || isSilent(queue)
        ? retryAfterOf(ownExchanges, learned)
        : undetermined('a queue refuses only requests that come together, so no wait was tried'),
    fields: fieldsOf(ownExchanges, learned),
    at_once:
      queue === undefined
        ? atOnce(seen.races[0])
        : undetermined('not asked of a queue, which delays what comes together'),
    most_in_a_window: mostInAWindow(seen.exchanges, windowMs?.[0]),
  };
}

/**
 * The exchanges of the first caller's limit, one after the other; also those that a queue refused,
 * if they stated no wait that others at once could contradict.
 */
function ofEvidence({ exchanges, evidence, queue }: Seen): AuditedExchange[] {
  const refused = queue !== undefined && isSilent(queue) ? refusedOf(queue) : [];
  const numbers = new Set([...evidence.numbers, ...refused.map(({ number }) => number)]);
  return exchanges.filter(({ number }) => numbers.has(number));
}

type Facts = Pick<
  Statements,
  'algorithm' | 'limit' | 'window_seconds' | 'burst' | 'refill_per_second' | 'refusals_spend'
>;

/** A long reason is said once. */
const seeAlgorithm = undetermined('not learned: see algorithm');

function factsOf(seen: Seen): Facts {
  const { evidence, exchanges, atOnceForLimit, advice, queue } = seen;
  if (queue !== undefined) return queueFacts(queue);
  const isRefused = ({ outcome }: AuditedExchange) => outcome === 'refused';
  const oneByOne = exchanges.filter((each) => !atOnceForLimit.includes(each));
  if (!oneByOne.some(isRefused)) {
    const algorithm = withoutRefusal(oneByOne, atOnceForLimit, advice);
    const noRefusal = undetermined(`no request of ${exchanges.length} was refused`);
    return { ...everyFact(atOnceForLimit.some(isRefused) ? seeAlgorithm : noRefusal), algorithm };
  }
  const deciding = turningPoints(evidence);
  const reason = whyUnknown(evidence, advice);
  if (reason !== undefined)
    return { ...everyFact(seeAlgorithm), algorithm: undetermined(reason, deciding) };
  if (evidence.isKnown) return knownFacts(evidence, deciding);
  const rarelyBuilt = rareLimiters(evidence);
  if (rarelyBuilt.length > 0) {
    const rest = stillPossible(rarelyBuilt);
    const rare = `only one explains it that counts refusals in a rare way; ${rest}`;
    return { ...everyFact(seeAlgorithm), algorithm: undetermined(rare, deciding) };
  }
  const [why, shown] = whyNone(evidence);
  const later = versionsSinceRestart(evidence);
  const first = evidence.numbers[evidence.numbers.length - evidence.recent.length];
  const fits =
    later.length === 0 ? '' : `; alone, the answers from #${first} on fit ${kindsText(later)}`;
  const algorithm = certain('none_of_these' as const, `${why}${fits}`, shown);
  return { ...everyFact(seeAlgorithm), algorithm };
}

/** Why nothing is certain of a limiter that refused; undefined if something may be. */
function whyUnknown(evidence: Evidence, advice: Advice): string | undefined {
  const { candidates } = evidence;
  if (evidence.isIncomplete)
    return 'other requests seem to count, before the audit or meanwhile, or no known limiter explains it: run it again after a pause';
  if (candidates.length === 0)
    return evidence.isLongerPossible
      ? `its window may be longer than ${advice('maxWindow')}`
      : undefined;
  if (!evidence.allowsForEarlier)
    return `the audit was too short to allow for what was sent before it; ${stillPossible(candidates)}`;
  // Only a candidate with a `middle` certainly holds a possible version.
  const hasPossibleVersion = candidates.some(({ middle }) => middle !== undefined);
  return hasPossibleVersion ? undefined : stillPossible(candidates);
}

/** What the versions that remain have in common. */
function knownFacts(evidence: Evidence, deciding: readonly number[]): Facts {
  const { candidates, limit } = evidence;
  const [shortestMs, longestMs] = evidence.windowMs;
  const seconds: Span = [shortestMs / 1_000, longestMs / 1_000];
  const isProlonged = candidates.every(({ family }) => family.isProlonged);
  const algorithm =
    limit[0] === limit[1] || isProlonged
      ? algorithmStatement(evidence, deciding)
      : undetermined(stillPossible(candidates), deciding);
  const isTokens = algorithm.value === 'token_bucket';
  const facts = {
    algorithm,
    limit: limitStatement(limit, isTokens, deciding),
    window_seconds: windowStatement(seconds, deciding),
  };
  if (algorithm.value === null) {
    const notCertain = undetermined('the algorithm is not certain');
    const refusals_spend = { ...notCertain, exchanges: deciding };
    return { ...facts, burst: notCertain, refill_per_second: notCertain, refusals_spend };
  }
  const noBucket = undetermined(`${kindText(algorithm.value)} has none`);
  return {
    ...facts,
    burst: isTokens ? facts.limit : noBucket,
    refill_per_second: isTokens
      ? refillStatement([limit[0] / seconds[1], limit[1] / seconds[0]], 'tokens', deciding)
      : noBucket,
    refusals_spend: refusalsSpend(candidates, evidence, deciding),
  };
}

function limitStatement(limit: Span, isTokens: boolean, deciding: readonly number[]) {
  const [least, most] = limit;
  if (least < most) return undetermined(rangeText(limit), deciding);
  return certain(
    least,
    isTokens ? `a bucket of ${least} tokens` : `${least} in a window`,
    deciding,
  );
}

/** The limiters that the requests permit, each with its limits and windows. */
function stillPossible(candidates: readonly Candidate[]): string {
  return `still possible: ${kindsText(candidates)}`;
}

function kindsText(candidates: readonly Candidate[]): string {
  const kinds = [...grouped(candidates, algorithmOf)].map(([kind, each]) => {
    const limits = each.flatMap(({ version }) => version.limit);
    const seconds = each.flatMap(({ version }) => version.windowMs).map((ms) => ms / 1_000);
    const [fewest, most] = [Math.min(...limits), Math.max(...limits)];
    const limit = most < anyLimit ? rangeText([fewest, most]) : `${fewest} or more`;
    const span = rangeText([Math.min(...seconds), Math.max(...seconds)], ' s');
    return `${kindText(kind)} of ${limit} in ${span}`;
  });
  return list(kinds);
}

function kindText(algorithm: AlgorithmValue): string {
  const words = algorithm.replaceAll('_', ' ');
  if (algorithm === 'none_of_these') return 'a window that each request prolongs';
  return `${/^[aeiou]/.test(words) ? 'an' : 'a'} ${words}`;
}

function everyFact(statement: Statement<never>): Facts {
  return {
    algorithm: statement,
    limit: statement,
    window_seconds: statement,
    burst: statement,
    refill_per_second: statement,
    refusals_spend: statement,
  };
}

function algorithmStatement(
  evidence: Evidence,
  deciding: readonly number[],
): Statement<AlgorithmValue> {
  const { candidates } = evidence;
  const found = [...new Set(candidates.map(algorithmOf))];
  const [one] = found;
  const possible = stillPossible(candidates);
  if (found.length > 1 || one === undefined) return undetermined(possible, deciding);
  if (mayHaveBucket(evidence))
    return undetermined(`${possible}, or a window and a token bucket at once`, deciding);
  // A window or log of one request answers as the bucket does that `algorithmOf` calls it.
  const isOfOneRequest = candidates.some(({ family }) => family.algorithm !== one);
  const words =
    one === 'none_of_these'
      ? 'each request prolongs the window: it ends after a pause without any'
      : algorithmNames[one];
  const note = isOfOneRequest ? ' of one; a window or log of one request does the same' : '';
  return certain(one, `${words}${note}`, deciding);
}

function refusalsSpend(
  candidates: readonly Candidate[],
  evidence: Evidence,
  deciding: readonly number[],
): Statement<boolean> {
  const modes = new Set(candidates.map(({ family }) => family.refusals));
  const counts = new Set([...modes].map((mode) => mode === 'spend'));
  if (counts.size > 1)
    return undetermined('the requests do not tell whether refusals count', deciding);
  if (modes.has('spend')) return certain(true, 'a refused request counts, too', deciding);
  if (!modes.has('block')) return certain(false, 'refused requests do not count', deciding);
  const [least, most] = evidence.blockMs;
  const seconds = roundest(least / 1_000, most / 1_000);
  const sentence = modes.has('free')
    ? 'refused requests do not count, but the first one may begin a block'
    : `the first refusal blocks the caller for ${seconds} s; further ones do not count`;
  return certain(false, sentence, deciding);
}

function errorsSpend(exchanges: readonly AuditedExchange[]): Statement<boolean> {
  const passed = exchanges.filter(({ outcome }) => outcome === 'passed');
  const errors = passed.filter(({ status }) => status >= 400);
  const [error] = errors;
  if (error === undefined)
    return undetermined('no request of the first caller was answered with an error');
  const refusal = exchanges.find(({ outcome }) => outcome === 'refused');
  if (refusal === undefined) return undetermined('no refusal came', [error.number]);
  const shown = [error.number, refusal.number];
  const statuses = list([...new Set(errors.map(({ status }) => `${status}`))]);
  return errors.length < passed.length
    ? undetermined('some requests were answered with an error, and some were not', shown)
    : certain(true, `requests that are answered ${statuses} count, too`, shown);
}

/** A connection that did not fit into the server's queue is opened again after this time. */
const openedAgainMs = 1_000;

function atOnce(race: Race | undefined): Statement<'exact' | number> {
  if (race === undefined)
    return undetermined(
      'not tried: the audit must first know how many may pass, and have more requests left',
    );
  const { sent, least, most, passed } = race;
  const excess = passed - most;
  const shown = sent.map(({ number }) => number);
  const together = sent.filter((each) => tookMs(each) < openedAgainMs).length;
  if (excess <= 0 && together <= most)
    return undetermined(
      `only ${together} of ${sent.length} that were sent at once were answered within a second, and ${most} may pass: the queue of the server's connections may be too short (its listen backlog)`,
      shown,
    );
  if (passed < least)
    return undetermined(
      `only ${passed} of ${sent.length} at once passed, though ${least} had to: it may have a second limit, such as on requests in flight`,
      shown,
    );
  return excess <= 0
    ? certain('exact', `of ${sent.length} at once, no more passed than one by one`, shown)
    : certain(excess, `${excess} more pass when ${sent.length} requests arrive together`, shown);
}

/**
 * The most that were sent within a window and passed before its end, of one caller and path: those
 * of others may have limits of their own.
 */
export function mostInAWindow(
  exchanges: readonly AuditedExchange[],
  windowMs: number | undefined,
): Statement<number> {
  if (windowMs === undefined) return undetermined('the window is not certain');
  const passes = exchanges.filter(({ outcome }) => outcome === 'passed');
  const byCallerAndPath = grouped(passes, ({ caller, path }) => `${caller} ${path}`);
  const timesOf = ({ sentAtMs, answeredAtMs }: AuditedExchange): Span => [sentAtMs, answeredAtMs];
  const ofEach = [...byCallerAndPath.values()].map((each) => mostWithin(each, timesOf, windowMs));
  const most = ofEach.reduce((one, other) => (other.length > one.length ? other : one), []);
  const shown = most.map(({ number }) => number);
  return certain(most.length, `the most that passed within a window: ${most.length}`, shown);
}
