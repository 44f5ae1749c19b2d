/**
 * A fuzz run: conversations in chunks, each with its own seed and a freshly reset world, played by
 * several workers at once. The seed determines the inputs, but not the order in which the workers'
 * requests arrive.
 */

import fc from 'fast-check';
import type { TransportKind } from '../../src/http/transport/open-transport.ts';
import { rowOf } from './control-rows.ts';
import { type Conversation, conversations, describe } from './conversation.ts';
import { type Facts, gatherFacts } from './facts.ts';
import type { Served } from './served.ts';
import { FuzzWorker, type Port, type Tally } from './worker.ts';

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
  const tally: Tally = { requests: 0, connections: 0, closed: 0, replies: new Map() };
  const { base_url: service, control_url: control } = served.ready;
  const portOf = (url: string | null) => Number(new URL(url ?? '').port);
  const ports = { service: portOf(service), control: portOf(control) } satisfies Record<
    Port,
    number
  >;
  const workers = Array.from(
    { length: workersAtOnce },
    () => new FuzzWorker(ports, plan.transport, tally),
  );
  try {
    return await new Run(plan, served, workers, tally).run();
  } finally {
    for (const worker of workers) worker.close();
  }
}

class Run {
  readonly #plan: FuzzPlan;
  readonly #served: Served;
  readonly #workers: readonly FuzzWorker[];
  readonly #tally: Tally;
  readonly #startedMs = performance.now();
  #reportedMs = performance.now();

  constructor(plan: FuzzPlan, served: Served, workers: readonly FuzzWorker[], tally: Tally) {
    this.#plan = plan;
    this.#served = served;
    this.#workers = workers;
    this.#tally = tally;
  }

  async run(): Promise<FuzzReport> {
    const { requests, chunk } = this.#plan;
    const [first] = this.#workers;
    if (first === undefined) throw new Error('no worker');
    const facts = gatherFacts();
    const arbitrary = conversations(facts);
    let warmRss = await rssOf(first);
    for (let i = chunk ?? 0; this.#tally.requests < requests; i++) {
      const isWarm = this.#tally.requests < warmUpShare * requests;
      await this.#chunk(i, arbitrary, facts, first);
      if (isWarm) warmRss = await rssOf(first);
      this.#progress();
      if (chunk !== undefined) break;
    }
    const seconds = (performance.now() - this.#startedMs) / 1000;
    return { ...this.#tally, seconds, rssBytes: [warmRss, await rssOf(first)] };
  }

  async #chunk(
    number: number,
    arbitrary: fc.Arbitrary<Conversation>,
    facts: Facts,
    first: FuzzWorker,
  ): Promise<void> {
    const all = fc.sample(arbitrary, {
      seed: this.#plan.seed * 1_000_000 + number,
      numRuns: conversationsPerChunk,
    });
    await first.reset(facts.revokedKeyId);
    const { requests } = this.#plan;
    // A replayed chunk is played completely.
    const isAlone = this.#plan.chunk !== undefined;
    const playing = new Map<FuzzWorker, Conversation>();
    let next = 0;
    let hasFailed = false;
    await Promise.all(
      this.#workers.map(async (worker) => {
        const goesOn = () => !hasFailed && (isAlone || this.#tally.requests < requests);
        for (let each = all[next++]; each !== undefined && goesOn(); each = all[next++]) {
          playing.set(worker, each);
          try {
            await worker.play(each);
            const complaint = this.#served.complaint();
            if (complaint !== undefined) throw new Error(complaint);
          } catch (error) {
            hasFailed = true;
            playing.delete(worker);
            // The exit of a process is noticed later than the end of its connections.
            await new Promise((resolve) => setTimeout(resolve, lastOutputWithinMs));
            throw this.#failure(number, error, each, [...playing.values()]);
          }
          playing.delete(worker);
        }
      }),
    );
  }

  #failure(
    chunk: number,
    error: unknown,
    failed: Conversation,
    simultaneous: readonly Conversation[],
  ): FuzzFailure {
    const { seed, transport } = this.#plan;
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return new FuzzFailure(
      [
        this.#served.complaint() ?? '',
        why,
        describe(failed),
        ...simultaneous.map((each) => `at the same time ${describe(each)}`),
        `seed ${seed}, chunk ${chunk}; again with: npm run test:deep -- 0 ${seed} --fuzz 1 --transport ${transport} --chunk ${chunk}`,
      ]
        .filter(Boolean)
        .join('\n'),
    );
  }

  #progress(): void {
    if (performance.now() - this.#reportedMs < reportEveryMs) return;
    this.#reportedMs = performance.now();
    const seconds = Math.round((performance.now() - this.#startedMs) / 1000);
    const { requests, transport } = this.#plan;
    this.#plan.onProgress?.(
      `${transport}: ${this.#tally.requests} of ${requests} requests, ${seconds} s`,
    );
  }
}

async function rssOf(worker: FuzzWorker): Promise<number> {
  const state = await worker.askControl(rowOf('simulator.state'));
  return (state as { memory: { rss_bytes: number } }).memory.rss_bytes;
}
