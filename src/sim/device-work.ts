/**
 * The work of a device: its messages that are not final, by what they wait for.
 * Rules: SVC-3, STATE-2, SEND-7. Assumes: sendsPerPoll, progressPace.
 */
import { MinHeap } from './min-heap.ts';
import type { Fate } from './outcomes.ts';
import type { Status } from './status.ts';

/** The fields of a message that decide about its place. */
export interface WorkMessage {
  readonly account: unknown;
  readonly status: Status;
  readonly sendAtMs: number;
  readonly fate: Fate | undefined;
  /** Its place among all messages, in the order of acceptance. */
  readonly arrival: number;
  duePoll: number;
}

/** A message in flight at its own pace (`progressPace: own_delay`). */
export interface PacedStep<M> {
  readonly message: M;
  /** The status that the step leaves. */
  readonly from: Status;
  readonly dueAtMs: number;
}

/** The rows of a device's work, as a snapshot holds them. */
export interface WorkRows<M> {
  readonly pollCount: number;
  readonly held: readonly M[];
  readonly ready: readonly M[];
  readonly inFlight: readonly M[];
  readonly paced: readonly PacedStep<M>[];
}

/** A device's messages that are not final, by what they wait for. A message may move on by another way
 * (an operation, a deactivation), so a reader of rows checks the status and drops what has moved on. */
export class DeviceWork<M extends WorkMessage> {
  /** Polls so far. */
  pollCount = 0;
  /** Held by `send_at`, soonest first. */
  readonly held = new MinHeap<M>(
    (a, b) => a.sendAtMs < b.sendAtMs || (a.sendAtMs === b.sendAtMs && isEarlier(a, b)),
  );
  /** Queued and not held, in the order in which they became so. */
  ready: M[] = [];
  /** Picked up and not final, in order of pickup; progresses by polls. */
  inFlight: M[] = [];
  /** Picked up and not final; progresses at its own pace. */
  readonly paced = new MinHeap<PacedStep<M>>(
    (a, b) => a.dueAtMs < b.dueAtMs || (a.dueAtMs === b.dueAtMs && isEarlier(a.message, b.message)),
  );

  /** Takes in a message just accepted; one that stays `queued` for ever waits for nothing. */
  add(message: M, nowMs: number): void {
    if (isStuckIn(message, 'queued')) return;
    if (message.sendAtMs > nowMs) this.held.push(message);
    else {
      this.releaseHeld(nowMs);
      this.#makeReady(message);
    }
  }

  /** Messages that wait for pickup; rows that have left by another way are not counted. */
  get queueLength(): number {
    let length = 0;
    for (const { status } of this.ready) if (status === 'queued') length++;
    for (const { status } of this.held.items) if (status === 'queued') length++;
    return length;
  }

  /** The message whose hold ends first; one that a lever has moved on holds nothing up. */
  nextHeld(): M | undefined {
    let next = this.held.peek();
    for (; next !== undefined && next.status !== 'queued'; next = this.held.peek()) this.held.pop();
    return next;
  }

  /** Moves every message whose hold is over behind those that wait already. */
  releaseHeld(nowMs: number): void {
    for (let next = this.held.peek(); next && next.sendAtMs <= nowMs; next = this.held.peek()) {
      this.held.pop();
      if (next.status === 'queued') this.#makeReady(next);
    }
  }

  /** Drops the messages of an account that is deleted. */
  forget(account: unknown): void {
    const isKept = (message: M) => message.account !== account;
    this.ready = this.ready.filter(isKept);
    this.inFlight = this.inFlight.filter(isKept);
    this.held.keep(isKept);
    this.paced.keep(({ message }) => isKept(message));
  }

  /**
   * `held` and `paced` in the order of their heaps: pushed so, each row stays where it is pushed.
   */
  restore(rows: WorkRows<M>): void {
    this.pollCount = rows.pollCount;
    this.ready = [...rows.ready];
    this.inFlight = [...rows.inFlight];
    for (const message of rows.held) this.held.push(message);
    for (const step of rows.paced) this.paced.push(step);
  }

  #makeReady(message: M): void {
    message.duePoll = this.pollCount + (message.fate?.polls ?? 1);
    this.ready.push(message);
  }

  /** Removes and returns all queued messages, held ones included, in order of acceptance. */
  takeQueued(): M[] {
    const queued = [...this.ready, ...this.held.items].filter((m) => m.status === 'queued');
    this.ready = [];
    this.held.clear();
    return queued.sort((a, b) => (isEarlier(a, b) ? -1 : 1));
  }
}

/** Whether its fate keeps the message in `status` for ever. */
export function isStuckIn(message: Pick<WorkMessage, 'fate'>, status: string): boolean {
  return message.fate !== undefined && message.fate.ends === 'stuck' && message.fate.in === status;
}

/** Whether `a` was accepted before `b`. */
function isEarlier(a: WorkMessage, b: WorkMessage): boolean {
  return a.arrival < b.arrival;
}
