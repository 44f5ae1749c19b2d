/**
 * A message: a reference to a row of the store. Rules: RES-1, STATE-1.
 * All times are epoch milliseconds; 0 means "never", because no simulated time is 0.
 */
import { type SendEndpoint, sendEndpoints } from '#contract/limits.ts';
import type { Status } from '#contract/message-status.ts';
import type { Fate } from '../devices/outcomes.ts';
import { uuidText } from '../random.ts';
import type { Chunk } from './chunk.ts';
import { Cohort, type CohortAccount } from './cohort.ts';
import type { Slots, Slotted } from './columns.ts';

/** The store of a message: finds the objects that rows refer to by slot. */
export interface MessageTables<A extends Slotted, D extends Slotted, M> {
  readonly accounts: Slots<A>;
  readonly devices: Slots<D>;
  readonly cohorts: Slots<Cohort>;
  /** The message with this arrival number, unless it was forgotten. */
  ofArrival(arrival: number): M | undefined;
}

/** The cohort of every forgotten message: final, so that no code acts on the message. */
const forgottenCohort = new Cohort(
  { counts: {} as CohortAccount['counts'], noteEnded: () => {} },
  undefined,
);
forgottenCohort.become('delivered', 1);

/**
 * A reference to the row of a message. Created on demand, so two objects may refer to the same
 * message: compare arrival numbers. `src/sim/accounts/account.ts` names its type parameters.
 */
export class StoredMessage<
  Key,
  A extends Slotted & CohortAccount & { readonly keys: readonly Key[] },
  D extends Slotted,
  M,
> {
  readonly chunk: Chunk<MessageTables<A, D, M>>;
  readonly row: number;

  constructor(chunk: Chunk<MessageTables<A, D, M>>, row: number) {
    this.chunk = chunk;
    this.row = row;
  }

  /** Its place among all messages of the world, in the order of acceptance. */
  get arrival(): number {
    return this.chunk.firstArrival + this.row;
  }

  get tables(): MessageTables<A, D, M> {
    return this.chunk.tables;
  }

  get messageId(): string {
    return uuidText(this.chunk.columns.ids, 4 * this.#place);
  }

  get account(): A {
    return this.chunk.tables.accounts.at(this.chunk.columns.account[this.#place] as number);
  }

  /** The key that sent it; undefined for a restored message whose snapshot does not contain it. */
  get key(): Key | undefined {
    const ordinal = this.chunk.columns.key[this.#place] as number;
    return ordinal === 0 ? undefined : this.account.keys[ordinal - 1];
  }

  /** The sending device; its number is `from_number` on the wire. */
  get device(): D {
    return this.chunk.tables.devices.at(this.chunk.columns.device[this.#place] as number);
  }

  get endpoint(): SendEndpoint {
    return sendEndpoints[this.chunk.columns.endpointAt(this.#place)] as SendEndpoint;
  }

  get text(): string {
    return this.chunk.slab.read(this.chunk.columns.textAt[this.#place] as number);
  }

  /** True if the text or the `request_id` contains `lower`; case is ignored. */
  mentions(lower: string): boolean {
    const { columns, slab } = this.chunk;
    const place = this.#place;
    const textAt = columns.textAt[place] as number;
    if (slab.mentions(textAt, lower)) return true;
    return columns.hasRequestId(place) && slab.mentions(slab.after(textAt), lower);
  }

  /** Empty if the caller gave none. */
  get requestId(): string {
    const { columns, slab } = this.chunk;
    const place = this.#place;
    return columns.hasRequestId(place)
      ? slab.read(slab.after(columns.textAt[place] as number))
      : '';
  }

  get to(): string {
    return `+${this.chunk.columns.to[this.#place]}`;
  }

  get createdAtMs(): number {
    return this.chunk.columns.createdAtMs[this.#place] as number;
  }

  /** When the hold ends, or 0. */
  get sendAtMs(): number {
    return this.chunk.sendAtOf(this.row);
  }

  get fate(): Fate | undefined {
    return this.chunk.fates.get(this.#place);
  }

  /**
   * The number that the caller named, if the message goes out from another one (`disconnectedSim`);
   * else empty.
   */
  get sender(): string {
    return this.chunk.senders.get(this.#place) ?? '';
  }

  set sender(number: string) {
    this.chunk.touch();
    this.chunk.senders.set(this.#place, number, this.chunk.columns.capacity);
  }

  /** Its status and history, shared with the messages that move with it. */
  get cohort(): Cohort {
    const { columns, tables } = this.chunk;
    const place = this.#place;
    return columns.hasMessage(place)
      ? tables.cohorts.at(columns.cohort[place] as number)
      : forgottenCohort;
  }

  set cohort(cohort: Cohort) {
    this.chunk.touch();
    const { columns, tables } = this.chunk;
    const place = this.#place;
    const slot = columns.cohort[place] as number;
    columns.cohort[place] = tables.cohorts.slotOf(cohort);
    if (slot === 0 || slot === cohort.slot) return;
    const previous = tables.cohorts.at(slot);
    if (previous.size === 0) tables.cohorts.release(previous);
  }

  get status(): Status {
    return this.cohort.status;
  }

  get sendingAtMs(): number {
    return this.cohort.sendingAtMs;
  }

  get sentAtMs(): number {
    return this.cohort.sentAtMs;
  }

  /** When it became `delivered` or `failed`. */
  get endedAtMs(): number {
    return this.cohort.endedAtMs;
  }

  get failureReason(): string | undefined {
    return this.cohort.failureReason;
  }

  /** The number of the device's first poll that may take the next step. */
  get duePoll(): number {
    return this.cohort.duePoll;
  }

  /** When the status last changed. */
  get changedAtMs(): number {
    return this.cohort.changedAtMs || this.createdAtMs;
  }

  /** True while `send_at` holds the message back. */
  isHeldAt(nowMs: number): boolean {
    return this.sendAtMs > nowMs && this.status === 'queued';
  }

  get #place(): number {
    return this.chunk.placeOf(this.row);
  }
}
