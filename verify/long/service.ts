/**
 * Starts and ends the successive processes of one service in a long run. They restart from the
 * journal, or from a snapshot with a new journal. Complains if a requested end breaks a promise of
 * `serve`: in time, with exit code 0, and without errors.
 */
import { join } from 'node:path';
import { routeOf } from '#src/operations/table.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';

/** A signal, or the operation `simulator.shutdown`. */
export const endings = ['SIGKILL', 'SIGTERM', 'shutdown'] as const;
export type Ending = (typeof endings)[number];

/** The promise of `serve`: a requested end takes at most this time, with exit code 0. */
const endWithinMs = 5_000;

export interface ServicePlan {
  readonly folder: string;
  readonly flags: readonly string[];
  readonly complain: (text: string) => void;
}

export class Service {
  readonly #plan: ServicePlan;
  readonly journals: string[] = [];
  #served: ServedProcess | undefined;
  longestStartMs = 0;
  longestEndMs = 0;

  constructor(plan: ServicePlan) {
    this.#plan = plan;
    this.useNewJournal();
  }

  get journal(): string {
    return this.journals.at(-1) ?? '';
  }

  get served(): ServedProcess {
    if (this.#served === undefined) throw new Error('no process is running');
    return this.#served;
  }

  /** The next process starts a run of its own. */
  useNewJournal(): void {
    this.journals.push(join(this.#plan.folder, `run-${this.journals.length}.ndjson`));
  }

  async start(): Promise<ServedProcess> {
    const startedMs = performance.now();
    const flags = [...this.#plan.flags, '--journal', this.journal];
    this.#served = await ServedProcess.start(this.#plan.folder, flags);
    this.longestStartMs = Math.max(this.longestStartMs, performance.now() - startedMs);
    return this.#served;
  }

  async end(ending: Ending): Promise<void> {
    const { served } = this;
    const { complain } = this.#plan;
    const startedMs = performance.now();
    if (ending === 'shutdown') {
      const { method, path } = routeOf('simulator.shutdown');
      // The process may end before it replies.
      void fetch(`${served.controlUrl}${path}`, { method }).catch(() => {});
    } else served.signal(ending);
    const { code, signal } = await served.ended;
    const tookMs = performance.now() - startedMs;
    // A process killed while writing leaves half a line, which its successor reports.
    const errors = served.errors.replace(/.*: the last line is incomplete and was ignored\n/, '');
    if (errors !== '') complain(`stderr: ${errors.slice(0, 500)}`);
    if (ending === 'SIGKILL') return;
    this.longestEndMs = Math.max(this.longestEndMs, tookMs);
    if (code !== 0) complain(`${ending}: ended with ${code ?? signal}`);
    if (tookMs > endWithinMs) complain(`${ending}: ended after ${tookMs} ms`);
  }

  /** Kills the process if it still runs, without a check. */
  async kill(): Promise<void> {
    await this.#served?.kill();
  }
}
