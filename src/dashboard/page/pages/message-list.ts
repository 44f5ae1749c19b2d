/**
 * The loaded messages, newest first. A known message gets its new status from its event. The list is
 * kept in segments, each continued by the next one; only those that are seen are read again.
 */
import { signal } from '@preact/signals';
import { call } from '../control.ts';
import { onEvents } from '../events.ts';
import { Reading } from '../reading.ts';
import type { Message, MessageEvent } from '../wire.ts';

export const filterNames = ['search', 'status', 'account_id', 'from', 'to', 'request_id'] as const;
export type MessageFilter = Readonly<Partial<Record<(typeof filterNames)[number], string>>>;

const firstRows = 250;
const mostRows = 500;

interface Segment {
  /** Where it begins; null: at the newest message. */
  cursor: string | null;
  ids: string[];
  isStale: boolean;
}

export class MessageList {
  /** Increases with each change of the rows. */
  readonly version = signal(0);
  readonly isLoading = signal(true);
  readonly error = signal<unknown>(undefined);
  #filter: MessageFilter = {};
  #segments: Segment[] = [];
  #ids: string[] = [];
  #messages = new Map<string, Message>();
  /** Where the messages continue that are not loaded; null: nowhere. */
  #cursor: string | null = null;
  #seen = { first: 0, last: 0 };
  readonly #reading = new Reading(() => this.#readSeen());
  /** Increases with each filter; answers to earlier ones are dropped. */
  #question = 0;
  #isFetchingMore = false;

  get count(): number {
    return this.#ids.length;
  }

  /** True while older messages are not loaded. */
  get hasMore(): boolean {
    return this.#cursor !== null;
  }

  get all(): readonly Message[] {
    return this.#ids.flatMap((id) => this.#messages.get(id) ?? []);
  }

  readonly at = (index: number): Message | undefined => this.#messages.get(this.#ids[index] ?? '');

  /** Listens to events until the returned function is called. */
  follow(): () => void {
    const ends = [
      this.#reading.follow([]),
      onEvents('message', (events) => {
        if (events === undefined) this.#makeStale(this.#segments.length);
        else this.#hear(events);
      }),
    ];
    return () => {
      for (const end of ends) end();
      this.#question++;
    };
  }

  show(filter: MessageFilter): void {
    this.#filter = filter;
    this.#question++;
    this.#segments = [{ cursor: null, ids: [], isStale: true }];
    this.#cursor = null;
    this.isLoading.value = true;
    this.#changed();
    this.#reading.now();
  }

  /** Tells which rows are seen. */
  readonly see = (first: number, last: number): void => {
    this.#seen = { first, last };
    if (this.#staleSeen().length > 0) this.#reading.soon();
  };

  readonly more = async (): Promise<void> => {
    if (this.#isFetchingMore || this.#cursor === null || this.isLoading.value) return;
    this.#isFetchingMore = true;
    const segment: Segment = { cursor: this.#cursor, ids: [], isStale: false };
    this.#segments.push(segment);
    await this.#read(segment);
    this.#isFetchingMore = false;
  };

  #hear(events: readonly MessageEvent[]): void {
    let hasChanged = false;
    for (const event of events) {
      const known = this.#messages.get(event.message_id);
      if (known === undefined) this.#makeStale(1);
      else if (!known.history.some(({ status }) => status === event.status)) {
        this.#messages.set(event.message_id, changed(known, event));
        hasChanged = true;
      }
    }
    if (hasChanged) this.version.value++;
    // With a status filter, messages may appear or disappear at any position.
    if (this.#filter.status !== undefined) this.#makeStale(this.#segments.length);
  }

  /** The first `count` segments are read again once they are seen. */
  #makeStale(count: number): void {
    for (const segment of this.#segments.slice(0, count)) segment.isStale = true;
    this.#reading.soon();
  }

  /** New messages are counted even while the first segment is not seen. */
  #staleSeen(): Segment[] {
    let from = 0;
    return this.#segments.filter(({ ids, isStale, cursor }) => {
      const isSeen = from <= this.#seen.last && from + ids.length >= this.#seen.first;
      from += ids.length;
      return isStale && (isSeen || cursor === null);
    });
  }

  async #readSeen(): Promise<void> {
    for (const segment of this.#staleSeen()) await this.#read(segment);
  }

  async #read(segment: Segment): Promise<void> {
    const question = this.#question;
    segment.isStale = false;
    const { cursor, ids: known } = segment;
    const limit = cursor === null ? firstRows : mostRows;
    try {
      const page = await call('messages.page', { ...this.#filter, limit, cursor: cursor ?? '' });
      if (question !== this.#question) return;
      this.error.value = undefined;
      for (const message of page.messages) this.#messages.set(message.message_id, message);
      segment.ids = page.messages.map(({ message_id: id }) => id);
      const end = known.indexOf(segment.ids.at(-1) ?? '');
      this.#continue(segment, known.slice(end + 1), page.next_cursor);
    } catch (error) {
      if (question === this.#question) this.error.value = error;
    }
    this.isLoading.value = false;
    this.#changed();
  }

  /** `rest`: what the segment held beyond its new end. */
  #continue(segment: Segment, rest: string[], cursor: string | null): void {
    const at = this.#segments.indexOf(segment) + 1;
    const next = this.#segments[at];
    const known = segment.ids.indexOf(next?.ids[0] ?? '');
    if (known >= 0) segment.ids.length = known;
    else if (cursor === null) this.#segments.length = at;
    else if (next !== undefined && rest.length + next.ids.length <= mostRows) {
      next.ids.unshift(...rest);
      next.cursor = cursor;
      next.isStale = true;
    } else if (rest.length > 0) this.#segments.splice(at, 0, { cursor, ids: rest, isStale: true });
    if (this.#segments.at(-1) === segment) this.#cursor = cursor;
  }

  #changed(): void {
    // A message may have moved to a segment above, while the one below is stale.
    this.#ids = [...new Set(this.#segments.flatMap(({ ids }) => ids))];
    if (this.#messages.size > this.#ids.length + mostRows)
      this.#messages = new Map(this.all.map((message) => [message.message_id, message]));
    this.version.value++;
  }
}

function changed(message: Message, { status, at, failure_reason }: MessageEvent): Message {
  return { ...message, status, failure_reason, history: [...message.history, { status, at }] };
}
