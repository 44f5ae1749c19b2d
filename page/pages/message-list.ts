/**
 * The loaded messages of the page Messages, newest first. An event updates the status of a loaded
 * message without a request. The list consists of segments, one page of a reply each, in order; a
 * segment that may be out of date is stale and is read again once one of its rows is visible.
 */
import { signal } from '@preact/signals';
import { call } from '../control.ts';
import { onEvents } from '../events.ts';
import { Resource } from '../resource.ts';
import type { Message, MessageEvent } from '../wire.ts';

export const filterNames = ['search', 'status', 'account_id', 'from', 'to', 'request_id'] as const;
export type MessageFilter = Readonly<Partial<Record<(typeof filterNames)[number], string>>>;

/** Messages of the first segment, which is read most often, and of each later one. */
const firstSegmentSize = 250;
const segmentSize = 500;

interface Segment {
  /** The cursor of its page; null: it begins at the newest message. */
  cursor: string | null;
  ids: string[];
  /** True if it must be read again. */
  isStale: boolean;
}

export class MessageList {
  /** Increases with each change of the rows. */
  readonly version = signal(0);
  readonly isLoading = signal(true);
  readonly error = signal<unknown>(undefined);
  #filter: MessageFilter = {};
  #segments: Segment[] = [];
  /** The ids of all segments, in order and without duplicates: the rows of the list. */
  #ids: string[] = [];
  /** Holds every message of `#ids`, and some that left the list. */
  #messages = new Map<string, Message>();
  /** The cursor of the first page that is not loaded; null if all are. */
  #nextCursor: string | null = null;
  #visibleRows = { first: 0, last: 0 };
  readonly #resource = new Resource(() => this.#readVisible());
  /** Increases with each filter: answers for an earlier filter are dropped. */
  #filterVersion = 0;
  #isReadingMore = false;

  get count(): number {
    return this.#ids.length;
  }

  /** True while older messages are not loaded. */
  get hasMore(): boolean {
    return this.#nextCursor !== null;
  }

  get all(): readonly Message[] {
    return this.#ids.flatMap((id) => this.#messages.get(id) ?? []);
  }

  // An arrow function, as those below: the table gets them as props.
  readonly at = (index: number): Message | undefined => this.#messages.get(this.#ids[index] ?? '');

  /** Listens to events until the returned function is called. */
  follow(): () => void {
    const leave = this.#resource.follow([]);
    const unsubscribe = onEvents('message', (events) => {
      if (events === undefined) this.#makeStale(this.#segments.length);
      else this.#applyEvents(events);
    });
    return () => {
      leave();
      unsubscribe();
      this.#filterVersion++;
    };
  }

  /** Replaces the list by the messages that match the filter. */
  show(filter: MessageFilter): void {
    this.#filter = filter;
    this.#filterVersion++;
    this.#segments = [{ cursor: null, ids: [], isStale: true }];
    this.#nextCursor = null;
    this.isLoading.value = true;
    this.#updateRows();
    this.#resource.readNow();
  }

  /** Must be called with the indexes of the visible rows whenever they change. */
  readonly setVisibleRows = (first: number, last: number): void => {
    this.#visibleRows = { first, last };
    if (this.#staleVisibleSegments().length > 0) this.#resource.readSoon();
  };

  /** Loads the next older messages, if there are any. */
  readonly readMore = async (): Promise<void> => {
    if (this.#isReadingMore || this.#nextCursor === null || this.isLoading.value) return;
    this.#isReadingMore = true;
    const segment: Segment = { cursor: this.#nextCursor, ids: [], isStale: false };
    this.#segments.push(segment);
    await this.#read(segment);
    this.#isReadingMore = false;
  };

  #applyEvents(events: readonly MessageEvent[]): void {
    let hasChanged = false;
    for (const event of events) {
      const message = this.#messages.get(event.message_id);
      // A new message belongs to the first segment.
      if (message === undefined) this.#makeStale(1);
      else if (!message.history.some(({ status }) => status === event.status)) {
        this.#messages.set(event.message_id, withStatus(message, event));
        hasChanged = true;
      }
    }
    if (hasChanged) this.version.value++;
    // With a status filter, messages may appear or disappear at any position.
    if (this.#filter.status !== undefined) this.#makeStale(this.#segments.length);
  }

  /** Makes the first `count` segments stale. */
  #makeStale(count: number): void {
    for (const segment of this.#segments.slice(0, count)) segment.isStale = true;
    this.#resource.readSoon();
  }

  /**
   * The stale segments with visible rows; always the first one, so that new messages are counted.
   */
  #staleVisibleSegments(): Segment[] {
    const { first, last } = this.#visibleRows;
    let start = 0;
    return this.#segments.filter(({ ids, isStale, cursor }) => {
      const isVisible = start <= last && start + ids.length >= first;
      start += ids.length;
      return isStale && (isVisible || cursor === null);
    });
  }

  async #readVisible(): Promise<void> {
    for (const segment of this.#staleVisibleSegments()) await this.#read(segment);
  }

  async #read(segment: Segment): Promise<void> {
    const filterVersion = this.#filterVersion;
    segment.isStale = false;
    const { cursor, ids: oldIds } = segment;
    const limit = cursor === null ? firstSegmentSize : segmentSize;
    try {
      const page = await call('messages.page', { ...this.#filter, limit, cursor: cursor ?? '' });
      if (filterVersion !== this.#filterVersion) return;
      this.error.value = undefined;
      for (const message of page.messages) this.#messages.set(message.message_id, message);
      segment.ids = page.messages.map(({ message_id: id }) => id);
      const oldEnd = oldIds.indexOf(segment.ids.at(-1) ?? '');
      const pushedOut = oldIds.slice(oldEnd + 1);
      this.#connectToNext(segment, pushedOut, page.next_cursor);
    } catch (error) {
      if (filterVersion === this.#filterVersion) this.error.value = error;
    }
    this.isLoading.value = false;
    this.#updateRows();
  }

  /**
   * Makes the next segment begin where a segment that was just read ends. `pushedOut`: ids that new
   * messages pushed beyond its end; `cursor`: of the messages after it; null: there are none.
   */
  #connectToNext(segment: Segment, pushedOut: string[], cursor: string | null): void {
    const nextIndex = this.#segments.indexOf(segment) + 1;
    const next = this.#segments[nextIndex];
    const overlap = segment.ids.indexOf(next?.ids[0] ?? '');
    if (overlap >= 0) {
      // It reaches into the next segment, which holds the rest.
      segment.ids.length = overlap;
    } else if (cursor === null) {
      // Its end is the end of the list.
      this.#segments.length = nextIndex;
    } else if (next !== undefined && pushedOut.length + next.ids.length <= segmentSize) {
      // The next segment has room for what was pushed out.
      next.ids.unshift(...pushedOut);
      next.cursor = cursor;
      next.isStale = true;
    } else if (pushedOut.length > 0) {
      this.#segments.splice(nextIndex, 0, { cursor, ids: pushedOut, isStale: true });
    }
    if (this.#segments.at(-1) === segment) this.#nextCursor = cursor;
  }

  #updateRows(): void {
    // Until a stale segment is read again, it may hold ids that moved to the segment above.
    this.#ids = [...new Set(this.#segments.flatMap(({ ids }) => ids))];
    // Forgets the messages that left the list, once they are many.
    if (this.#messages.size > this.#ids.length + segmentSize) {
      this.#messages = new Map(this.all.map((message) => [message.message_id, message]));
    }
    this.version.value++;
  }
}

function withStatus(message: Message, { status, at, failure_reason }: MessageEvent): Message {
  return { ...message, status, failure_reason, history: [...message.history, { status, at }] };
}
