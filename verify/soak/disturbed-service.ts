/**
 * The served process as the load sees it: sometimes replaced, sometimes disturbed by faults. Calls
 * wait during a replacement; an unanswered call is a complaint only if nothing disturbed it.
 */

import type { Answer, Call, Caller } from './caller.ts';
import type { Ledger } from './ledger.ts';
import type { Service } from './traffic.ts';

export class DisturbedService implements Service {
  readonly #caller: Caller;
  readonly #ledger: Ledger;
  #baseUrl = '';
  #isFaulty = false;
  /** Counts events that may prevent an answer. */
  #disturbances = 0;
  #isOpen = false;
  #opened: Promise<void> = Promise.resolve();
  #open: () => void = () => {};
  #inFlight = 0;
  requests = 0;
  unanswered = 0;

  constructor(caller: Caller, ledger: Ledger) {
    this.#caller = caller;
    this.#ledger = ledger;
    this.close();
  }

  /** Directs calls to this URL. */
  open(baseUrl: string): void {
    this.#baseUrl = baseUrl;
    this.#isOpen = true;
    this.#open();
  }

  /** Makes calls wait. */
  close(): void {
    this.#disturbances++;
    this.#isOpen = false;
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** Resolves when no call is in flight. */
  async quiet(): Promise<void> {
    while (this.#inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** While true, calls may stay unanswered. */
  set faulty(isFaulty: boolean) {
    this.#disturbances++;
    this.#isFaulty = isFaulty;
  }

  async call(call: Call): Promise<Answer | undefined> {
    while (!this.#isOpen) await this.#opened;
    const disturbancesBefore = this.#disturbances;
    const wasFaulty = this.#isFaulty;
    this.#inFlight++;
    this.requests++;
    const answer = await this.#caller.call(this.#baseUrl, call);
    this.#inFlight--;
    const isDisturbed = wasFaulty || this.#disturbances !== disturbancesBefore;
    const isUsable = answer !== undefined && !(isDisturbed && isSpoilt(answer));
    if (isUsable) return answer;
    this.unanswered++;
    if (!isDisturbed) this.#ledger.complain(`${call.method} ${call.path} got no answer`);
    return undefined;
  }
}

/** True for a planted fault's reply, or a truncated one. */
function isSpoilt({ status, body }: Answer): boolean {
  return status === 500 || !/[}\]]$/.test(body);
}
