/**
 * A cohort: messages that move together. They have the same account and fate and became ready for
 * the same poll of a device, so they take every step at the same time. Their status and times are
 * stored once, so a poll costs the same for any number of messages. A row of the store refers to
 * its cohort by a slot, a small number.
 * Rules: STATE-1 to STATE-5.
 */
import type { Status } from '#contract/message-status.ts';
import { type Fate, isSameFate } from '../devices/outcomes.ts';
import { assert } from '../errors.ts';

/** The fields of an account that a cohort's step changes. */
export interface CohortAccount {
  readonly counts: Record<Status, number>;
  /** Called when a cohort of this account has become final. */
  noteEnded(cohort: Cohort): void;
}

/** The fields of a message that cohorts use. */
export interface Member {
  readonly account: CohortAccount;
  readonly fate: Fate | undefined;
  readonly createdAtMs: number;
  /** Its place among all messages, in the order of acceptance. */
  readonly arrival: number;
  cohort: Cohort;
}

export type CohortPast = Pick<
  Cohort,
  'status' | 'sendingAtMs' | 'sentAtMs' | 'endedAtMs' | 'failureReason' | 'duePoll'
>;

/** All times are epoch milliseconds; 0 stands for "never". */
export class Cohort {
  readonly account: CohortAccount;
  readonly fate: Fate | undefined;
  /** Only `become` writes it and the times; `copyPast` copies them. */
  status: Status = 'queued';
  sendingAtMs = 0;
  sentAtMs = 0;
  /** When it became `delivered` or `failed`. */
  endedAtMs = 0;
  failureReason: string | undefined = undefined;
  /** The number of the device's first poll that may take the next step. */
  duePoll = 0;
  /** The number of its messages. `moveTo` and `MessageStore` write it. */
  size = 0;
  /** The lowest arrival number of all messages that it ever had. */
  firstArrival = Number.POSITIVE_INFINITY;
  /** The number that stands for this cohort in message columns (0: none). */
  slot = 0;
  /**
   * When its messages were accepted: pairs of a time and a count, for histograms of ages. Undefined
   * if the cohort takes no more steps as a whole.
   */
  createdPairs: number[] | undefined = [];
  /** The batch in which it waits for polls, if any. */
  batch: { readonly cohorts: Cohort[] } | undefined = undefined;

  /**
   * The cohort that the message left, if `moveOut` created this cohort for one message. Batches
   * still list the message under that cohort.
   */
  readonly origin: Cohort | undefined;

  constructor(account: CohortAccount, fate: Fate | undefined, origin?: Cohort) {
    this.account = account;
    this.fate = fate;
    this.origin = origin;
  }

  /**
   * Takes a step: the only writer of `status`. `src/actors/message-machine.ts` decides which steps
   * exist; a restored cohort repeats its earlier steps.
   */
  become(status: Status, atMs: number, failureReason?: string): void {
    assert(this.endedAtMs === 0, 'a message that has ended never changes');
    this.status = status;
    if (status === 'sending') this.sendingAtMs = atMs;
    else if (status === 'sent') this.sentAtMs = atMs;
    else {
      this.endedAtMs = atMs;
      this.createdPairs = undefined;
      if (status === 'failed') this.failureReason = failureReason;
      this.account.noteEnded(this);
    }
  }

  /**
   * Repeats the recorded steps on a new cohort. Throws if they do not lead to the recorded status.
   */
  repeat({ status, sendingAtMs, sentAtMs, endedAtMs, failureReason, duePoll }: CohortPast): void {
    if (sendingAtMs > 0) this.become('sending', sendingAtMs);
    if (sentAtMs > 0) this.become('sent', sentAtMs);
    if (endedAtMs > 0) this.become(status, endedAtMs, failureReason);
    this.duePoll = duePoll;
    if (this.status !== status || this.failureReason !== failureReason)
      throw new Error(`STATE-3 a message is ${status}, but its history ends with ${this.status}`);
  }

  /** When the status was last written; 0 while it is the initial one. */
  get changedAtMs(): number {
    return this.endedAtMs || this.sentAtMs || this.sendingAtMs;
  }

  /** The status before the last step. */
  get previousStatus(): Status {
    if (this.status === 'delivered') return 'sent';
    if (this.status === 'sent') return 'sending';
    if (this.status === 'sending') return 'queued';
    if (this.sentAtMs > 0) return 'sent';
    return this.sendingAtMs > 0 ? 'sending' : 'queued';
  }

  /**
   * True if this message would take the same steps in this cohort as in its own, given that its
   * next step is due at `duePoll`.
   */
  movesLike(member: Member, duePoll: number): boolean {
    const { cohort } = member;
    return (
      this.account === member.account &&
      this.duePoll === duePoll &&
      this.status === cohort.status &&
      this.sendingAtMs === cohort.sendingAtMs &&
      this.sentAtMs === cohort.sentAtMs &&
      this.endedAtMs === cohort.endedAtMs &&
      this.failureReason === cohort.failureReason &&
      isSameFate(this.fate, member.fate)
    );
  }
}

/** Moves a message to this cohort from its present one. */
export function moveTo(cohort: Cohort, member: Member): void {
  const { createdAtMs, cohort: previous } = member;
  previous.size--;
  if (previous.createdPairs !== undefined) countCreated(previous.createdPairs, createdAtMs, -1);
  cohort.size++;
  if (cohort.createdPairs !== undefined) countCreated(cohort.createdPairs, createdAtMs, 1);
  if (member.arrival < cohort.firstArrival) cohort.firstArrival = member.arrival;
  member.cohort = cohort;
}

/** Adds a message to the pairs of `Cohort.createdPairs`, or removes one. */
function countCreated(pairs: number[], atMs: number, count: 1 | -1): void {
  // Nearly every message has the time of the last pair, or a later one.
  const last = pairs.length - 2;
  if (pairs[last] === atMs) {
    pairs[last + 1] = (pairs[last + 1] as number) + count;
    return;
  }
  if (count === 1) {
    pairs.push(atMs, 1);
    return;
  }
  for (let pair = 0; pair < last; pair += 2) {
    if (pairs[pair] !== atMs) continue;
    pairs[pair + 1] = (pairs[pair + 1] as number) - 1;
    if (pairs[pair + 1] === 0) pairs.splice(pair, 2);
    return;
  }
}

/** A new cohort without messages, with the account, fate, history and batch of this message. */
export function emptyCohortLike(
  { cohort, account, fate }: Pick<Member, 'cohort' | 'account' | 'fate'>,
  origin?: Cohort,
): Cohort {
  const empty = new Cohort(account, fate, origin);
  copyPast(cohort, empty);
  empty.batch = cohort.batch;
  return empty;
}

/** Moves this message into a cohort without other messages, and returns that cohort. */
export function moveOut(member: Member): Cohort {
  const { cohort } = member;
  if (cohort.size === 1) return cohort;
  const single = emptyCohortLike(member, cohort);
  cohort.batch?.cohorts.push(single);
  moveTo(single, member);
  return single;
}

/** The number of messages in these cohorts. */
export function sizeOf(cohorts: readonly Cohort[]): number {
  return cohorts.reduce((sum, { size }) => sum + size, 0);
}

function copyPast(from: CohortPast, to: Cohort): void {
  to.status = from.status;
  to.sendingAtMs = from.sendingAtMs;
  to.sentAtMs = from.sentAtMs;
  to.endedAtMs = from.endedAtMs;
  to.failureReason = from.failureReason;
  to.duePoll = from.duePoll;
}
