/**
 * Spreads tasks over child processes of one script, which serves them with `serveTasks`. Tasks and
 * results travel as JSON.
 */
import { type ChildProcess, fork } from 'node:child_process';

/** A task or a result on its way between processes. */
interface Numbered<T> {
  readonly number: number;
  readonly content: T;
}

export interface PoolPlan<Task, Result> {
  /** The file of the script. */
  readonly script: string;
  readonly processes: number;
  /** Tasks that one process runs at the same time. */
  readonly tasksAtOnce: number;
  readonly tasks: readonly Task[];
  /** The result of a task whose process ended before it answered. */
  readonly lost: (task: Task) => Result;
  readonly onDone: (result: Result) => void;
}

/** True in a process that `runInPool` started. */
export const isPoolProcess = process.send !== undefined;

/** In the child: answers every task that arrives, until the parent disconnects. */
export function serveTasks<Task, Result>(run: (task: Task) => Promise<Result>): void {
  process.on('message', async ({ number, content }: Numbered<Task>) => {
    const result: Numbered<Result> = { number, content: await run(content) };
    process.send?.(result);
  });
}

/** In the parent: resolves with all results, in the order of the tasks. */
export async function runInPool<Task, Result>(plan: PoolPlan<Task, Result>): Promise<Result[]> {
  const results: Result[] = [];
  const queue = plan.tasks.entries();
  const children = Array.from({ length: plan.processes }, () =>
    fork(plan.script, { execArgv: process.execArgv }),
  );
  const work = async (child: ChildProcess): Promise<void> => {
    const open = new Map<number, (result?: Result) => void>();
    child.on('message', ({ number, content }: Numbered<Result>) => open.get(number)?.(content));
    child.on('exit', () => {
      for (const finish of open.values()) finish();
    });
    const workOn = async (): Promise<void> => {
      for (const [number, content] of queue) {
        const result = await new Promise<Result | undefined>((resolve) => {
          open.set(number, resolve);
          if (child.connected) child.send({ number, content });
          else resolve(undefined);
        });
        open.delete(number);
        results[number] = result ?? plan.lost(content);
        plan.onDone(results[number]);
      }
    };
    await Promise.all(Array.from({ length: plan.tasksAtOnce }, workOn));
  };
  try {
    await Promise.all(children.map(work));
    return results;
  } finally {
    for (const child of children) if (child.connected) child.disconnect();
  }
}
