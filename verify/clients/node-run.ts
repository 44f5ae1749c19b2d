/**
 * Runs a Node client on one clock with a simulator of its own, under conditions that the seed
 * draws.
 */
import type { Simulator } from '#src/api.ts';
import type { ClientClock } from '#src/testing/client-clock.ts';
import { type Job, type Message, type NodeClient, sleep } from './client.ts';
import { type Conditions, conditionsFor, impose } from './conditions.ts';
import { intentLine, type Run, runOf } from './trial.ts';

const longestDelayMs = { wrong: 8_000, right: 8_000 };

export async function runNodeClient(
  client: NodeClient,
  seed: number,
  simulator: Simulator,
  clock: ClientClock,
): Promise<Run> {
  const conditions = conditionsFor(client, seed, longestDelayMs);
  impose(conditions, simulator);
  if (client.onSocket === true) {
    await simulator.listen({ transport: client.onNodeServer === true ? 'node' : 'hyperexpress' });
  }
  const intents: string[] = [];
  const report: Job['report'] = (message, requestId, reported) => {
    intents.push(intentLine(message, requestId, reported));
  };
  const { latencyMs, rng } = conditions;
  await clock.until(() =>
    client.run({
      baseUrl: simulator.baseUrl || 'http://sms.example',
      fetch: withLatency(simulator.fetch, () => rng.below(latencyMs)),
      key: simulator.readyFile().accounts[0]?.api_key ?? '',
      messages: messagesOf(conditions),
      random: () => rng.fraction(),
      report,
      simulator,
    }),
  );
  return runOf(simulator, intents);
}

export function messagesOf({ messages }: Pick<Conditions, 'messages'>): Message[] {
  return Array.from({ length: messages }, (_, at) => ({
    intent: `order-${at + 1}`,
    to: '+12025550123',
    from: '+12025550101',
    message: `Order ${at + 1} is on its way`,
  }));
}

/** Requests and replies that take their time on the way. */
function withLatency(fetch: Job['fetch'], latencyMs: () => number): Job['fetch'] {
  return async (input, init) => {
    await sleep(latencyMs());
    const reply = await fetch(input, init);
    await sleep(latencyMs());
    return reply;
  };
}
