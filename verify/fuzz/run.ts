/**
 * A fuzz run: conversations in chunks, each with its own seed and a freshly reset world, played by
 * several workers at once. The seed determines the inputs, but not the order in which the workers'
 * requests arrive.
 */

import fc from 'fast-check';
import type { TransportKind } from '../../src/http/transport/open-transport.ts';
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
  /** After the warm-up, and at the end. */
  readonly rssBytes: readonly [number, number];
}

export class FuzzFailure extends Error {
  override readonly name = 'FuzzFailure';
}

const workersAtOnce = 4;
const conversationsPerChunk = 40;
const warmUpShare = 0.2;
const lastOutputWithinMs = 200;
const reportEveryMs = 30_000;

export async function fuzz(plan: FuzzPlan, served: Served): Promise<FuzzReport> {
  const { requests, seed, transport, chunk: only, onProgress } = plan;
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
  const goesOn = () => only !== undefined || tally.requests < requests;
  try {
    let warmRss = await rssOf(first);
    for (let chunk = only ?? 0; tally.requests < requests; chunk++) {
      const isWarm = tally.requests < warmUpShare * requests;
      const how = { seed: seed * 1_000_000 + chunk, numRuns: conversationsPerChunk };
      await first.reset(facts.revokedKeyId);
      await playAll(fc.sample(arbitrary, how), workers, served, goesOn).catch((error: unknown) => {
        const again = `npm run test:deep -- 0 ${seed} --fuzz 1 --transport ${transport} --chunk ${chunk}`;
        const text = error instanceof Error ? error.message : String(error);
        throw new FuzzFailure(`${text}\nseed ${seed}, chunk ${chunk}; again with: ${again}`);
      });
      if (isWarm) warmRss = await rssOf(first);
      if (only !== undefined) break;
    }
    return { ...tally, seconds: seconds(), rssBytes: [warmRss, await rssOf(first)] };
  } finally {
    clearInterval(timer);
    for (const worker of workers) worker.close();
  }
}

/** Plays the conversations by all workers; a failure names what was played at the same time. */
async function playAll(
  all: readonly Conversation[],
  workers: readonly FuzzWorker[],
  served: Served,
  goesOn: () => boolean,
): Promise<void> {
  const playing = new Set<Conversation>();
  const queue = all.values();
  let hasFailed = false;
  const work = async (worker: FuzzWorker) => {
    for (const each of queue) {
      if (hasFailed || !goesOn()) return;
      playing.add(each);
      try {
        await worker.play(each);
        const complaint = served.complaint();
        if (complaint !== undefined) throw new Error(complaint);
      } catch (error) {
        hasFailed = true;
        playing.delete(each);
        // The exit of a process is noticed later than the end of its connections.
        await new Promise((resolve) => setTimeout(resolve, lastOutputWithinMs));
        const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
        const simultaneous = [...playing].map((one) => `at the same time ${describe(one)}`);
        const lines = [served.complaint(), why, describe(each), ...simultaneous];
        throw new Error(lines.filter(Boolean).join('\n'));
      }
      playing.delete(each);
    }
  };
  await Promise.all(workers.map(work));
}

async function rssOf(worker: FuzzWorker): Promise<number> {
  const state = await worker.askControl(rowOf('simulator.state'));
  return (state as { memory: { rss_bytes: number } }).memory.rss_bytes;
}
