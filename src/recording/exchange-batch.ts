/**
 * The exchanges of one turn of the event loop: their lines wait for one write of the journal. They
 * are counted, listed and reported once it has succeeded, so that these agree with the replies.
 */
import type { PendingWrite } from '#contract/request-and-reply.ts';
import type { Journal } from './journal/journal.ts';
import type { RecordedExchange } from './recorded-exchange.ts';

export class ExchangeBatch implements PendingWrite {
  /** Those that are not recorded, in order of arrival. */
  readonly exchanges: RecordedExchange[] = [];
  failure: Error | undefined;
  isSettled = false;
  readonly #journal: Journal;
  readonly #record: (exchange: RecordedExchange) => void;

  constructor(journal: Journal, record: (exchange: RecordedExchange) => void) {
    this.#journal = journal;
    this.#record = record;
  }

  settle(): void {
    if (this.isSettled) return;
    this.isSettled = true;
    try {
      this.#journal.flush?.();
      for (const exchange of this.exchanges) this.#record(exchange);
    } catch (error) {
      this.failure = error as Error;
    }
    this.exchanges.length = 0;
  }
}
