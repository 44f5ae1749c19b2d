/**
 * `npm run conform:defects [-- part-of-a-name …]`: the kill matrix. Every defect, the rule that it breaks, the cases
 * that fail; exit 1 where a defect gets away. Two processes share the work, as the harness is bound by the processor.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { defects } from '../../src/defects/catalogue.ts';
import { type Kill, tryDefect } from './kill.ts';

const workers = 2;
const self = fileURLToPath(import.meta.url);

interface Tried {
  readonly name: string;
  readonly kill?: Kill;
  readonly error?: string;
}

if (process.send === undefined) process.exitCode = await printMatrix(process.argv.slice(2));
else {
  process.on('message', (name) => {
    void tryNamed(String(name)).then((tried) => process.send?.(tried));
  });
}

async function tryNamed(name: string): Promise<Tried> {
  try {
    const defect = defects.find((one) => one.name === name);
    if (defect === undefined) throw new Error('not in the catalogue');
    return { name, kill: await tryDefect(defect) };
  } catch (error) {
    return { name, error: String(error) };
  }
}

async function printMatrix(parts: readonly string[]): Promise<number> {
  const chosen = defects
    .filter(
      ({ name, rule }) => parts.length === 0 || parts.some((p) => name.includes(p) || rule === p),
    )
    .map(({ name }) => name);
  const startedMs = performance.now();
  const queue = chosen.values();
  const tried = await Promise.all(Array.from({ length: workers }, () => work(queue)));
  const byName = new Map(tried.flat().map((one) => [one.name, one]));
  const alive = [...byName.values()].filter(({ kill }) => (kill?.caughtBy.length ?? 0) === 0);
  for (const { name, kill, error } of alive) {
    console.log(`\n${name}: ${error ?? `no case of ${kill?.rule} fails`}`);
    for (const line of kill?.verdicts ?? []) console.log(`  ${line}`);
    if ((kill?.elsewhere.length ?? 0) > 0)
      console.log(`  elsewhere: ${kill?.elsewhere.join(', ')}`);
  }
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const caught = chosen.length - alive.length;
  console.log(
    `\n${caught} of ${chosen.length} defects caught by a case of their rule, ${seconds} s`,
  );
  return alive.length === 0 && chosen.length > 0 ? 0 : 1;
}

async function work(queue: Iterator<string>): Promise<Tried[]> {
  const child = fork(self, { execArgv: process.execArgv });
  const tried: Tried[] = [];
  try {
    for (let next = queue.next(); next.done !== true; next = queue.next()) {
      const one = await ask(child, next.value);
      tried.push(one);
      console.log(row(one));
    }
    return tried;
  } finally {
    child.disconnect();
  }
}

function ask(child: ChildProcess, name: string): Promise<Tried> {
  return new Promise((resolve) => {
    const ended = () => resolve({ name, error: 'its process ended' });
    child.once('exit', ended);
    child.once('message', (tried) => {
      child.off('exit', ended);
      resolve(tried as Tried);
    });
    child.send(name);
  });
}

function row({ name, kill, error }: Tried): string {
  const rule = kill?.rule.padEnd(8) ?? '';
  const cases = kill?.caughtBy ?? [];
  const verdict =
    cases.length > 0 ? 'caught' : (kill?.elsewhere.length ?? 0) > 0 ? 'ELSEWHERE' : 'ALIVE';
  const shown = cases.length > 0 ? cases.map((id) => id.split('/')[1]).join(', ') : (error ?? '');
  return `${name.padEnd(34)} ${rule} ${verdict.padEnd(9)} ${String(kill?.tookMs ?? 0).padStart(6)} ms  ${shown}`;
}
