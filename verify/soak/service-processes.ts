/**
 * The successive processes of a soak: they restart from the journal, or from a snapshot with a new
 * journal.
 */
import { join } from 'node:path';
import type { Holdings } from '../connections/probe.ts';
import { type Ended, ServedProcess } from '../testkit/served-process.ts';
import type { Caller } from './caller.ts';
import { Control } from './control.ts';

const endWithinMs = 5_000;

export interface ProcessesPlan {
  readonly folder: string;
  readonly flags: readonly string[];
  readonly caller: Caller;
  readonly complain: (text: string) => void;
  /** Loads everything once, so that lazily created objects exist before the measurement. */
  readonly warmUp: (served: ServedProcess) => Promise<void>;
}

export class ServiceProcesses {
  readonly #plan: ProcessesPlan;
  readonly journals: string[] = [];
  #served: ServedProcess | undefined;
  /** The resources of the present process before the load. */
  atStart: Holdings | undefined;
  longestEndMs = 0;

  constructor(plan: ProcessesPlan) {
    this.#plan = plan;
  }

  get served(): ServedProcess {
    if (this.#served === undefined) throw new Error('no process is running');
    return this.#served;
  }

  get control(): Control {
    return new Control(this.#plan.caller, this.served.controlUrl);
  }

  /** Starts a new process with a new journal, warms it up and resets it. */
  async begin(): Promise<void> {
    this.journals.push(join(this.#plan.folder, `chapter-${this.journals.length}.ndjson`));
    await this.#start();
    await this.#plan.warmUp(this.served);
    await this.control.reset();
    this.atStart = await this.holdings();
  }

  /** Restarts from the journal of the process that has ended. */
  async resume(): Promise<void> {
    await this.#start();
  }

  /** Restores a snapshot in a new process. */
  async moveOn(): Promise<void> {
    await this.control.hold();
    const snapshot = await this.control.snapshot();
    await this.end('SIGTERM');
    await this.begin();
    await this.control.restore(snapshot);
    const restored = await this.control.snapshot();
    if (restored !== snapshot) this.#plan.complain('the snapshot after the restore differs');
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { served } = this;
    const startedMs = performance.now();
    served.signal(signal);
    const ended: Ended = await served.ended;
    const tookMs = performance.now() - startedMs;
    // A process killed while writing leaves half a line, which its successor reports.
    const errors = served.errors.replace(/.*: the last line is incomplete and was ignored\n/, '');
    if (errors !== '') this.#plan.complain(`stderr: ${errors.slice(0, 500)}`);
    if (signal === 'SIGKILL') return;
    this.longestEndMs = Math.max(this.longestEndMs, tookMs);
    if (ended.code !== 0) this.#plan.complain(`SIGTERM: exit code ${ended.code} ${ended.signal}`);
    if (tookMs > endWithinMs) this.#plan.complain(`SIGTERM: ended after ${tookMs} ms`);
  }

  /** The resources of the process after the soak's connections have closed. */
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
