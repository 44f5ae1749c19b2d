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
    fork(plan.script, { execArgv: process.execArgv }).setMaxListeners(0),
  );
  const work = async (child: ChildProcess): Promise<void> => {
    for (const [number, task] of queue) {
      const result = await ask<Task, Result>(child, { number, content: task }, plan.lost);
      results[number] = result;
      plan.onDone(result);
    }
  };
  try {
    const workers = children.flatMap((child) =>
      Array.from({ length: plan.tasksAtOnce }, () => work(child)),
    );
    await Promise.all(workers);
    return results;
  } finally {
    for (const child of children) if (child.connected) child.disconnect();
  }
}

function ask<Task, Result>(
  child: ChildProcess,
  task: Numbered<Task>,
  lost: (task: Task) => Result,
): Promise<Result> {
  return new Promise((resolve) => {
    const finish = (result: Result): void => {
      child.off('exit', onExit);
      child.off('message', onMessage);
      resolve(result);
    };
    const onExit = (): void => finish(lost(task.content));
    const onMessage = ({ number, content }: Numbered<Result>): void => {
      if (number === task.number) finish(content);
    };
    child.on('exit', onExit);
    child.on('message', onMessage);
    if (child.connected) child.send(task);
    else onExit();
  });
}
