/**
 * The served process as the load sees it: replaced now and then, disturbed by faults now and then. Calls wait while
 * it is being replaced, and one that goes unanswered is only booked as wrong where nothing disturbed it.
 */
import type { Books } from './books.ts';
import type { Answer, Call, Caller } from './caller.ts';
import type { Service } from './traffic.ts';

export class DisturbedService implements Service {
  readonly #caller: Caller;
  readonly #books: Books;
  #baseUrl = '';
  #isFaulty = false;
  /** Counts what may keep an answer from coming. */
  #disturbances = 0;
  #isOpen = false;
  #opened: Promise<void> = Promise.resolve();
  #open: () => void = () => {};
  #inFlight = 0;
  requests = 0;
  unanswered = 0;

  constructor(caller: Caller, books: Books) {
    this.#caller = caller;
    this.#books = books;
    this.close();
  }

  /** From now on calls go there. */
  open(baseUrl: string): void {
    this.#baseUrl = baseUrl;
    this.#isOpen = true;
    this.#open();
  }

  /** From now on calls wait. */
  close(): void {
    this.#disturbances++;
    this.#isOpen = false;
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** Until no call is under way. */
  async quiet(): Promise<void> {
    while (this.#inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** While it is, calls may go unanswered. */
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
    if (!isDisturbed) this.#books.complain(`${call.method} ${call.path} is not answered`);
    return undefined;
  }
}

/** A fault of ours: answered in place of the service, or half of its answer. */
function isSpoilt({ status, body }: Answer): boolean {
  return status === 500 || !/[}\]]$/.test(body);
}
