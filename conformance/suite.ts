/**
 * Runs the selected cases and gives each a verdict.
 * Cases that leave time and shared buckets alone run side by side, then the others one by one.
 * A verdict is only ever `passed` when the case counted its precondition as come true.
 */
import { type AnyCase, idOf, type Seen, subjectOf } from './case.ts';
import { RecipientBlocked, SendsExhausted } from './client.ts';
import { LeverFailed } from './control.ts';
import type { Exchange } from './exchange.ts';
import { rules } from './rules.ts';
import { type Profile, type Target, whatIsMissing } from './target.ts';
import { paths, Trial } from './trial.ts';
import { Lacking, PreconditionMissing, RuleBroken } from './verify.ts';

export const verdicts = [
  'passed',
  'failed',
  'observed',
  'skipped',
  'not_exercised',
  'spelling',
  'error',
] as const;
export type Verdict = (typeof verdicts)[number];

export interface Result {
  readonly id: string;
  /** The rule or the assumption. */
  readonly subject: string;
  readonly kind: 'rule' | 'assumption';
  readonly sends: string;
  readonly demands?: string;
  readonly verdict: Verdict;
  readonly reason?: string;
  readonly expected?: string;
  readonly actual?: string;
  readonly seen?: unknown;
  readonly exercised: number;
  readonly durationMs: number;
  readonly exchanges: readonly Exchange[];
  /** Exchanges that were made but not kept. */
  readonly omitted: number;
}

export interface Run {
  readonly results: Result[];
  /** Why the run could not begin. */
  readonly unreached?: string;
  reachable: boolean;
  interrupted: boolean;
  budgetReached: boolean;
}

export interface RunOptions {
  readonly bail: boolean;
  readonly signal: AbortSignal;
  readonly profile: Profile;
  readonly onResult: (result: Result, done: number, total: number) => void;
}

const casesAtOnce = 8;
const keptFirst = 10;
const keptLast = 20;

export async function runSuite(
  cases: readonly AnyCase[],
  target: Target,
  options: RunOptions,
): Promise<Run> {
  const run: Run = { results: [], reachable: true, interrupted: false, budgetReached: false };
  const byId = new Map<string, Result>();
  let stopped: string | undefined;
  const execute = async (one: AnyCase) => {
    if (options.signal.aborted) stopped ??= 'the run was interrupted';
    const found =
      stopped === undefined ? await runCase(one, target, options) : notRun(one, stopped);
    const result = alike && counts(found.verdict) ? { ...found, ...meaningless } : found;
    byId.set(idOf(one), result);
    options.onResult(result, byId.size, cases.length);
    if (options.bail && isFailure(result.verdict)) stopped ??= 'stopped by --bail';
    const inDoubt = stopped === undefined && !options.signal.aborted && lastUnanswered(result);
    if (inDoubt && (await failureOf(target)) !== undefined && !options.signal.aborted) {
      stopped = 'the target no longer answers';
      run.reachable = false;
    }
  };
  const failure = await failureOf(target);
  if (failure !== undefined && !options.signal.aborted) {
    return unreached(cases, `${target.client.baseUrl} is not reachable: ${failure}`);
  }
  const alike = failure === undefined && (await answersAllAlike(target));
  const { together, alone } = arrange(cases);
  // Without levers all cases share one account, so they take turns.
  await inTurn(together, target.control === undefined ? 1 : casesAtOnce, execute);
  await inTurn(alone, 1, execute);
  run.results.push(...cases.flatMap((one) => byId.get(idOf(one)) ?? []));
  run.interrupted = options.signal.aborted;
  run.budgetReached = target.client.budgetReached;
  return run;
}

/** A run that could not begin: the reports name every case as not exercised. */
export function unreached(cases: readonly AnyCase[], reason: string): Run {
  const results = cases.map((one) => notRun(one, reason));
  return { results, unreached: reason, reachable: false, interrupted: false, budgetReached: false };
}

const meaningless = {
  verdict: 'not_exercised',
  reason: 'the target answers every request alike, so no answer of it says anything',
} as const;

function counts(verdict: Verdict): boolean {
  return verdict === 'passed' || verdict === 'observed';
}

/** With a key, without one, and for what does not exist: a service that tells none of these apart is none. */
async function answersAllAlike(target: Target): Promise<boolean> {
  const trial = new Trial(target, false);
  try {
    const { key } = await trial.account({ sims: 0 });
    const unknown = paths.read('00000000-0000-4000-8000-000000000000');
    const replies = [
      await trial.get(paths.stats, key),
      await trial.get(paths.stats, undefined),
      await trial.get(unknown, key),
    ];
    return new Set(replies.map(({ status }) => status)).size === 1;
  } catch (error) {
    if (error instanceof Lacking || error instanceof LeverFailed) return false;
    throw error;
  }
}

/** The cheap ones first, and rules before gaps: where a rate limit is shared, the others would leave nothing of it. */
function arrange(cases: readonly AnyCase[]): { together: AnyCase[]; alone: AnyCase[] } {
  const costOf = (one: AnyCase) =>
    (one.cost.sends ?? 0) + 1_000 * (one.cost.throttled ?? 0) + ('rule' in one ? 0 : 500);
  const sorted = cases.toSorted((a, b) => costOf(a) - costOf(b));
  return {
    together: sorted.filter((one) => one.alone !== true),
    alone: sorted.filter((one) => one.alone === true),
  };
}

/** Why the target sends no HTTP reply at all, asked for twice at most; undefined if it sends one. */
async function failureOf(target: Target): Promise<string | undefined> {
  let failure = '';
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const key = target.flags.apiKey;
    const reply = await target.client.request({
      method: 'GET',
      path: paths.stats,
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    });
    if (reply.status !== 0) return undefined;
    failure = reply.failure ?? 'no reply';
    if (failure === 'timed out') break;
  }
  return failure;
}

async function inTurn<T>(items: readonly T[], width: number, one: (item: T) => Promise<void>) {
  let next = 0;
  const worker = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await one(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

async function runCase(one: AnyCase, target: Target, options: RunOptions): Promise<Result> {
  const missing = whatIsMissing(one, target, options.profile);
  if (missing !== undefined) return resultOf(one, { verdict: 'skipped', reason: missing });
  const trial = new Trial(target, (one.cost.throttled ?? 0) === 0);
  const started = performance.now();
  let found: Found;
  try {
    if ('rule' in one) {
      await one.run(trial);
      found = judged(trial);
    } else found = sighted(await one.run(trial));
  } catch (error) {
    found = options.signal.aborted
      ? { verdict: 'not_exercised', reason: 'the run was interrupted' }
      : verdictOf(error);
  }
  return resultOf(one, found, trial, performance.now() - started);
}

interface Found {
  readonly verdict: Verdict;
  readonly reason?: string;
  readonly expected?: string;
  readonly actual?: string;
  readonly seen?: unknown;
}

function judged(trial: Trial): Found {
  if (trial.exercised > 0) return { verdict: 'passed' };
  return { verdict: 'not_exercised', reason: 'its precondition never came true' };
}

function sighted(seen: Seen): Found {
  if ('untold' in seen) return { verdict: 'not_exercised', reason: seen.untold };
  return { verdict: 'observed', seen: seen.answer };
}

function verdictOf(error: unknown): Found {
  if (error instanceof RuleBroken)
    return {
      verdict: error.spelling ? 'spelling' : 'failed',
      expected: error.expected,
      actual: error.actual,
    };
  if (error instanceof PreconditionMissing)
    return { verdict: 'not_exercised', reason: error.message };
  if (error instanceof Lacking) return { verdict: 'skipped', reason: `needs ${error.message}` };
  if (error instanceof RecipientBlocked || error instanceof SendsExhausted)
    return { verdict: 'skipped', reason: error.message };
  if (error instanceof LeverFailed)
    return { verdict: 'error', reason: `a lever failed: ${error.message}` };
  return {
    verdict: 'error',
    reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
}

function notRun(one: AnyCase, reason: string): Result {
  return resultOf(one, { verdict: 'not_exercised', reason });
}

function resultOf(one: AnyCase, found: Found, trial?: Trial, durationMs = 0): Result {
  const all = trial?.exchanges ?? [];
  const kept =
    all.length <= keptFirst + keptLast
      ? all
      : [...all.slice(0, keptFirst), ...all.slice(-keptLast)];
  const clean = (text: string) => trial?.target.client.masks.clean(text) ?? text;
  return {
    id: idOf(one),
    subject: subjectOf(one),
    kind: 'rule' in one ? 'rule' : 'assumption',
    sends: one.sends,
    ...('rule' in one ? { demands: one.demands } : {}),
    ...found,
    ...(found.reason === undefined ? {} : { reason: clean(found.reason) }),
    ...(found.actual === undefined ? {} : { actual: clean(found.actual) }),
    exercised: trial?.exercised ?? 0,
    durationMs: Math.round(durationMs * 10) / 10,
    exchanges: kept,
    omitted: all.length - kept.length,
  };
}

function lastUnanswered(result: Result): boolean {
  return result.exchanges.at(-1)?.status === 0;
}

export function isFailure(verdict: Verdict): boolean {
  return verdict === 'failed' || verdict === 'spelling' || verdict === 'error';
}

/** Picks cases by rule id, assumption name, group (`SEND`), case id, or a part of it; `*` stands for anything. */
export function select(cases: readonly AnyCase[], patterns: readonly string[]): AnyCase[] {
  if (patterns.length === 0) return [...cases];
  return cases.filter((one) => patterns.some((pattern) => matches(one, pattern.toLowerCase())));
}

/** The first halves of rule ids, such as `send`. */
const groups = new Set(rules.map(({ id }) => id.replace(/-\d+$/, '').toLowerCase()));

function matches(one: AnyCase, pattern: string): boolean {
  const id = idOf(one).toLowerCase();
  const subject = subjectOf(one).toLowerCase();
  if (pattern.includes('*')) {
    const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    const glob = new RegExp(`^${parts.join('.*')}$`);
    return glob.test(id) || glob.test(subject);
  }
  if (/^[a-z]+-\d+$/.test(pattern)) return subject === pattern;
  if (groups.has(pattern)) return subject.startsWith(`${pattern}-`);
  return subject === pattern || id.includes(pattern);
}
