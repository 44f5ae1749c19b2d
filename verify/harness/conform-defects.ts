/**
 * `npm run conform:defects [-- part-of-a-name …]`: the kill matrix. Prints every defect, the rule
 * that it breaks and the cases that fail; exits with 1 if a defect survives.
 * `--without-control-port` gives the harness only flags and real time, with many defects at a time.
 * A defect may then survive only if its catalogue entry states the reason. A sample is drawn by
 * `--sample 60` (`--seed` repeats the selection), and `--rate 4` runs it at four times the speed.
 */
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Rng } from '../../src/sim/random.ts';
import { defects } from '../defects/catalogue.ts';
import type { Defect } from '../defects/planted.ts';
import { isPoolProcess, runInPool, serveTasks } from '../testkit/worker-pool.ts';
import { type Means, tryDefect, withControl } from './kill.ts';
import { isExpected, rowOf, type Tried, verdictOf } from './matrix.ts';

const processes = 2;
/** Defects that one process tries at a time without a control port: the harness then mostly waits. */
const defectsAtOnce = 24;
/** The same in the repetition, where a busy machine must not delay requests. */
const repeatedAtOnce = 8;

interface Task {
  readonly defect: Defect;
  readonly means: Means;
  /** True if the cases of other rules run when no case of the defect's rule fails. */
  readonly looksElsewhere: boolean;
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
  const hasControl = !values['without-control-port'];
  const rate = Number(values.rate);
  const isNamed = ({ name, rule }: Defect) =>
    parts.some((part) => name.includes(part) || rule === part);
  const named = parts.length === 0 ? defects : defects.filter(isNamed);
  const isSample = values.sample !== undefined;
  const chosen = isSample ? drawn(named, Number(values.sample), Number(values.seed)) : named;
  if (isSample) console.log(`${chosen.length} of ${named.length} defects, --seed ${values.seed}`);
  const startedMs = performance.now();
  const run = (
    defectsToTry: readonly Defect[],
    tasksAtOnce: number,
    means: Means,
    looksElsewhere: boolean,
  ) =>
    runInPool<Task, Tried>({
      script: fileURLToPath(import.meta.url),
      processes,
      tasksAtOnce,
      tasks: defectsToTry.map((defect) => ({ defect, means, looksElsewhere })),
      lost: ({ defect }) => ({ defect, error: 'its process ended' }),
      onDone: (tried) => console.log(rowOf(tried, hasControl)),
    });
  let tried = hasControl
    ? await run(chosen, 1, withControl, true)
    : await run(chosen, defectsAtOnce, { rate }, false);
  const unexpected = () => tried.filter((each) => !isExpected(each, hasControl));
  const repeated = unexpected().map(({ defect }) => defect);
  if (!hasControl && repeated.length > 0) {
    // A busy machine delays requests, so fewer cases can judge. Repeats only these, in real time.
    console.log(`\nonce more, in real time: ${repeated.map(({ name }) => name).join(', ')}`);
    const second = await run(repeated, repeatedAtOnce, {}, true);
    tried = tried.map(
      (first) => second.find(({ defect }) => defect.name === first.defect.name) ?? first,
    );
  }
  for (const { defect, kill, error } of unexpected()) {
    const { name, rule, unseen } = defect;
    const survives = unseen === undefined ? `no case of ${rule} fails` : `seen, though "${unseen}"`;
    console.log(`\n${name}: ${error ?? survives}`);
    for (const line of kill?.verdicts ?? []) console.log(`  ${line}`);
    if ((kill?.elsewhere.length ?? 0) > 0)
      console.log(`  elsewhere: ${kill?.elsewhere.join(', ')}`);
  }
  const count = (verdict: string) =>
    tried.filter((each) => verdictOf(each, hasControl) === verdict).length;
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const unseen = hasControl ? '' : ` without a control port, ${count('unseen')} cannot be seen so`;
  console.log(
    `\n${count('caught')} of ${chosen.length} defects caught by a case of their rule${unseen}, ${unexpected().length} wrong; ${seconds} s`,
  );
  return unexpected().length === 0 && chosen.length > 0 ? 0 : 1;
}

/** Draws `count` different defects. */
function drawn(some: readonly Defect[], count: number, seed: number): readonly Defect[] {
  const rng = Rng.stream(seed, 'defects');
  const left = [...some];
  const sample: Defect[] = [];
  while (left.length > 0 && sample.length < count)
    sample.push(...left.splice(rng.uint32() % left.length, 1));
  return sample;
}
