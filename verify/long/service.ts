/**
 * The service of a long run: its successive processes, most of which continue one journal.
 * Complains if a request gets no answer or an unexpected one, and if a requested end breaks a
 * promise of `serve`: in time, with exit code 0, without errors.
 */
import { join } from 'node:path';
import type { OperationName } from '#src/operations/table.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { type Answer, type Call, Caller } from './caller.ts';

/** A signal, or the operation `simulator.shutdown`. */
export const endings = ['SIGKILL', 'SIGTERM', 'shutdown'] as const;
export type Ending = (typeof endings)[number];

/** The promise of `serve`: a requested end takes at most this time. */
const endWithinMs = 5_000;

export class Service {
  readonly #folder: string;
  readonly #flags: readonly string[];
  readonly #caller = new Caller();
  #served: ServedProcess | undefined;
  readonly journals: string[] = [];
  readonly complaints: string[] = [];
  /** The number of answers by status; 0 for lost ones. */
  readonly answers: Record<number, number> = {};
  /** Counts the starts and ends of disturbances (faults or ends): odd during a disturbance. */
  #disturbances = 0;
  longestStartMs = 0;
  longestEndMs = 0;

  constructor(folder: string, flags: readonly string[]) {
    this.#folder = folder;
    this.#flags = flags;
  }

  get journal(): string {
    return this.journals.at(-1) ?? '';
  }

  get served(): ServedProcess {
    if (this.#served === undefined) throw new Error('no process has started');
    return this.#served;
  }

  /** While true, answers may be lost. */
  set isDisturbed(isDisturbed: boolean) {
    if (isDisturbed !== (this.#disturbances % 2 === 1)) this.#disturbances++;
  }

  complain(text: string): void {
    this.complaints.push(text.slice(0, 500));
  }

  /** Starts a process that continues the journal, or one that begins another journal. */
  async start(journal: 'same journal' | 'new journal'): Promise<void> {
    const startedMs = performance.now();
    if (journal === 'new journal')
      this.journals.push(join(this.#folder, `run-${this.journals.length}.ndjson`));
    const flags = [...this.#flags, '--journal', this.journal];
    this.#served = await ServedProcess.start(this.#folder, flags);
    this.longestStartMs = Math.max(this.longestStartMs, Math.round(performance.now() - startedMs));
  }

  /** Undefined if the answer was lost, or is not one of the expected ones. */
  async call(call: Call, expected: readonly number[]): Promise<Answer | undefined> {
    const before = this.#disturbances;
    const answer = await this.#caller.call(this.served.baseUrl, call);
    const isDisturbed = before % 2 === 1 || this.#disturbances !== before;
    const isLost = answer === undefined || (isDisturbed && isSpoilt(answer));
    const status = isLost ? 0 : answer.status;
    this.answers[status] = (this.answers[status] ?? 0) + 1;
    if (expected.includes(status)) return answer;
    if (isLost && isDisturbed) return undefined;
    this.complain(`${call.method} ${call.path} is answered ${status} ${answer?.body}`);
    return undefined;
  }

  ask<T = unknown>(name: OperationName, idOrQuery = '', body?: object | string): Promise<T> {
    return this.#caller.ask<T>(this.served.controlUrl, name, idOrQuery, body);
  }

  /** The resources of the process once the run's connections have closed. */
  holdings() {
    this.#caller.leave();
    return this.served.settledHoldings();
  }

  async end(ending: Ending): Promise<void> {
    const { served } = this;
    const startedMs = performance.now();
    // The process may end before it replies.
    if (ending === 'shutdown') void this.ask('simulator.shutdown').catch(() => {});
    else served.signal(ending);
    const { code, signal } = await served.ended;
    const tookMs = Math.round(performance.now() - startedMs);
    // A process killed while writing leaves half a line, which its successor reports.
    const errors = served.errors.replace(/.*: the last line is incomplete and was ignored\n/, '');
    if (errors !== '') this.complain(`stderr: ${errors}`);
    if (ending === 'SIGKILL') return;
    this.longestEndMs = Math.max(this.longestEndMs, tookMs);
    if (code !== 0) this.complain(`${ending}: ended with ${code ?? signal}`);
    if (tookMs > endWithinMs) this.complain(`${ending}: ended after ${tookMs} ms`);
  }

  /** Kills the process if it still runs, without a check. */
  async kill(): Promise<void> {
    this.#caller.leave();
    await this.#served?.kill();
  }
}

/** True for the reply of a planted fault, or a truncated one. */
function isSpoilt({ status, body }: Answer): boolean {
  return status >= 500 || !/[}\]]$/.test(body);
}
