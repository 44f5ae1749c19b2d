/**
 * `npm run conform:defects [-- part-of-a-name …]`: the kill matrix. Prints every defect, the rule
 * that it breaks and the cases that fail; exit 1 where one survives. `--without-levers` gives the
 * harness flags and real time only, many defects at a time, and prints why each survivor cannot be
 * seen from outside.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Defect, defects } from '../../src/defects/catalogue.ts';
import { isPoolProcess, runInPool, serveTasks } from '../testkit/worker-pool.ts';
import { type Kill, type Means, tryDefect } from './kill.ts';

/** The harness is bound by the processor with levers, and mostly waits without. */
const processes = 2;
const eachWithoutLevers = 16;

interface Task {
  readonly defect: Defect;
  readonly means: Means;
}

interface Tried {
  readonly name: string;
  readonly kill?: Kill;
  readonly error?: string;
}

if (isPoolProcess) serveTasks(tryTask);
else process.exitCode = await printMatrix(process.argv.slice(2));

async function tryTask({ defect, means }: Task): Promise<Tried> {
  const { name } = defect;
  try {
    return { name, kill: await tryDefect(defect, means) };
  } catch (error) {
    return { name, error: String(error) };
  }
}

async function printMatrix(argv: string[]): Promise<number> {
  const { values, positionals: parts } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { 'without-levers': { type: 'boolean', default: false } },
  });
  const means = values['without-levers'] ? 'flags' : 'levers';
  const isChosen = ({ name, rule }: Defect) => parts.some((p) => name.includes(p) || rule === p);
  const chosen = parts.length === 0 ? defects : defects.filter(isChosen);
  const startedMs = performance.now();
  const tried = await runInPool<Task, Tried>({
    script: fileURLToPath(import.meta.url),
    processes,
    each: means === 'levers' ? 1 : eachWithoutLevers,
    tasks: chosen.map((defect) => ({ defect, means })),
    lost: ({ defect: { name } }) => ({ name, error: 'its process ended' }),
    onDone: (one) => console.log(row(one)),
  });
  const alive = tried.filter(({ kill }) => (kill?.caughtBy.length ?? 0) === 0);
  for (const { name, kill, error } of alive) {
    console.log(`\n${name}: ${error ?? `no case of ${kill?.rule} fails`}`);
    for (const line of kill?.verdicts ?? []) console.log(`  ${line}`);
    if ((kill?.elsewhere.length ?? 0) > 0)
      console.log(`  elsewhere: ${kill?.elsewhere.join(', ')}`);
  }
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const caught = chosen.length - alive.length;
  const how = means === 'levers' ? '' : ' without levers';
  console.log(
    `\n${caught} of ${chosen.length} defects caught by a case of their rule${how}, ${seconds} s`,
  );
  return alive.length === 0 && chosen.length > 0 ? 0 : 1;
}

function row({ name, kill, error }: Tried): string {
  const rule = kill?.rule.padEnd(8) ?? '';
  const cases = kill?.caughtBy ?? [];
  const verdict =
    cases.length > 0 ? 'caught' : (kill?.elsewhere.length ?? 0) > 0 ? 'ELSEWHERE' : 'ALIVE';
  const shown = cases.length > 0 ? cases.map((id) => id.split('/')[1]).join(', ') : (error ?? '');
  return `${name.padEnd(34)} ${rule} ${verdict.padEnd(9)} ${String(kill?.tookMs ?? 0).padStart(6)} ms  ${shown}`;
}
