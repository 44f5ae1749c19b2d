/** Turns what an audit has seen into its statements. */
import { grouped } from '#io/grouped.ts';
import { History } from '#judging/limiter/space/decision.ts';
import { blockMs } from '#judging/limiter/space/families.ts';
import type { Candidate } from '#judging/limiter/space/space.ts';
import type { Evidence, Race } from './evidence.ts';
import type { KeyTest } from './keys.ts';
import { turningPoints, whyNone } from './none-of-these.ts';
import { algorithmOf } from './remaining.ts';
import type { AuditedExchange, Subject } from './run.ts';
import { fieldsOf, type Learned, retryAfterOf } from './said.ts';
import {
  type AlgorithmValue,
  algorithmNames,
  certain,
  list,
  roundest,
  type Statement,
  type Statements,
  undetermined,
} from './statement.ts';

export interface Seen {
  readonly exchanges: readonly AuditedExchange[];
  readonly evidence: Evidence;
  readonly keyTests: readonly KeyTest[];
  readonly races: readonly Race[];
  /** What differs between the first subject and another. */
  readonly differenceOf: (subject: Subject) => string;
  /** Headers that may name a caller, and of which all requests had the same value. */
  readonly unvaried: readonly string[];
}

/** A window that is known to within 5 % counts as one number. */
const sameWindow = 1.05;

export function statementsOf(seen: Seen): Statements {
  const { evidence, exchanges } = seen;
  const { candidates } = evidence;
  const isLimited = exchanges.some(({ outcome }) => outcome === 'refused');
  const ownExchanges = ofEvidence(seen);
  const facts = factsOf(seen, candidates);
  const windowMs = facts.window_seconds.value === null ? undefined : evidence.windowMs;
  const learned: Learned = {
    limit: facts.limit.value ?? undefined,
    windowMs,
    mayProlong: candidates.some(({ family }) => family.refusals !== 'free'),
    isContinuous: candidates.some(
      ({ family }) => family.algorithm === 'token_bucket' || family.algorithm === 'sliding_counter',
    ),
  };
  // Any request may prolong the wait of an unknown limiter.
  const isKnown = isLimited && candidates.length > 0;
  return {
    ...facts,
    keyed_by: keyedBy(seen),
    errors_spend: errorsSpend(ownExchanges),
    retry_after: retryAfterOf(ownExchanges, isKnown ? learned : { ...learned, mayProlong: true }),
    fields: fieldsOf(ownExchanges, learned),
    at_once: atOnce(seen.races),
    most_in_a_window: mostInAWindow(seen, windowMs?.[0]),
  };
}

/** The exchanges of the first caller's limit, one after the other. */
function ofEvidence({ exchanges, evidence }: Seen): AuditedExchange[] {
  const numbers = new Set(evidence.numbers);
  return exchanges.filter(({ number }) => numbers.has(number));
}

type Facts = Pick<
  Statements,
  'algorithm' | 'limit' | 'window_seconds' | 'burst' | 'refill_per_second' | 'refusals_spend'
>;

function factsOf(seen: Seen, candidates: readonly Candidate[]): Facts {
  const { evidence, exchanges } = seen;
  if (!exchanges.some(({ outcome }) => outcome === 'refused')) {
    const sentence = `no request of ${exchanges.length} was refused`;
    const none = undetermined(sentence);
    return { ...all(none), algorithm: certain('no_limit_seen', sentence) };
  }
  if (evidence.isAfterOthers) {
    const sentence =
      'other requests seem to count, before the audit or meanwhile, or it is none of the known limiters: run it again after a pause';
    return all(undetermined(sentence, turningPoints(evidence)));
  }
  if (candidates.length === 0 && evidence.isLongerPossible) {
    const sentence = 'its window may be longer than --max-window';
    return all(undetermined(sentence, turningPoints(evidence)));
  }
  if (candidates.length === 0) {
    const [sentence, shown] = whyNone(evidence);
    return {
      ...all(undetermined(sentence, shown)),
      algorithm: certain('none_of_these', sentence, shown),
    };
  }
  const turning = turningPoints(evidence);
  const [limit, highest] = evidence.limit;
  const [least, most] = evidence.windowMs;
  if (!evidence.isPastCovered) {
    const sentence = 'the audit was too short to allow for what was sent before it';
    return all(undetermined(sentence, turning));
  }
  // Only a candidate with a `middle` certainly holds a possible version.
  if (candidates.every(({ middle }) => middle === undefined)) {
    const sentence = 'its limit and its window are not exact enough';
    return all(undetermined(sentence, turning));
  }
  const isProlonged = candidates.every(({ family }) => family.isProlonged);
  const algorithm =
    limit === highest || isProlonged
      ? algorithmStatement(candidates, turning)
      : undetermined('its limit is not certain', turning);
  const seconds = roundest(least / 1_000, most / 1_000);
  const span = `between ${figure(least / 1_000)} and ${figure(most / 1_000)} s`;
  const isTokens = algorithm.value === 'token_bucket';
  const limitStatement =
    limit === highest
      ? certain(limit, isTokens ? `a bucket of ${limit} tokens` : `${limit} in a window`, turning)
      : undetermined(`between ${limit} and ${highest}`, turning);
  const windowStatement =
    most / least <= sameWindow
      ? certain(seconds, `${seconds} s (${span})`, turning)
      : undetermined(span, turning);
  const perSecond = [limit / most, limit / least].map((each) => each * 1_000) as [number, number];
  const notTokens = undetermined(
    algorithm.certainty === 'certain'
      ? `not a number of ${algorithmNames[algorithm.value ?? 'none_of_these']}`
      : 'the algorithm is not certain',
  );
  return {
    algorithm,
    limit: limitStatement,
    window_seconds: windowStatement,
    burst: isTokens ? limitStatement : notTokens,
    refill_per_second:
      isTokens && limit === highest && most / least <= sameWindow
        ? certain(roundest(...perSecond), `${roundest(...perSecond)} tokens a second`, turning)
        : notTokens,
    refusals_spend:
      algorithm.certainty === 'certain'
        ? refusalsSpend(candidates, evidence, turning)
        : undetermined('the algorithm is not certain', turning),
  };
}

function all(statement: Statement<never>): Facts {
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
  candidates: readonly Candidate[],
  turning: readonly number[],
): Statement<AlgorithmValue> {
  const found = [...new Set(candidates.map(algorithmOf))];
  const [one] = found;
  if (found.length > 1 || one === undefined)
    return undetermined(
      `${list(found.map((each) => algorithmNames[each]))}: the requests do not tell them apart`,
      turning,
    );
  const isAlike = candidates.some(({ family }) => family.algorithm !== one);
  const words =
    one === 'none_of_these'
      ? 'each request prolongs the window: it ends after a pause without any'
      : algorithmNames[one];
  const note = isAlike ? ' of one; a window or log of one request does the same' : '';
  return certain(one, `${words}${note}`, turning);
}

function refusalsSpend(
  candidates: readonly Candidate[],
  { decisions }: Evidence,
  turning: readonly number[],
): Statement<boolean> {
  const modes = new Set(candidates.map(({ family }) => family.refusals));
  const counts = new Set([...modes].map((mode) => mode === 'spend'));
  if (counts.size > 1)
    return undetermined('the requests do not tell whether refusals count', turning);
  if (modes.has('spend')) return certain(true, 'a refused request counts, too', turning);
  if (!modes.has('block')) return certain(false, 'refused requests do not count', turning);
  const [least, most] = blockMs(History.of(decisions));
  const seconds = roundest(least / 1_000, most / 1_000);
  const sentence = modes.has('free')
    ? 'refused requests do not count, but the first one may begin a block'
    : `the first refusal blocks the caller for ${seconds} s; further ones do not count`;
  return certain(false, sentence, turning);
}

function keyedBy({
  keyTests,
  evidence,
  differenceOf,
  unvaried,
}: Seen): Statement<readonly string[]> {
  if (keyTests.length === 0)
    return undetermined('no other caller was asked: name some with --caller or --vary-path');
  const keys: string[] = [];
  const shared: string[] = [];
  for (const { subject, isShared } of keyTests) {
    const difference = differenceOf(subject);
    if (isShared) {
      shared.push(`${subject.caller} ${subject.path}`);
      continue;
    }
    // A token that returned just then would also have let it pass.
    if (evidence.isDoubted)
      return undetermined(
        `${difference}: a request passed, but a token may have come back just then`,
        numbersIn(keyTests),
      );
    if (!keys.includes(difference)) keys.push(difference);
  }
  if (keys.length === 0 && unvaried.length > 0)
    return undetermined(
      `the callers that were asked share one limit, but all sent the same ${unvaried.join(', ')}: name another with --caller`,
      numbersIn(keyTests),
    );
  const who =
    keys.length === 0 ? 'all callers share one limit' : `a limit for each ${keys.join(' and ')}`;
  const note =
    shared.length === 0 || keys.length === 0 ? '' : `; it is shared by ${shared.join(', ')}`;
  return certain(keys.length === 0 ? ['all'] : keys, `${who}${note}`, numbersIn(keyTests));
}

function numbersIn(keyTests: readonly KeyTest[]): number[] {
  return keyTests.flatMap(({ exchanges }) => exchanges);
}

function errorsSpend(exchanges: readonly AuditedExchange[]): Statement<boolean> {
  const passed = exchanges.filter(({ outcome }) => outcome === 'passed');
  const errors = passed.filter(({ status }) => status >= 400);
  const [error] = errors;
  if (error === undefined) return undetermined('no request was answered with an error');
  if (errors.length < passed.length)
    return undetermined('some requests were answered with an error, and some were not', [
      error.number,
    ]);
  const refusal = exchanges.find(({ outcome }) => outcome === 'refused');
  if (refusal === undefined) return undetermined('no refusal came', [error.number]);
  return certain(true, `requests that are answered ${error.status} count, too`, [
    error.number,
    refusal.number,
  ]);
}

function atOnce(races: readonly Race[]): Statement<'exact' | number> {
  const [race] = races;
  if (race === undefined) return undetermined('no requests were sent at once');
  const excess = race.passed - race.most;
  const shown = race.sent.map(({ number }) => number);
  if (excess <= 0)
    return certain(
      'exact',
      `of ${race.sent.length} at once, no more passed than one by one`,
      shown,
    );
  return certain(
    excess,
    `${excess} more pass when ${race.sent.length} requests arrive together`,
    shown,
  );
}

function mostInAWindow({ exchanges }: Seen, windowMs: number | undefined): Statement<number> {
  if (windowMs === undefined) return undetermined('the window is not certain');
  const passes = exchanges.filter(({ outcome }) => outcome === 'passed');
  const byLimit = grouped(passes, ({ caller, path }) => `${caller} ${path}`);
  let most: readonly AuditedExchange[] = [];
  for (const passed of byLimit.values()) {
    let end = 0;
    for (const [begin, { sentAtMs }] of passed.entries()) {
      while ((passed[end]?.answeredAtMs ?? Number.POSITIVE_INFINITY) < sentAtMs + windowMs)
        end += 1;
      if (end - begin > most.length) most = passed.slice(begin, end);
    }
  }
  return certain(
    most.length,
    `at most ${most.length} passed within a window`,
    most.map(({ number }) => number),
  );
}

function figure(value: number): string {
  return String(Number(value.toPrecision(3)));
}
