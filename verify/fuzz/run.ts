/**
 * A fuzz run: conversations in chunks, each with its own seed and a freshly reset world, played by
 * several workers at once. The seed determines the inputs, but not the order in which the workers'
 * requests arrive.
 */
import fc from 'fast-check';
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { rowOf } from './control-rows.ts';
import { type Conversation, conversations, describe } from './conversation.ts';
import { gatherFacts } from './facts.ts';
import type { Served } from './served.ts';
import { FuzzWorker, type Tally } from './worker.ts';

export interface FuzzPlan {
  readonly requests: number;
  readonly seed: number;
  readonly transport: TransportKind;
  /** Only this chunk. */
  readonly chunk?: number | undefined;
  readonly onProgress?: ((line: string) => void) | undefined;
}

export interface FuzzReport extends Tally {
  readonly seconds: number;
  /** The server's memory after the warm-up, and at the end. */
  readonly rssBytes: readonly [number, number];
}

export class FuzzFailure extends Error {
  override readonly name = 'FuzzFailure';
}

const workersAtOnce = 4;
const conversationsPerChunk = 40;
/** The share of the requests before the first measurement of memory. */
const warmUpShare = 0.2;
/** How long after the end of its connections a crashed process is noticed. */
const lastOutputWithinMs = 200;
const reportEveryMs = 30_000;

export async function fuzz(plan: FuzzPlan, served: Served): Promise<FuzzReport> {
  const { requests, seed, transport, chunk: onlyChunk, onProgress } = plan;
  const tally: Tally = { requests: 0, connections: 0, closed: 0, replies: new Map() };
  const newWorker = () => new FuzzWorker(served.ready, transport, tally);
  const first = newWorker();
  const workers = [first, ...Array.from({ length: workersAtOnce - 1 }, newWorker)];
  const facts = gatherFacts();
  const arbitrary = conversations(facts);
  const startedMs = performance.now();
  const seconds = () => (performance.now() - startedMs) / 1_000;
  const timer = setInterval(() => {
    const done = `${tally.requests} of ${requests} requests, ${Math.round(seconds())} s`;
    onProgress?.(`${transport}: ${done}`);
  }, reportEveryMs);
  // A replayed chunk is played completely.
  const hasMore = () => onlyChunk !== undefined || tally.requests < requests;
  try {
    let warmRss = await rssOf(first);
    for (let chunk = onlyChunk ?? 0; tally.requests < requests; chunk++) {
      const isWarm = tally.requests < warmUpShare * requests;
      const sampling = { seed: seed * 1_000_000 + chunk, numRuns: conversationsPerChunk };
      await first.reset(facts.revokedKeyId);
      await playAll(fc.sample(arbitrary, sampling), workers, served, hasMore).catch(
        (error: unknown) => {
          const command = `npm run test:deep -- 0 ${seed} --fuzz 1 --transport ${transport} --chunk ${chunk}`;
          const text = error instanceof Error ? error.message : String(error);
          throw new FuzzFailure(`${text}\nseed ${seed}, chunk ${chunk}; again with: ${command}`);
        },
      );
      if (isWarm) warmRss = await rssOf(first);
      if (onlyChunk !== undefined) break;
    }
    return { ...tally, seconds: seconds(), rssBytes: [warmRss, await rssOf(first)] };
  } finally {
    clearInterval(timer);
    for (const worker of workers) worker.close();
  }
}

/** Plays the conversations by all workers; a failure names what was played at the same time. */
async function playAll(
  conversationsToPlay: readonly Conversation[],
  workers: readonly FuzzWorker[],
  served: Served,
  hasMore: () => boolean,
): Promise<void> {
  const playing = new Set<Conversation>();
  const queue = conversationsToPlay.values();
  let hasFailed = false;
  const work = async (worker: FuzzWorker) => {
    for (const conversation of queue) {
      if (hasFailed || !hasMore()) return;
      playing.add(conversation);
      try {
        await worker.play(conversation);
        const complaint = served.complaint();
        if (complaint !== undefined) throw new Error(complaint);
      } catch (error) {
        hasFailed = true;
        playing.delete(conversation);
        await new Promise((resolve) => setTimeout(resolve, lastOutputWithinMs));
        const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
        const simultaneous = [...playing].map((other) => `at the same time ${describe(other)}`);
        const lines = [served.complaint(), why, describe(conversation), ...simultaneous];
        throw new Error(lines.filter(Boolean).join('\n'));
      }
      playing.delete(conversation);
    }
  };
  await Promise.all(workers.map(work));
}

async function rssOf(worker: FuzzWorker): Promise<number> {
  const state = await worker.askControl(rowOf('simulator.state'));
  return (state as { memory: { rss_bytes: number } }).memory.rss_bytes;
}
