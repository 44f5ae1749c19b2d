/**
 * The program around a Node library, run in a child process: `program.ts <library>
 * <configuration>`. Reads its tasks as JSON, and writes one line for each message with what it
 * reports about it. `program.py` does the same in Python.
 */
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Configuration } from './clients/client.ts';
import type { Task } from './run.ts';

const [library, configuration = ''] = process.argv.slice(2);
const module: Record<string, Configuration> = await import(`./clients/${library}.ts`);
const { tasks, pauseSeconds } = JSON.parse(await text(process.stdin)) as {
  readonly tasks: readonly Task[];
  readonly pauseSeconds: number;
};
await Promise.all(tasks.map(perform));
process.exit();

async function perform({ fault, service, messages }: Task): Promise<void> {
  const send = module[configuration]?.(service);
  for (const message of messages) {
    let reported = 'failed';
    try {
      const reply = (await send?.(message)) as { message_id?: unknown } | undefined;
      if (typeof reply?.message_id === 'string') reported = 'accepted';
    } catch {
      // The library has given up.
    }
    process.stdout.write(`${JSON.stringify({ fault, ...message, reported })}\n`);
    await sleep(pauseSeconds * 1_000);
  }
}
