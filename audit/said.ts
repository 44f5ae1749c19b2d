/** Compares what a limiter said in its headers with what then happened. */
import type { Span } from '#judging/limiter/space/decision.ts';
import { fieldKinds, type Saying, waitOf } from './fields.ts';
import { type AuditedExchange, tickMs } from './run.ts';
import { certain, type RetryAfter, type Statement, undetermined } from './statement.ts';

/** What is certain of the limiter, as far as the comparison needs it. */
export interface Learned {
  readonly limit: number | undefined;
  readonly windowMs: Span | undefined;
  /** True if only the last refusal states the wait, as each may prolong it. */
  readonly mayProlong: boolean;
  /** True if a token may come back while others are spent. */
  readonly isContinuous: boolean;
}

/** A refusal with the time from which it lets requests pass, and the next ones of that caller. */
interface Wait {
  readonly refusal: AuditedExchange;
  readonly readyAfterMs: number;
  /** Until the first that passed; it is the last of them. */
  readonly later: readonly AuditedExchange[];
}

function waitsIn(
  exchanges: readonly AuditedExchange[],
  readyAfterMs: (exchange: AuditedExchange) => number | undefined,
  { mayProlong }: Learned,
): Wait[] {
  return exchanges.flatMap((refusal) => {
    const ms = refusal.outcome === 'refused' ? readyAfterMs(refusal) : undefined;
    if (ms === undefined) return [];
    // What was under way together may have been decided in any order.
    const after = exchanges.filter(({ sentAtMs }) => sentAtMs >= refusal.answeredAtMs);
    const until = after.findIndex(({ outcome }) => mayProlong || outcome !== 'refused');
    const later = after.slice(0, until < 0 ? after.length : until + 1);
    return [{ refusal, readyAfterMs: ms, later }];
  });
}

/** The first request that was refused although the stated time was over. */
function brokenPromise(waits: readonly Wait[]): readonly [Wait, AuditedExchange] | undefined {
  for (const wait of waits) {
    const readyAt = wait.refusal.answeredAtMs + wait.readyAfterMs + tickMs;
    const late = wait.later.find(
      ({ outcome, sentAtMs }) => outcome === 'refused' && sentAtMs >= readyAt,
    );
    if (late !== undefined) return [wait, late];
  }
  return undefined;
}

/** A wait of whole seconds is tight if one of a second less was tried and did not do; give or take. */
const tightMs = 1_100;

/** `exchanges`: those that spend from one limit, one after the other. */
export function retryAfterOf(
  exchanges: readonly AuditedExchange[],
  learned: Learned,
): Statement<RetryAfter> {
  const refusals = exchanges.filter(({ outcome }) => outcome === 'refused');
  const [first] = refusals;
  if (first === undefined) return undetermined('no refusal came');
  const stated = refusals.map((each) => [each, waitOf(each)] as const);
  const unreadable = stated.find(([, seconds]) => Number.isNaN(seconds));
  if (unreadable !== undefined) {
    const text = unreadable[0].headers['retry-after'];
    return certain('unreadable', `Retry-After reads ${text}, which is neither seconds nor a date`, [
      unreadable[0].number,
    ]);
  }
  const missing = stated.find(([, seconds]) => seconds === undefined);
  if (missing !== undefined)
    return certain('absent', 'a refusal has no Retry-After', [missing[0].number]);
  const waits = waitsIn(exchanges, (each) => (waitOf(each) ?? 0) * 1_000, learned);
  const broken = brokenPromise(waits);
  if (broken !== undefined) {
    const [{ refusal, readyAfterMs, later }, late] = broken;
    const passed = later.find(({ outcome }) => outcome === 'passed');
    const by =
      passed === undefined ? '' : `; one passed after ${secondsBetween(refusal, passed)} s`;
    const sentence = `Retry-After is too short: it said ${readyAfterMs / 1_000} s, but a request ${secondsBetween(refusal, late)} s later was refused${by}`;
    return certain('short', sentence, numbersOf([refusal, late, passed]));
  }
  const early = waits.find(({ refusal, readyAfterMs, later }) =>
    later.some(
      ({ outcome, answeredAtMs }) =>
        outcome === 'passed' && answeredAtMs + tickMs <= refusal.sentAtMs + readyAfterMs - 1_000,
    ),
  );
  const kept = waits.find(({ refusal, readyAfterMs, later }) =>
    later.some(
      ({ outcome, sentAtMs }) =>
        outcome === 'passed' && sentAtMs >= refusal.answeredAtMs + readyAfterMs - tightMs,
    ),
  );
  const constant = new Set(stated.map(([, seconds]) => seconds)).size === 1 && stated.length > 2;
  const [, seconds] = stated[0] ?? [];
  if (early !== undefined) {
    const passed = early.later.at(-1);
    const always = constant
      ? `Retry-After always says ${seconds} s`
      : `Retry-After said ${early.readyAfterMs / 1_000} s`;
    return certain(
      'sufficient',
      `${always}, longer than needed: a request passed after ${passed && secondsBetween(early.refusal, passed)} s`,
      numbersOf([early.refusal, passed]),
    );
  }
  const tight = waits.some(({ refusal, readyAfterMs, later }) =>
    [refusal, ...later].some(
      (each) =>
        each.outcome === 'refused' &&
        each.sentAtMs >= refusal.answeredAtMs + readyAfterMs - tightMs,
    ),
  );
  if (kept === undefined)
    return undetermined('no request followed a refusal when its Retry-After was over', [
      first.number,
    ]);
  const shown = numbersOf([kept.refusal, kept.later.at(-1)]);
  return tight
    ? certain(
        'exact',
        'Retry-After is exact: after it a request passes, and a second earlier none does',
        shown,
      )
    : certain('sufficient', 'Retry-After is sufficient: after it a request passes', shown);
}

function secondsBetween(refusal: AuditedExchange, later: AuditedExchange): string {
  return ((later.sentAtMs - refusal.answeredAtMs) / 1_000).toFixed(1);
}

function numbersOf(exchanges: readonly (AuditedExchange | undefined)[]): number[] {
  return exchanges.flatMap((each) => (each === undefined ? [] : [each.number]));
}

/** For each kind of fields that came: `true`, or what they said against what happened. */
export function fieldsOf(
  exchanges: readonly AuditedExchange[],
  learned: Learned,
): Statement<Readonly<Record<string, true | string>>> {
  const values: Record<string, true | string> = {};
  const numbers: number[] = [];
  for (const { name, read } of fieldKinds) {
    const claims = exchanges.flatMap((exchange) => {
      const claim = read(exchange);
      return claim === undefined ? [] : [{ exchange, claim }];
    });
    if (claims.length === 0) continue;
    const wrong = wrongIn(claims, exchanges, learned);
    values[name] = wrong?.says ?? true;
    numbers.push(...numbersOf(wrong?.shown ?? [claims[0]?.exchange]));
  }
  const wrongs = Object.entries(values).filter(([, value]) => value !== true);
  if (Object.keys(values).length === 0)
    return certain({}, 'no RateLimit or X-RateLimit field came');
  if (learned.limit === undefined && wrongs.length === 0)
    return undetermined(
      `${Object.keys(values).join(', ')}: not compared, as the limit is not certain`,
    );
  const sentence =
    wrongs.length === 0
      ? `${Object.keys(values).join(', ')}: true as far as they were tried`
      : wrongs.map(([name, value]) => `${name} ${value}`).join('; ');
  return certain(values, sentence, numbers);
}

interface Said {
  readonly exchange: AuditedExchange;
  readonly claim: Saying | 'unreadable';
}

function wrongIn(
  claims: readonly Said[],
  exchanges: readonly AuditedExchange[],
  learned: Learned,
): { says: string; shown: readonly AuditedExchange[] } | undefined {
  const resetOf = new Map<AuditedExchange, number>();
  for (const { exchange, claim } of claims) {
    if (claim === 'unreadable') return { says: 'cannot be read', shown: [exchange] };
    const { limit, remaining, resetMs, windowMs } = claim;
    if (resetMs !== undefined) resetOf.set(exchange, resetMs);
    if (limit !== undefined && learned.limit !== undefined && limit !== learned.limit)
      return { says: `said a limit of ${limit}, but it is ${learned.limit}`, shown: [exchange] };
    const [least, most] = learned.windowMs ?? [0, Number.POSITIVE_INFINITY];
    if (windowMs !== undefined && (windowMs < least || windowMs > most))
      return {
        says: `said a window of ${windowMs / 1_000} s, but it is ${roundSpan([least, most])}`,
        shown: [exchange],
      };
    if (remaining !== undefined && exchange.outcome === 'refused' && remaining > 0)
      return { says: `said that ${remaining} remain, on a refusal`, shown: [exchange] };
    const next = exchange.outcome === 'passed' ? following(exchanges, exchange) : undefined;
    if (remaining !== undefined && next !== undefined) {
      const { passed, refusal } = next;
      const isWrong = passed < remaining || (passed > remaining && !learned.isContinuous);
      if (isWrong)
        return {
          says: `said that ${remaining} remain, but ${passed} more passed`,
          shown: [exchange, refusal],
        };
    }
  }
  const broken = brokenPromise(waitsIn(exchanges, (each) => resetOf.get(each), learned));
  if (broken === undefined) return undefined;
  const [{ refusal, readyAfterMs }, late] = broken;
  return {
    says: `said a reset in ${Number((readyAfterMs / 1_000).toFixed(1))} s, but a request ${secondsBetween(refusal, late)} s later was refused`,
    shown: [refusal, late],
  };
}

function roundSpan([least, most]: Span): string {
  return `between ${(least / 1_000).toPrecision(3)} and ${(most / 1_000).toPrecision(3)} s`;
}

/** How many passed after this one before the first refusal of the same first burst. */
function following(exchanges: readonly AuditedExchange[], exchange: AuditedExchange) {
  const first = exchanges.findIndex(({ outcome }) => outcome === 'refused');
  const at = exchanges.indexOf(exchange);
  const refusal = exchanges[first];
  if (refusal === undefined || at > first) return undefined;
  return { passed: first - at - 1, refusal };
}
