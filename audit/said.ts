/** Compares what a limiter said in its headers with what then happened. */
import { grouped } from '#io/grouped.ts';
import type { Span } from '#judging/limiter/space/decision.ts';
import { fieldKinds, type Saying, waitOf } from './fields.ts';
import { type AuditedExchange, tickMs } from './run.ts';
import { certain, type RetryAfter, rangeText, type Statement, undetermined } from './statement.ts';

/** What is certain of the limiter, as far as the comparison needs it. */
export interface Learned {
  readonly limit: number | undefined;
  readonly windowMs: Span | undefined;
  /** True if only the last refusal states the wait, as each may prolong it. */
  readonly mayProlong: boolean;
  /** True if a token may come back while others are spent. */
  readonly isContinuous: boolean;
}

/** A refusal with the wait that it states, and the next requests of that caller. */
interface Wait {
  readonly refusal: AuditedExchange;
  readonly statedMs: number;
  /** Until the first that passed; it is the last of them. */
  readonly later: readonly AuditedExchange[];
}

function waitsIn(
  exchanges: readonly AuditedExchange[],
  statedMs: (exchange: AuditedExchange) => number | undefined,
  { mayProlong }: Learned,
): Wait[] {
  return exchanges.flatMap((refusal) => {
    const ms = refusal.outcome === 'refused' ? statedMs(refusal) : undefined;
    if (ms === undefined) return [];
    // What was under way together may have been decided in any order.
    const after = exchanges.filter(({ sentAtMs }) => sentAtMs >= refusal.answeredAtMs);
    const until = after.findIndex(({ outcome }) => mayProlong || outcome !== 'refused');
    const later = after.slice(0, until < 0 ? after.length : until + 1);
    return [{ refusal, statedMs: ms, later }];
  });
}

function endOf({ refusal, statedMs }: Wait): number {
  return refusal.answeredAtMs + statedMs;
}

/** Those after which a request was sent when the stated time was over. */
function triedIn(waits: readonly Wait[]): readonly Wait[] {
  return waits.filter((wait) =>
    wait.later.some(({ sentAtMs }) => sentAtMs >= endOf(wait) + tickMs),
  );
}

/** How often, and by how much, requests were refused although the stated time was over. */
function shortIn(waits: readonly Wait[]) {
  const tried = triedIn(waits);
  const broken = tried.flatMap((wait) => {
    const late = wait.later.findLast(
      ({ outcome, sentAtMs }) => outcome === 'refused' && sentAtMs >= endOf(wait) + tickMs,
    );
    return late === undefined ? [] : [{ wait, late, byMs: late.sentAtMs - endOf(wait) }];
  });
  const [worst] = broken.toSorted((one, other) => other.byMs - one.byMs);
  if (worst === undefined) return undefined;
  const { wait, late, byMs } = worst;
  const passed = wait.later.find(({ outcome }) => outcome === 'passed');
  const at = (each: AuditedExchange) => secondsText(each.sentAtMs - wait.refusal.answeredAtMs);
  const by = passed === undefined ? '' : `, and one ${at(passed)} later passed`;
  const often = `by ${secondsText(byMs)} or more, after ${broken.length} of ${tried.length} refusals`;
  return {
    says: `too short, ${often}: it said ${secondsText(wait.statedMs)}, but a request ${at(late)} later was refused${by}`,
    shown: [wait.refusal, late, ...(passed === undefined ? [] : [passed])],
  };
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
  const unreadable = refusals.find((each) => Number.isNaN(waitOf(each)));
  if (unreadable !== undefined) {
    const text = unreadable.headers['retry-after'];
    const sentence = `Retry-After reads ${text}, which is neither whole seconds nor a date`;
    const asSeconds = fractionText(waitsIn(exchanges, fractionMs, learned));
    return certain('unreadable', `${sentence}${asSeconds}`, [unreadable.number]);
  }
  const missing = refusals.find((each) => waitOf(each) === undefined);
  if (missing !== undefined)
    return certain('absent', 'a refusal has no Retry-After', [missing.number]);
  const waits = waitsIn(exchanges, (each) => (waitOf(each) ?? 0) * 1_000, learned);
  const short = shortIn(waits);
  if (short === undefined) return longIn(waits) ?? sufficientIn(waits, first);
  return certain('short', `Retry-After is ${short.says}`, numbersOf(short.shown));
}

function fractionMs({ headers }: AuditedExchange): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return seconds >= 0 ? seconds * 1_000 : undefined;
}

/** Whether waits with fractions, which no standard allows, are true as seconds. */
function fractionText(waits: readonly Wait[]): string {
  const tried = triedIn(waits).length;
  if (tried === 0) return '';
  const says = shortIn(waits)?.says ?? `true: never too short after ${tried} refusals`;
  return `; read as seconds it is ${says}`;
}

/** A request that passed more than a second before its time. */
function longIn(waits: readonly Wait[]): Statement<RetryAfter> | undefined {
  const isEarly = ({ refusal, statedMs }: Wait, { outcome, answeredAtMs }: AuditedExchange) =>
    outcome === 'passed' && answeredAtMs + tickMs <= refusal.sentAtMs + statedMs - 1_000;
  const early = waits.find((wait) => wait.later.some((each) => isEarly(wait, each)));
  const passed = early?.later.at(-1);
  if (early === undefined || passed === undefined) return undefined;
  const isConstant = waits.length > 2 && new Set(waits.map(({ statedMs }) => statedMs)).size === 1;
  const said = `Retry-After ${isConstant ? 'always says' : 'said'} ${secondsText(early.statedMs)}`;
  const after = secondsText(passed.sentAtMs - early.refusal.answeredAtMs);
  const sentence = `${said}, longer than needed: a request passed after ${after}`;
  return certain('sufficient', sentence, numbersOf([early.refusal, passed]));
}

function sufficientIn(waits: readonly Wait[], first: AuditedExchange): Statement<RetryAfter> {
  const isTried = (wait: Wait, { sentAtMs }: AuditedExchange) => sentAtMs >= endOf(wait) - tightMs;
  const kept = waits.find((wait) =>
    wait.later.some((each) => each.outcome === 'passed' && isTried(wait, each)),
  );
  if (kept === undefined) {
    return undetermined('no request followed a refusal when its Retry-After was over', [
      first.number,
    ]);
  }
  const passed = kept.later.at(-1);
  const shown = numbersOf(passed === undefined ? [kept.refusal] : [kept.refusal, passed]);
  const isTight = waits.some((wait) =>
    [wait.refusal, ...wait.later].some((each) => each.outcome === 'refused' && isTried(wait, each)),
  );
  const tried = [...new Set(triedIn(waits).map(({ statedMs }) => statedMs))];
  const [only] = tried;
  const note =
    tried.length === 1 && only !== undefined ? ` (only ${secondsText(only)} was tried)` : '';
  return isTight
    ? certain(
        'exact',
        `Retry-After is exact: after it a request passes, and a second earlier none does${note}`,
        shown,
      )
    : certain('sufficient', `Retry-After is sufficient: after it a request passes${note}`, shown);
}

function secondsText(ms: number): string {
  return `${Number((ms / 1_000).toFixed(3))} s`;
}

function numbersOf(exchanges: readonly AuditedExchange[]): number[] {
  return exchanges.map(({ number }) => number);
}

/** For each kind of fields that came: `true`, or what they said against what happened. */
export function fieldsOf(
  exchanges: readonly AuditedExchange[],
  learned: Learned,
): Statement<Readonly<Record<string, true | string>>> {
  const values: Record<string, true | string> = {};
  const sentences: string[] = [];
  const shown: AuditedExchange[] = [];
  for (const { name, read } of fieldKinds) {
    const claims = exchanges.flatMap((exchange) => {
      const claim = read(exchange);
      return claim === undefined ? [] : [{ exchange, claim }];
    });
    if (claims.length === 0) continue;
    const checks = checksOf(claims, exchanges, learned);
    const wrong = checks.find(({ says }) => says !== undefined);
    values[name] = wrong?.says ?? true;
    const members = [...grouped(checks, ({ member }) => member)];
    const tried = members.map(([member, each]) => `${member} in ${each.length} replies`);
    const truth = tried.length === 0 ? 'not tried' : `true (${tried.join(', ')})`;
    sentences.push(`${name} ${wrong?.says ?? truth}`);
    const firsts = members.flatMap(([, [check]]) => check ?? []);
    shown.push(...(wrong === undefined ? firsts : [wrong]).flatMap((check) => check.shown));
  }
  const isTrue = Object.values(values).every((value) => value === true);
  if (sentences.length === 0) return certain({}, 'no RateLimit or X-RateLimit field came');
  if (learned.limit === undefined && isTrue) {
    return undetermined(
      `${Object.keys(values).join(', ')}: not compared, as the limit is not certain`,
    );
  }
  return certain(values, sentences.join('; '), [...new Set(numbersOf(shown))]);
}

interface Said {
  readonly exchange: AuditedExchange;
  readonly claim: Saying | 'unreadable';
}

/** A number that was compared with what happened. */
interface Check {
  readonly member: 'limit' | 'window' | 'remaining' | 'reset' | 'form';
  readonly shown: readonly AuditedExchange[];
  /** What was wrong. */
  readonly says: string | undefined;
}

function checksOf(
  claims: readonly Said[],
  exchanges: readonly AuditedExchange[],
  learned: Learned,
): readonly Check[] {
  const resetOf = new Map<AuditedExchange, number | undefined>();
  const checks = claims.flatMap(({ exchange, claim }): readonly (Check | undefined)[] => {
    if (claim === 'unreadable')
      return [{ member: 'form', shown: [exchange], says: 'cannot be read' }];
    resetOf.set(exchange, claim.resetMs);
    return [
      ...learnedChecks(claim, exchange, learned),
      remainingCheck(claim, exchange, exchanges, learned),
    ];
  });
  const waits = waitsIn(exchanges, (each) => resetOf.get(each), learned);
  const short = shortIn(waits);
  const resets = triedIn(waits).map(
    ({ refusal, later }): Check => ({
      member: 'reset',
      shown: short?.shown ?? [refusal, ...later.slice(-1)],
      says: short && `said a reset that is ${short.says}`,
    }),
  );
  return [...checks.filter((check) => check !== undefined), ...resets];
}

/** Compares the limit and the window with the learned ones. */
function learnedChecks({ limit, windowMs }: Saying, exchange: AuditedExchange, learned: Learned) {
  const [shown, checks]: [AuditedExchange[], Check[]] = [[exchange], []];
  if (limit !== undefined && learned.limit !== undefined) {
    const wrong = `said a limit of ${limit}, but it is ${learned.limit}`;
    checks.push({ member: 'limit', shown, says: limit === learned.limit ? undefined : wrong });
  }
  if (windowMs !== undefined && learned.windowMs !== undefined) {
    const [least, most] = learned.windowMs;
    const isRight = windowMs >= least && windowMs <= most;
    const span = rangeText([least / 1_000, most / 1_000], ' s');
    const wrong = `said a window of ${secondsText(windowMs)}, but it is ${span}`;
    checks.push({ member: 'window', shown, says: isRight ? undefined : wrong });
  }
  return checks;
}

function remainingCheck(
  { remaining }: Saying,
  exchange: AuditedExchange,
  exchanges: readonly AuditedExchange[],
  learned: Learned,
): Check | undefined {
  if (remaining === undefined) return undefined;
  const member = 'remaining';
  if (exchange.outcome === 'refused') {
    const says = remaining > 0 ? `said that ${remaining} remain, on a refusal` : undefined;
    return { member, shown: [exchange], says };
  }
  // How many passed after this one before the first refusal, which ends the first burst.
  const first = exchanges.findIndex(({ outcome }) => outcome === 'refused');
  const refusal = exchanges[first];
  const passed = first - exchanges.indexOf(exchange) - 1;
  if (refusal === undefined || passed < 0) return undefined;
  const isWrong = passed < remaining || (passed > remaining && !learned.isContinuous);
  const wrong = `said that ${remaining} remain, but ${passed} more passed`;
  return { member, shown: [exchange, refusal], says: isWrong ? wrong : undefined };
}
