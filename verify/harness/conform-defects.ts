/**
 * `npm run conform:defects [-- part-of-a-name …]`: the kill matrix. Prints every defect, the rule
 * that it breaks and the cases that fail; exits with 1 if a defect survives. `--without-control-port`
 * gives the harness only flags and real time, with many defects at a time. A defect may then
 * survive only if its catalogue entry states the reason. A sample is drawn by `--sample 60`
 * (`--seed` repeats the selection), and `--rate 4` runs it at four times the speed.
 */
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Rng } from '../../src/sim/random.ts';
import { defects } from '../defects/catalogue.ts';
import type { Defect } from '../defects/planted.ts';
import { isPoolProcess, runInPool, serveTasks } from '../testkit/worker-pool.ts';
import { type Means, tryDefect, withControl } from './kill.ts';
import { isAsItShouldBe, rowOf, type Tried, verdictOf } from './matrix.ts';

/** With a control port the CPU limits the harness; without one it mostly waits. */
const processes = 2;
const eachWithoutControl = 24;

interface Task {
  readonly defect: Defect;
  readonly means: Means;
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
  const isNamed = ({ name, rule }: Defect) => parts.some((p) => name.includes(p) || rule === p);
  const named = parts.length === 0 ? defects : defects.filter(isNamed);
  const isSample = values.sample !== undefined;
  const chosen = isSample ? drawn(named, Number(values.sample), Number(values.seed)) : named;
  if (isSample) console.log(`${chosen.length} of ${named.length} defects, --seed ${values.seed}`);
  const startedMs = performance.now();
  const run = (some: readonly Defect[], each: number, means: Means, looksElsewhere: boolean) =>
    runInPool<Task, Tried>({
      script: fileURLToPath(import.meta.url),
      processes,
      each,
      tasks: some.map((defect) => ({ defect, means, looksElsewhere })),
      lost: ({ defect }) => ({ defect, error: 'its process ended' }),
      onDone: (one) => console.log(rowOf(one, hasControl)),
    });
  let tried = hasControl
    ? await run(chosen, 1, withControl, true)
    : await run(chosen, eachWithoutControl, { rate }, false);
  const wrong = () => tried.filter((one) => !isAsItShouldBe(one, hasControl));
  const repeated = wrong().map(({ defect }) => defect);
  if (!hasControl && repeated.length > 0) {
    // A busy machine delays requests, so fewer cases can judge. Repeats only these, in real time.
    console.log(`\nonce more, in real time: ${repeated.map(({ name }) => name).join(', ')}`);
    const second = await run(repeated, 8, {}, true);
    tried = tried.map((one) => second.find(({ defect }) => defect.name === one.defect.name) ?? one);
  }
  for (const { defect, kill, error } of wrong()) {
    const { name, rule, unseen } = defect;
    const survives = unseen === undefined ? `no case of ${rule} fails` : `seen, though "${unseen}"`;
    console.log(`\n${name}: ${error ?? survives}`);
    for (const line of kill?.verdicts ?? []) console.log(`  ${line}`);
    if ((kill?.elsewhere.length ?? 0) > 0)
      console.log(`  elsewhere: ${kill?.elsewhere.join(', ')}`);
  }
  const count = (verdict: string) =>
    tried.filter((one) => verdictOf(one, hasControl) === verdict).length;
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const unseen = hasControl ? '' : ` without a control port, ${count('unseen')} cannot be seen so`;
  console.log(
    `\n${count('caught')} of ${chosen.length} defects caught by a case of their rule${unseen}, ${wrong().length} wrong; ${seconds} s`,
  );
  return wrong().length === 0 && chosen.length > 0 ? 0 : 1;
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
