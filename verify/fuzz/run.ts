/**
 * A fuzz run: conversations in chunks, each with its own seed and a freshly reset world, several at
 * once. The seed determines the inputs, but not the order in which the requests arrive.
 */
import fc from 'fast-check';
import { workOn } from '#io/event-loop.ts';
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { rowOf } from './control-rows.ts';
import { type Conversation, conversations, textOf } from './conversations.ts';
import { gatherFacts, type Served } from './served.ts';
import { FuzzWorker } from './worker.ts';

const conversationsAtOnce = 4;
const conversationsPerChunk = 12;
/** The longest time between the end of its connections and the last output of a crashed process. */
const lastOutputWithinMs = 200;
const reportEveryMs = 30_000;

/** Sends this many requests. Returns a line that sums them up; throws at the first failure. */
export async function fuzz(
  served: Served,
  transport: TransportKind,
  requests: number,
  seed: number,
): Promise<string> {
  const worker = new FuzzWorker(served.ready, transport);
  const arbitrary = conversations(gatherFacts());
  const startedMs = performance.now();
  const report = () => {
    const replies = [...worker.replies].sort(([a], [b]) => a - b).map((count) => count.join(': '));
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    return `${transport}: ${worker.requests} requests, seed ${seed}, ${seconds} s; replies ${replies.join(', ')}`;
  };
  const timer = setInterval(() => console.log(report()), reportEveryMs);
  try {
    for (let chunk = 0; worker.requests < requests; chunk++) {
      // The seed of the first chunk is that of the run, so that a run of one chunk repeats any.
      const chunkSeed = (seed + chunk * 1_000_003) % 1_000_000_000;
      await worker.askControl(rowOf('simulator.reset'));
      const drawn = fc.sample(arbitrary, { seed: chunkSeed, numRuns: conversationsPerChunk });
      const why = await playAll(drawn, worker, served);
      if (why === undefined) continue;
      const again = `SMSTWIN_SEED=${chunkSeed} npm run test:deep -- -t ${transport}`;
      throw new Error(`${why}\n${transport}, seed ${chunkSeed}; again with: ${again}`);
    }
    return `${report()}: sound`;
  } finally {
    clearInterval(timer);
  }
}

/**
 * Plays the conversations, several at once. Returns the first failure with the conversation that
 * met it; another one at that time may have caused it.
 */
async function playAll(
  drawn: readonly Conversation[],
  worker: FuzzWorker,
  served: Served,
): Promise<string | undefined> {
  let failure: string | undefined;
  await workOn(drawn.values(), conversationsAtOnce, async (conversation) => {
    if (failure !== undefined) return;
    try {
      await worker.play(conversation);
      if (served.complaint() === undefined) return;
      failure ??= `${served.complaint()}\n${textOf(conversation)}`;
    } catch (error) {
      await new Promise((resolve) => setTimeout(resolve, lastOutputWithinMs));
      failure ??= `${served.complaint() ?? error}\n${textOf(conversation)}`;
    }
  });
  return failure;
}
