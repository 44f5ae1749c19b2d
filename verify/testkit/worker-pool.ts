/**
 * Spreads tasks over child processes of one script, which serves them with `serveTasks`. Tasks and
 * results travel as JSON.
 */
import { type ChildProcess, fork } from 'node:child_process';

interface Numbered<T> {
  readonly number: number;
  readonly content: T;
}

export interface PoolPlan<Task, Done> {
  /** The file of the script. */
  readonly script: string;
  readonly processes: number;
  /** Tasks that one process runs at the same time. */
  readonly each: number;
  readonly tasks: readonly Task[];
  /** The result of a task whose process ended before it answered. */
  readonly lost: (task: Task) => Done;
  readonly onDone: (done: Done) => void;
}

/** True in a process that `runInPool` started. */
export const isPoolProcess = process.send !== undefined;

/** In the child: answers every task that arrives, until the parent disconnects. */
export function serveTasks<Task, Done>(run: (task: Task) => Promise<Done>): void {
  process.on('message', async ({ number, content }: Numbered<Task>) => {
    const done: Numbered<Done> = { number, content: await run(content) };
    process.send?.(done);
  });
}

/** In the parent: resolves with all results, in the order of the tasks. */
export async function runInPool<Task, Done>(plan: PoolPlan<Task, Done>): Promise<Done[]> {
  const results: Done[] = [];
  const queue = plan.tasks.entries();
  const children = Array.from({ length: plan.processes }, () =>
    fork(plan.script, { execArgv: process.execArgv }).setMaxListeners(0),
  );
  const work = async (child: ChildProcess): Promise<void> => {
    for (const [number, task] of queue) {
      const done = await ask<Task, Done>(child, { number, content: task }, plan.lost);
      results[number] = done;
      plan.onDone(done);
    }
  };
  try {
    const workers = children.flatMap((child) =>
      Array.from({ length: plan.each }, () => work(child)),
    );
    await Promise.all(workers);
    return results;
  } finally {
    for (const child of children) if (child.connected) child.disconnect();
  }
}

function ask<Task, Done>(
  child: ChildProcess,
  task: Numbered<Task>,
  lost: (task: Task) => Done,
): Promise<Done> {
  return new Promise((resolve) => {
    const finish = (done: Done): void => {
      child.off('exit', onExit);
      child.off('message', onMessage);
      resolve(done);
    };
    const onExit = (): void => finish(lost(task.content));
    const onMessage = ({ number, content }: Numbered<Done>): void => {
      if (number === task.number) finish(content);
    };
    child.on('exit', onExit);
    child.on('message', onMessage);
    if (child.connected) child.send(task);
    else onExit();
  });
}
