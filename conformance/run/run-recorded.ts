/**
 * `smstwin conform --traffic`: reads recorded traffic, judges it, compares it with an older
 * recording (`--drift`), writes reports and returns an exit code. It sends nothing. Drift is a
 * change of a verdict, of an answer, or of the members that every reply of a kind has. What only
 * one of the recordings shows does not count as drift.
 */
import { basename } from 'node:path';
import type { NoticeTaker, TrafficReader } from '#contract/exchange.ts';
import { type RuleId, rules } from '#contract/rules.ts';
import { isoTime } from '#contract/time.ts';
import { CommandError } from '#io/command-error.ts';
import type { CommandIo } from '#io/flags.ts';
import { counted, foreignText, table } from '#io/terminal.ts';
import type { Exchange } from '#judging/evidence/exchange.ts';
import { type RuleFinding, TrafficJudge } from '#judging/recorded/judge-recorded.ts';
import { Observations } from '#judging/recorded/observations.ts';
import { recordedRules, unrecordedRules } from '#judging/recorded/recorded-rules.ts';
import { isFailure, type Result } from '#judging/report/result.ts';
import type { ConformOptions, TrafficFlags } from '../options.ts';
import { otherBefore, runsOf } from './case-result.ts';
import { finish } from './finish.ts';
import { isSelected } from './select.ts';

interface TrafficIo extends Pick<CommandIo, 'out' | 'error'> {
  readonly readTraffic: TrafficReader;
  readonly isTerminal?: boolean;
}

/** A line of progress is printed after this many exchanges. */
const progressEvery = 100_000;
/** If more exchanges prove a failure, a report shows an excerpt of them. */
const mostShown = 4;

/** How recordings are judged; the same for the newer and the older one. */
interface JudgingOptions {
  readonly traffic: TrafficFlags;
  readonly ids: readonly RuleId[];
  readonly io: TrafficIo;
}

/** Judges the recordings in these files by each rule, and observes assumptions in them. */
async function judgeFiles(files: readonly string[], { traffic, ids, io }: JudgingOptions) {
  const observations = new Observations();
  const judge = new TrafficJudge({
    isComplete: traffic.isComplete,
    joined: traffic.joined,
    rules: ids,
    observations,
  });
  const notices: string[] = [];
  const notice: NoticeTaker = (line, lacks) => {
    if (lacks !== undefined && lacks !== 'order' && traffic.isComplete)
      throw new CommandError(2, `${foreignText(line)}: leave out --traffic-complete`);
    io.error(`smstwin conform: ${foreignText(line)}\n`);
    notices.push(line);
  };
  for await (const events of io.readTraffic(files, notice))
    for (const event of events) {
      judge.take(event);
      if (io.isTerminal && judge.exchanges % progressEvery === 0)
        io.out(`${judge.exchanges.toLocaleString('en')} exchanges\n`);
    }
  judge.end();
  const results = [
    ...notices.map(noticeOf),
    ...ids.map((id) => resultOf(id, judge.findings.get(id))),
  ];
  return { judge, results, observations };
}

/** Returns the exit code; a drift is 1, unless the verdicts say something worse. */
export async function conformTraffic(
  options: ConformOptions,
  traffic: TrafficFlags,
  io: TrafficIo,
) {
  const startedAt = new Date();
  const judging: JudgingOptions = { traffic, ids: selectedRules(options.patterns), io };
  const { judge, ...now } = await judgeFiles(traffic.files, judging);
  const [unseenKey] = judge.unseenKeys;
  if (unseenKey !== undefined) {
    throw new CommandError(
      2,
      `--same-account ${unseenKey}: no exchange has this key; name it as the file does`,
    );
  }
  const { results, observations } = now;
  const [file = ''] = traffic.files;
  const more =
    traffic.files.length > 1 ? ` and ${counted(traffic.files.length - 1, 'more file')}` : '';
  const state = { isReachable: true, isInterrupted: false, isBudgetReached: false };
  const run = { results, ...state, mayMiss: true };
  const facts = {
    baseUrl: `${basename(file)}${more}`,
    startedAt: startedAt.toISOString(),
    durationMs: Date.now() - startedAt.getTime(),
    sends: judge.exchanges,
    sendsAre: 'exchanges',
    throttled: judge.throttled,
    interruptions: {},
    discovered: observations.discovered(),
  };
  const knownCases = rules.map(({ id }) => ({ id: `${id}/traffic`, subject: id }));
  const exitCode = finish({ run, facts, knownCases }, options, io);
  const hasDrifted = traffic.drift !== undefined && (await printDrift(now, traffic.drift, judging));
  return hasDrifted && [0, 4].includes(exitCode) ? 1 : exitCode;
}

/** The rules that the patterns name; all without a pattern. Throws if none matches. */
function selectedRules(patterns: readonly string[]): readonly RuleId[] {
  const ids = rules.map(({ id }) => id);
  const selected = ids.filter((id) => isSelected(`${id}/traffic`, id, patterns));
  if (selected.length > 0) return selected;
  throw new CommandError(4, `no rule matches ${patterns.join(' ')}; name one, such as SEND-4`);
}

/** Prints what changed since an older recording; true if something did. */
async function printDrift(now: Judged, file: string, judging: JudgingOptions): Promise<boolean> {
  const before = await judgeFiles([file], judging);
  const rows = [verdictRows, answerRows, shapeRows].flatMap((rowsOf) => rowsOf(before, now));
  const text = table([['WHAT', 'BEFORE', 'NOW'], ...rows]);
  const lines = rows.length === 0 ? ['Nothing drifted.', ''] : ['Drifted:', ...text.split('\n')];
  judging.io.out(`\n${lines.map(foreignText).join('\n')}`);
  return rows.length > 0;
}

/** The fields of a result that no exchange decided. */
const withoutExchanges = {
  sends: 'nothing: it judges recorded traffic',
  durationMs: 0,
  exercised: 0,
  exchanges: [],
  omitted: 0,
};

/** The result for a notice of the reader, such as that a file is cut. */
function noticeOf(reason: string, index: number): Result {
  const about = { id: `traffic/${index + 1}`, subject: 'traffic', kind: 'assumption' } as const;
  return { ...withoutExchanges, ...about, verdict: 'notice', reason };
}

function resultOf(rule: RuleId, finding: RuleFinding | undefined): Result {
  const about = { id: `${rule}/traffic`, subject: rule, kind: 'rule' } as const;
  const own = { ...withoutExchanges, ...about };
  if (recordedRules[rule] === undefined) {
    return {
      ...own,
      verdict: 'skipped',
      reason: unrecordedRules[rule] ?? 'traffic cannot show it',
    };
  }
  if (finding === undefined)
    return { ...own, verdict: 'skipped', reason: 'needs --traffic-complete' };
  const { broken, proof, exercised, missing } = finding;
  if (broken === undefined) {
    const reason = missing ?? undecided(finding);
    return exercised === 0
      ? { ...own, verdict: 'not_exercised', reason }
      : { ...own, verdict: 'passed', exercised };
  }
  const last = broken.exchange ?? proof.at(-1)?.reply.exchange;
  const excerpt = excerptOf(proof, last);
  return {
    ...own,
    verdict: broken.isOnlySpelling ? 'spelling' : 'failed',
    expected: broken.expected,
    actual: broken.actual,
    ...(last !== undefined && { broken: last }),
    exercised,
    timeline: proof.length > mostShown ? runsOf(proof) : proof.map(timeOf),
    exchanges: excerpt,
    omitted: proof.length - excerpt.length,
  };
}

/** Why no exchange exercised the rule. */
function undecided({ isTouched = false }: RuleFinding): string {
  return isTouched
    ? 'exchanges are about it, and none decides it; do several keys share an account (--same-account)?'
    : 'no exchange can show it: there is none of its kind, or only with other statuses';
}

/** The smallest excerpt that shows a failure. */
function excerptOf(proof: readonly Exchange[], broken: Exchange['reply']['exchange'] | undefined) {
  if (proof.length <= mostShown) return proof.map(({ reply }) => reply.exchange);
  const before = broken && otherBefore(proof, broken);
  const shownOnce = new Set([proof[0]?.reply.exchange, before, broken]);
  return [...shownOnce].filter((exchange) => exchange !== undefined);
}

/** A line of the timeline. */
function timeOf({ method, path, reply, sentAt }: Exchange): string {
  const took = `${isoTime(sentAt)} + ${reply.exchange.durationMs} ms`;
  return `${took}: ${method} ${path} answered ${reply.status === 0 ? 'nothing' : reply.status}`;
}

/** What a recording shows of its service. */
interface Judged {
  readonly results: readonly Result[];
  readonly observations: Observations;
}

/** A row of the table of changes. */
type Row = readonly [what: string, before: string, now: string];

function verdictRows(before: Judged, now: Judged): Row[] {
  const isKnown = ({ verdict }: Result) => verdict === 'passed' || isFailure(verdict);
  return now.results.flatMap((result): Row[] => {
    const { id, subject, verdict } = result;
    const earlier = before.results.find((each) => each.id === id);
    if (earlier === undefined || !isKnown(earlier) || !isKnown(result)) return [];
    return earlier.verdict === verdict ? [] : [[subject, earlier.verdict, verdict]];
  });
}

function answerRows(before: Judged, now: Judged): Row[] {
  const earlier = before.observations.discovered().answers;
  return Object.entries(now.observations.discovered().answers).flatMap(([name, answer]): Row[] =>
    earlier[name] === undefined || earlier[name] === answer
      ? []
      : [[name, String(earlier[name]), String(answer)]],
  );
}

function shapeRows(before: Judged, now: Judged): Row[] {
  const rows: Row[] = [];
  for (const [name, shape] of now.observations.shapes) {
    const earlier = before.observations.shapes.get(name);
    if (earlier === undefined) continue;
    for (const member of new Set([...earlier.members.keys(), ...shape.members.keys()])) {
      const shareBefore = (earlier.members.get(member) ?? 0) / earlier.replies;
      const shareNow = (shape.members.get(member) ?? 0) / shape.replies;
      const what = `${name}: ${member}`;
      if (shareBefore === 1 && shareNow === 0) rows.push([what, 'always', 'never']);
      if (shareBefore === 0 && shareNow === 1) rows.push([what, 'never', 'always']);
    }
  }
  return rows;
}
