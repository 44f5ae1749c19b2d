/**
 * `npm run conform:assumptions [-- part-of-a-name …]`: runs the harness against correct simulators,
 * under every switched assumption and under a set of rows that covers all pairs of answers. Exits
 * with 1 if a rule fails or an answer is reported wrongly. Two processes share the work, because
 * the CPU limits the harness.
 */
import { fileURLToPath } from 'node:url';
import type { AssumptionName } from '../../src/sim/assumptions.ts';
import { failures } from '../testkit/conform-run.ts';
import { judgedAnswers } from '../testkit/examples/examples.ts';
import type { Row } from '../testkit/pairwise.ts';
import { isPoolProcess, runInPool, serveTasks } from '../testkit/worker-pool.ts';
import { judge, misjudged, pairs, singles } from './judge.ts';

interface Tried {
  readonly title: string;
  readonly complaints: readonly string[];
  readonly undetermined: readonly string[];
  readonly tookMs: number;
}

interface Task {
  readonly title: string;
  /** The switched assumptions. */
  readonly assumptions: Row;
}

if (isPoolProcess) serveTasks(tryOne);
else process.exitCode = await printAll(process.argv.slice(2));

async function tryOne({ title, assumptions }: Task): Promise<Tried> {
  const startedMs = performance.now();
  const end = (complaints: readonly string[], undetermined: readonly string[]) => ({
    title,
    complaints,
    undetermined,
    tookMs: Math.round(performance.now() - startedMs),
  });
  try {
    const judged = await judge(assumptions);
    const unexercised = judged.results.filter(
      ({ verdict, kind }) => kind === 'rule' && verdict === 'not_exercised',
    );
    const troubled = [...failures(judged.results), ...unexercised];
    const complaints = troubled.map(({ id, verdict, reason = '', expected, actual }) => {
      const facts = expected === undefined ? reason : `expected ${expected}; actual ${actual}`;
      return `${verdict} ${id}: ${facts}`;
    });
    if (judged.exitCode !== 0) complaints.unshift(`exit code ${judged.exitCode}`);
    const undetermined = Object.keys(judged.assumptions.untold);
    return end([...complaints, ...misjudged(assumptions, judged)], undetermined);
  } catch (error) {
    return end([String(error)], []);
  }
}

async function printAll(parts: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  const tasks = [
    ...singles().map((assumptions) => ({ title: JSON.stringify(assumptions), assumptions })),
    ...pairs().map((row, n) => ({ title: `pairs ${n + 1}`, assumptions: switchedIn(row) })),
  ].filter(({ title }) => parts.length === 0 || parts.some((part) => title.includes(part)));
  const tried = await runInPool<Task, Tried>({
    script: fileURLToPath(import.meta.url),
    processes: 2,
    each: 1,
    tasks,
    lost: ({ title }) => ({
      title,
      complaints: ['its process ended'],
      undetermined: [],
      tookMs: 0,
    }),
    onDone: printOne,
  });
  const bad = tried.filter(({ complaints }) => complaints.length > 0);
  const rows = new Map(tasks.map(({ title, assumptions }) => [title, assumptions]));
  for (const { title, complaints } of bad) {
    console.log(`\n${title}`);
    if (title.startsWith('pairs')) console.log(`  ${JSON.stringify(rows.get(title))}`);
    for (const line of complaints) console.log(`  ${line}`);
  }
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const many = tasks.filter(({ title }) => title.startsWith('pairs')).length;
  console.log(
    `\n${tried.length - bad.length} of ${tasks.length} sound simulators found sound, with the right assumptions: ` +
      `${tasks.length - many} with one switched assumption, ${many} that cover all pairs; ${seconds} s`,
  );
  return bad.length === 0 && tasks.length > 0 ? 0 : 1;
}

/** The row without default answers. */
function switchedIn(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).filter(
      ([name, answer]) => judgedAnswers[name as AssumptionName][0] !== answer,
    ),
  );
}

function printOne({ title, complaints, undetermined, tookMs }: Tried): void {
  const verdict = complaints.length === 0 ? 'sound' : 'WRONG';
  const named = undetermined.length === 0 ? '' : `  not determined: ${undetermined.join(', ')}`;
  console.log(`${title.padEnd(48)} ${verdict} ${String(tookMs).padStart(6)} ms${named}`);
}
