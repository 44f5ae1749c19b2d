/**
 * `npm run conform:defects [-- part-of-a-name …]`: the kill matrix. Prints every defect, the rule
 * that it breaks and the cases that fail; exits with 1 if a defect survives,
 * or if no defect fails a case.
 * `--without-control-port` gives the harness only flags and real time, with many defects at a time.
 * A defect may then survive only if its catalogue entry states the reason. A sample is drawn by
 * `--sample 60` (`--seed` repeats the selection), and `--rate 4` runs it at four times the speed.
 */
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Rng } from '#src/sim/random.ts';
import { defects } from '../defects/catalogue.ts';
import type { Defect } from '../defects/planted.ts';
import { isPoolProcess, runInPool, serveTasks } from '../testkit/processes/worker-pool.ts';
import {
  isExpected,
  type Means,
  type RowVerdict,
  rowOf,
  type Tried,
  tryDefect,
  untestedCases,
  verdictOf,
  withControl,
} from './kill.ts';

const processes = 2;
/** Defects that a process tries at a time without a control port: the harness mostly waits. */
const defectsAtOnce = 24;
/** The same in the repetition, where a busy machine must not delay requests. */
const repeatedAtOnce = 8;

/** How defects are tried. */
interface Plan {
  readonly means: Means;
  /** True if the cases of other rules run when no case of the defect's rule fails. */
  readonly looksElsewhere: boolean;
}

interface Task extends Plan {
  readonly defect: Defect;
}

if (isPoolProcess) serveTasks(tryTask);
else process.exitCode = await printMatrix(process.argv.slice(2));

async function tryTask({ defect, means, looksElsewhere }: Task): Promise<Tried> {
  try {
    return { defect, kill: await tryDefect(defect, means, looksElsewhere) };
  } catch (error) {
    return { defect, error: String(error) };
  }
}

async function printMatrix(argv: string[]): Promise<number> {
  const { values, positionals: parts } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      'without-control-port': { type: 'boolean', default: false },
      rate: { type: 'string', default: '1' },
      sample: { type: 'string' },
      seed: { type: 'string', default: String(randomInt(1_000_000)) },
    },
  });
  const { sample, seed } = values;
  const named = defects.filter(
    ({ name, rule }) =>
      parts.length === 0 || parts.some((part) => name.includes(part) || rule === part),
  );
  const chosen = sample === undefined ? named : drawn(named, Number(sample), Number(seed));
  if (sample !== undefined)
    console.log(`${chosen.length} of ${named.length} defects, --seed ${seed}`);
  const hasControl = !values['without-control-port'];
  const startedMs = performance.now();
  const tried = hasControl
    ? await tryAll(chosen, 1, { means: withControl, looksElsewhere: true })
    : await tryWithFlags(chosen, Number(values.rate));
  const unexpected = tried.filter((each) => !isExpected(each, hasControl));
  for (const each of unexpected) printDetails(each);
  const untested = hasControl ? untestedCases(tried) : [];
  for (const id of untested) {
    console.log(`\n${id}: no defect of its rule fails this case; add one to verify/defects/`);
  }
  const count = (verdict: RowVerdict) =>
    tried.filter((each) => verdictOf(each, hasControl) === verdict).length;
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const unseen = hasControl ? '' : ` without a control port, ${count('unseen')} cannot be seen so`;
  console.log(
    `\n${count('caught')} of ${chosen.length} defects caught by a case of their rule${unseen}, ${unexpected.length} wrong; ${seconds} s`,
  );
  return unexpected.length + untested.length === 0 && chosen.length > 0 ? 0 : 1;
}

/** Tries all in real time or faster, and once more those whose outcome is not the expected one. */
async function tryWithFlags(chosen: readonly Defect[], rate: number): Promise<readonly Tried[]> {
  const first = await tryAll(chosen, defectsAtOnce, { means: { rate }, looksElsewhere: false });
  const hasControl = false;
  const unexpected = first
    .filter((each) => !isExpected(each, hasControl))
    .map(({ defect }) => defect);
  if (unexpected.length === 0) return first;
  // A busy machine delays requests, so fewer cases can judge. Repeats only these, in real time.
  console.log(`\nonce more, in real time: ${unexpected.map(({ name }) => name).join(', ')}`);
  const second = await tryAll(unexpected, repeatedAtOnce, { means: {}, looksElsewhere: true });
  return first.map((one) => second.find(({ defect }) => defect.name === one.defect.name) ?? one);
}

/** Tries the defects in child processes, and prints a row for each as soon as it is known. */
function tryAll(chosen: readonly Defect[], tasksAtOnce: number, plan: Plan): Promise<Tried[]> {
  return runInPool<Task, Tried>({
    script: fileURLToPath(import.meta.url),
    processes,
    tasksAtOnce,
    tasks: chosen.map((defect) => ({ defect, ...plan })),
    lost: ({ defect }) => ({ defect, error: 'its process ended' }),
    onDone: (tried) => console.log(rowOf(tried, 'control' in plan.means)),
  });
}

/** Prints what is known about an outcome that is not the expected one. */
function printDetails({ defect, kill, error }: Tried): void {
  const { name, rule, unseen } = defect;
  const survives = unseen === undefined ? `no case of ${rule} fails` : `seen, though "${unseen}"`;
  console.log(`\n${name}: ${error ?? survives}`);
  for (const line of kill?.verdicts ?? []) console.log(`  ${line}`);
  const elsewhere = kill?.elsewhere ?? [];
  if (elsewhere.length > 0) console.log(`  elsewhere: ${elsewhere.join(', ')}`);
}

/** Draws `count` different defects. */
function drawn(some: readonly Defect[], count: number, seed: number): readonly Defect[] {
  const rng = Rng.stream(seed, 'defects');
  return some
    .map((defect) => ({ defect, place: rng.uint32() }))
    .sort((one, other) => one.place - other.place)
    .slice(0, count)
    .map(({ defect }) => defect);
}
