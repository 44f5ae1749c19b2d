/**
 * The bound on the messages of a world (`--max-messages`), and counts of what the world has
 * forgotten because of it. `message-store.ts` forgets the oldest final messages above the bound.
 */

export const defaultMaxMessages = 1_000_000;
/**
 * The most unfinished messages that count towards the default bound. Beyond them, a load test that
 * saturates the service has extra room for messages that devices have not finished.
 */
export const countedUnfinished = 500_000;
/** By default, a world holds at most this many unfinished messages. */
export const mostUnfinished = 4_000_000;

const overloadedNotice =
  'sends are answered 503 overloaded: all messages that --max-messages allows are unfinished; ' +
  'allow more, or let their devices poll';

/** A number is exact; undefined means the default, with extra room for unfinished messages. */
export type MaxMessages = number | 'unlimited' | undefined;

export class Retention {
  readonly maxMessages: MaxMessages;
  /** Messages forgotten to make room. `MessageStore` writes both counts. */
  forgottenMessages = 0;
  /** Forgotten messages that were younger than the replay window. */
  forgottenRequestIds = 0;
  /** Called when a message is refused for lack of room. */
  onOverloaded: () => void = () => {};

  constructor(maxMessages: MaxMessages) {
    this.maxMessages = maxMessages;
  }

  /**
   * How many messages the store must forget before it accepts the next one; 0 or less if none,
   * infinite if it must refuse. `total` and `unfinished` count its messages.
   */
  excess(total: number, unfinished: number): number {
    const { maxMessages } = this;
    if (maxMessages === 'unlimited') return 0;
    if (maxMessages !== undefined)
      return unfinished >= maxMessages ? Number.POSITIVE_INFINITY : total + 1 - maxMessages;
    if (unfinished >= mostUnfinished) return Number.POSITIVE_INFINITY;
    const counted = total - unfinished + Math.min(unfinished, countedUnfinished);
    return counted + 1 - defaultMaxMessages;
  }
}

/** A function for `onOverloaded` that gives the notice once, resets included. */
export function reportingOnce(onNotice: ((line: string) => void) | undefined): () => void {
  let isReported = false;
  return () => {
    if (!isReported) onNotice?.(overloadedNotice);
    isReported = true;
  };
}
