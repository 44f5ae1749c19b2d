/**
 * The loaded messages, newest first, kept up to date by events: a loaded message gets its new
 * status at once; new messages are fetched in groups.
 */
import { signal } from '@preact/signals';
import { call } from '../control.ts';
import { onEvents } from '../events.ts';
import { Reading } from '../reading.ts';
import type { Message, MessageEvent, MessagePage } from '../wire.ts';

export const filterNames = ['search', 'status', 'account_id', 'from', 'to', 'request_id'] as const;
export type MessageFilter = Readonly<Partial<Record<(typeof filterNames)[number], string>>>;

const pageSize = 250;
const largestPage = 1_000;

export class MessageList {
  /** Increases with each change of the rows. */
  readonly version = signal(0);
  readonly isLoading = signal(true);
  readonly error = signal<unknown>(undefined);
  /** True while older messages are not loaded. */
  readonly hasMore = signal(false);
  #filter: MessageFilter = {};
  #ids: string[] = [];
  readonly #messages = new Map<string, Message>();
  #cursor: string | null = null;
  readonly #reading = new Reading(() => (this.#needsAll ? this.#loadAgain() : this.#loadNew()));
  /** The number of the current filter's query; answers to earlier ones are dropped. */
  #question = 0;
  #isFetchingMore = false;
  #needsAll = false;

  get count(): number {
    return this.#ids.length;
  }

  /** The loaded messages. */
  get all(): readonly (Message | undefined)[] {
    return this.#ids.map((id) => this.#messages.get(id));
  }

  readonly at = (index: number): Message | undefined => {
    const id = this.#ids[index];
    return id === undefined ? undefined : this.#messages.get(id);
  };

  /** Listens to events until the returned function is called. */
  follow(): () => void {
    const end = onEvents('message', (events) => {
      if (events === undefined) this.#soon(true);
      else this.#hear(events);
    });
    return () => {
      end();
      this.#reading.stop();
      this.#question++;
    };
  }

  show(filter: MessageFilter): void {
    this.#filter = filter;
    this.isLoading.value = true;
    this.#ids = [];
    this.#cursor = null;
    this.#messages.clear();
    this.version.value++;
    void this.#loadAgain();
  }

  readonly more = (): void => {
    if (this.#isFetchingMore || this.#cursor === null) return;
    void this.#fetchMore();
  };

  async #fetchMore(): Promise<void> {
    const question = this.#question;
    this.#isFetchingMore = true;
    try {
      const page = await this.#page(largestPage, this.#cursor);
      if (question === this.#question) this.#append(page);
    } catch (error) {
      this.error.value = error;
    }
    this.#isFetchingMore = false;
    // The list was reloaded meanwhile, so this page was dropped; request its rows again.
    if (question !== this.#question) this.more();
  }

  #hear(events: readonly MessageEvent[]): void {
    let hasNew = false;
    let hasChanged = false;
    for (const event of events) {
      const known = this.#messages.get(event.message_id);
      if (known === undefined) hasNew = true;
      else if (!known.history.some(({ status }) => status === event.status)) {
        this.#messages.set(event.message_id, changed(known, event));
        hasChanged = true;
      }
    }
    if (hasChanged) this.version.value++;
    // With a status filter, messages may appear or disappear at any position.
    const mayLeave = this.#filter.status !== undefined;
    if (hasNew || mayLeave) this.#soon(mayLeave);
  }

  #soon(all: boolean): void {
    this.#needsAll ||= all;
    this.#reading.soon();
  }

  /** Reloads as many messages as are shown. */
  async #loadAgain(): Promise<void> {
    this.#needsAll = false;
    const question = ++this.#question;
    try {
      const page = await this.#pages(Math.max(pageSize, this.#ids.length));
      if (question !== this.#question) return;
      this.#ids = [];
      this.#messages.clear();
      this.error.value = undefined;
      this.#append(page);
    } catch (error) {
      if (question === this.#question) this.error.value = error;
    }
    if (question === this.#question) this.isLoading.value = false;
  }

  /**
   * Loads the messages newer than the first. If there is more than a page of them, reloads the
   * list.
   */
  async #loadNew(): Promise<void> {
    const question = this.#question;
    try {
      const { messages } = await this.#page(pageSize, null);
      if (question !== this.#question) return;
      const at = messages.findIndex(({ message_id: id }) => this.#messages.has(id));
      if (at < 0) return this.#loadAgain();
      const news = messages.slice(0, at);
      for (const message of messages) this.#messages.set(message.message_id, message);
      this.#ids = [...news.map(({ message_id: id }) => id), ...this.#ids];
      this.version.value++;
    } catch (error) {
      this.error.value = error;
    }
  }

  #append({ messages, next_cursor: cursor }: MessagePage): void {
    for (const message of messages) {
      if (!this.#messages.has(message.message_id)) this.#ids.push(message.message_id);
      this.#messages.set(message.message_id, message);
    }
    this.#cursor = cursor;
    this.hasMore.value = cursor !== null;
    this.version.value++;
  }

  /** The `count` newest messages, or all if there are fewer. */
  async #pages(count: number): Promise<MessagePage> {
    let page = await this.#page(Math.min(count, largestPage), null);
    while (page.messages.length < count && page.next_cursor !== null) {
      const next = await this.#page(largestPage, page.next_cursor);
      page = { ...next, messages: [...page.messages, ...next.messages] };
    }
    return page;
  }

  #page(limit: number, cursor: string | null): Promise<MessagePage> {
    return call('messages.page', { ...this.#filter, limit, cursor: cursor ?? '' });
  }
}

function changed(message: Message, { status, at, failure_reason }: MessageEvent): Message {
  return { ...message, status, failure_reason, history: [...message.history, { status, at }] };
}
