/**
 * The messages of one account. Found by a walk over all messages, because few callers need them.
 */
import type { Account, HeldMessages, Message } from './records.ts';

interface Store {
  newestFirst(account: Account): Iterable<Message>;
}

export class AccountMessages implements HeldMessages {
  readonly #store: Store;
  readonly #account: Account;

  constructor(store: Store, account: Account) {
    this.#store = store;
    this.#account = account;
  }

  get length(): number {
    const { counts, forgotten } = this.#account;
    const { queued, sending, sent, delivered, failed } = counts;
    return queued + sending + sent + delivered + failed - forgotten.delivered - forgotten.failed;
  }

  at(index: number): Message | undefined {
    const newest = index < 0 ? -1 - index : this.length - 1 - index;
    let at = 0;
    for (const message of this.#store.newestFirst(this.#account)) {
      if (at++ === newest) return message;
    }
    return undefined;
  }

  [Symbol.iterator](): Iterator<Message> {
    return [...this.#store.newestFirst(this.#account)].reverse()[Symbol.iterator]();
  }
}
