/**
 * How often each account name was used since the last reset. An account draws its ids from a random
 * stream named after it. A name that is used again gets a new stream; otherwise the keys of a
 * deleted account would become valid again.
 */

import { refuseMore } from '../errors.ts';
import { mostAccountNames } from './bounds.ts';

export class AccountNames {
  readonly #uses = new Map<string, number>();

  /** Counts one more use of the name, and returns the name of its stream. */
  use(name: string): string {
    const earlier = this.#uses.get(name);
    if (earlier === undefined) {
      refuseMore(this.#uses.size, mostAccountNames, 'account names since the last reset');
    }
    this.#uses.set(name, (earlier ?? 0) + 1);
    // The count precedes the name, which may hold any text, so two accounts never share a stream.
    return earlier === undefined ? `account:${name}` : `account again:${earlier}:${name}`;
  }

  get uses(): readonly (readonly [string, number])[] {
    return [...this.#uses];
  }

  restore(uses: readonly (readonly [string, number])[]): void {
    this.#uses.clear();
    for (const [name, count] of uses) this.#uses.set(name, count);
  }
}
