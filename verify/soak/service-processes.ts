/**
 * The lives of the served service: processes that end and are started again from the journal, and snapshots that
 * go on in a fresh process with a journal of its own.
 */
import { join } from 'node:path';
import type { Holdings } from '../connections/probe.ts';
import { type Ended, ServedProcess } from '../testkit/served-process.ts';
import type { Caller } from './caller.ts';
import { Levers } from './levers.ts';

const endWithinMs = 5_000;

export interface LifePlan {
  readonly folder: string;
  readonly flags: readonly string[];
  readonly caller: Caller;
  readonly complain: (text: string) => void;
  /** A load of everything once, so that what is made on first use is there before anything is measured. */
  readonly warmUp: (served: ServedProcess) => Promise<void>;
}

export class Life {
  readonly #plan: LifePlan;
  readonly journals: string[] = [];
  #served: ServedProcess | undefined;
  /** What the present process held before the load. */
  atStart: Holdings | undefined;
  longestEndMs = 0;

  constructor(plan: LifePlan) {
    this.#plan = plan;
  }

  get served(): ServedProcess {
    if (this.#served === undefined) throw new Error('nothing is served');
    return this.#served;
  }

  get levers(): Levers {
    return new Levers(this.#plan.caller, this.served.controlUrl);
  }

  /** A fresh process with a fresh journal, warmed up and reset. */
  async begin(): Promise<void> {
    this.journals.push(join(this.#plan.folder, `chapter-${this.journals.length}.ndjson`));
    await this.#start();
    await this.#plan.warmUp(this.served);
    await this.levers.reset();
    this.atStart = await this.holdings();
  }

  /** Goes on from the journal of the process that has ended. */
  async resume(): Promise<void> {
    await this.#start();
  }

  /** A snapshot, restored in a fresh process. */
  async moveOn(): Promise<void> {
    await this.levers.hold();
    const snapshot = await this.levers.snapshot();
    await this.end('SIGTERM');
    await this.begin();
    await this.levers.restore(snapshot);
    const restored = await this.levers.snapshot();
    if (restored !== snapshot) this.#plan.complain('a restored snapshot is another one');
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { served } = this;
    const startedMs = performance.now();
    served.signal(signal);
    const ended: Ended = await served.ended;
    const tookMs = performance.now() - startedMs;
    // A process that was killed while it wrote has left half a line, and its heir tells of it.
    const errors = served.errors.replace(/.*: the last line is incomplete and was ignored\n/, '');
    if (errors !== '') this.#plan.complain(`stderr: ${errors.slice(0, 500)}`);
    if (signal === 'SIGKILL') return;
    this.longestEndMs = Math.max(this.longestEndMs, tookMs);
    if (ended.code !== 0) this.#plan.complain(`SIGTERM: exit code ${ended.code} ${ended.signal}`);
    if (tookMs > endWithinMs) this.#plan.complain(`SIGTERM: ended after ${tookMs} ms`);
  }

  /** What the process holds once every connection of ours is gone. */
  async holdings(): Promise<Holdings> {
    this.#plan.caller.leave();
    return this.served.settledHoldings();
  }

  async kill(): Promise<void> {
    await this.#served?.kill();
  }

  async #start(): Promise<void> {
    const flags = [...this.#plan.flags, '--journal', this.journals.at(-1) ?? ''];
    this.#served = await ServedProcess.start(this.#plan.folder, flags);
  }
}
