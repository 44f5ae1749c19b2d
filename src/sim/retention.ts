/**
 * How many messages a world holds before it forgets the oldest final ones, and what it has forgotten.
 */

/** `--max-messages` where nothing else is asked for. */
export const defaultMaxMessages = 1_000_000;
/**
 * Without an explicit number, unfinished messages beyond this many count for nothing, so that a load
 * test that saturates the service finds room for what its devices have not finished.
 */
export const countedUnfinished = 500_000;
/** Without an explicit number, a world holds at most this many unfinished messages. */
export const mostUnfinished = 4_000_000;

export const overloadedNotice =
  'sends are answered 503 overloaded: all messages that --max-messages allows are unfinished; ' +
  'allow more, or let their devices poll';

/** A number is exact; undefined is the default, with its room for unfinished messages. */
export type MaxMessages = number | 'unlimited' | undefined;

export class Retention {
  readonly maxMessages: MaxMessages;
  forgottenMessages = 0;
  /** Those that were younger than the replay window. */
  forgottenRequestIds = 0;
  /** Called when a message is refused for want of room. */
  onOverloaded: () => void = () => {};

  constructor(maxMessages: MaxMessages) {
    this.maxMessages = maxMessages;
  }

  /** How many messages must go before the next one is accepted; infinite where none may come. */
  excess(held: number, unfinished: number): number {
    const { maxMessages } = this;
    if (maxMessages === 'unlimited') return 0;
    if (maxMessages !== undefined) {
      return unfinished >= maxMessages ? Number.POSITIVE_INFINITY : held + 1 - maxMessages;
    }
    if (unfinished >= mostUnfinished) return Number.POSITIVE_INFINITY;
    const counted = held - unfinished + Math.min(unfinished, countedUnfinished);
    return counted + 1 - defaultMaxMessages;
  }
}
