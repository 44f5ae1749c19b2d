/**
 * A SIM: its number, who may use it, its polls and the work that waits for it.
 * Rules: SVC-1, SVC-3, STATE-2. Assumes: pollIntervalSeconds, sendsPerPoll, progressPace.
 * Work stands in plain rows here; what runs by itself (the polling) is an actor in `actors/`.
 */
import type { Account } from './account.ts';
import type { Message, Status } from './message.ts';
import { MinHeap } from './min-heap.ts';

/** `simulated`: polls by itself on the virtual clock; `external`: a real device polls its tasks endpoint. */
export type Polling = 'simulated' | 'external';

/** What decides whether a device polls by itself. */
export interface DeviceState {
  readonly connected: boolean;
  readonly active: boolean;
  readonly polling: Polling;
}

/** What a user says of a SIM; what is left out stays as it is, or is on, simulated and allowed for a new one. */
export interface SimState {
  readonly connected?: boolean | undefined;
  readonly active?: boolean | undefined;
  readonly polling?: Polling | undefined;
  readonly allowed?: boolean | undefined;
}

export class Device {
  readonly deviceId: string;
  readonly number: string;
  /** Undefined: a number of the shared pool. */
  readonly account: Account | undefined;
  /** Its polls fall at this time and every poll interval after it. */
  readonly firstPollAtMs: number;
  readonly work = new DeviceWork();
  connected: boolean;
  active: boolean;
  polling: Polling;
  /** False: the account may not send from this number (AUTH-5). */
  allowed = true;
  /** No SIM of the world any more; its messages, all final, still name it. */
  isRemoved = false;

  constructor(
    deviceId: string,
    number: string,
    account: Account | undefined,
    firstPollAtMs: number,
    state: DeviceState,
  ) {
    this.deviceId = deviceId;
    this.number = number;
    this.account = account;
    this.firstPollAtMs = firstPollAtMs;
    this.connected = state.connected;
    this.active = state.active;
    this.polling = state.polling;
  }

  /** The first poll instant at `fromMs` or later; also before the first, where the interval was longer when that was drawn. */
  pollAtOrAfter(fromMs: number, intervalMs: number): number {
    const behindMs = fromMs - this.firstPollAtMs;
    return this.firstPollAtMs + Math.ceil(behindMs / intervalMs) * intervalMs;
  }
}

/** A message in flight at its own pace (`progressPace: own_delay`). */
export interface PacedStep {
  readonly message: Message;
  /** The status that the step leaves. */
  readonly from: Status;
  readonly dueAtMs: number;
}

/** The rows of a device's work, as a snapshot holds them. */
export interface WorkRows {
  readonly pollCount: number;
  readonly held: readonly Message[];
  readonly ready: readonly Message[];
  readonly inFlight: readonly Message[];
  readonly paced: readonly PacedStep[];
}

/** A device's messages that are not final, by what they wait for. A message may move on by another way
 * (an operation, a deactivation), so a reader of rows checks the status and drops what has moved on. */
export class DeviceWork {
  /** Polls so far. */
  pollCount = 0;
  /** Held by `send_at`, soonest first. */
  readonly held = new MinHeap<Message>(
    (a, b) => a.sendAtMs < b.sendAtMs || (a.sendAtMs === b.sendAtMs && isEarlier(a, b)),
  );
  /** Queued and not held, in the order in which they became so. */
  ready: Message[] = [];
  /** Picked up and not final, in order of pickup; progresses by polls. */
  inFlight: Message[] = [];
  /** Picked up and not final; progresses at its own pace. */
  readonly paced = new MinHeap<PacedStep>(
    (a, b) => a.dueAtMs < b.dueAtMs || (a.dueAtMs === b.dueAtMs && isEarlier(a.message, b.message)),
  );

  /** Takes in a message just accepted; one that stays `queued` for ever waits for nothing. */
  add(message: Message, nowMs: number): void {
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
  nextHeld(): Message | undefined {
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
  forget(account: Account): void {
    const isKept = (message: Message) => message.account !== account;
    this.ready = this.ready.filter(isKept);
    this.inFlight = this.inFlight.filter(isKept);
    this.held.keep(isKept);
    this.paced.keep(({ message }) => isKept(message));
  }

  /** `held` and `paced` in the order of their heaps: pushed so, each row stays where it is pushed. */
  restore(rows: WorkRows): void {
    this.pollCount = rows.pollCount;
    this.ready = [...rows.ready];
    this.inFlight = [...rows.inFlight];
    for (const message of rows.held) this.held.push(message);
    for (const step of rows.paced) this.paced.push(step);
  }

  #makeReady(message: Message): void {
    message.duePoll = this.pollCount + (message.fate?.polls ?? 1);
    this.ready.push(message);
  }

  /** Removes and returns all queued messages, held ones included, in order of acceptance. */
  takeQueued(): Message[] {
    const queued = [...this.ready, ...this.held.items].filter((m) => m.status === 'queued');
    this.ready = [];
    this.held.clear();
    return queued.sort((a, b) => (isEarlier(a, b) ? -1 : 1));
  }
}

/** Whether its fate keeps the message in `status` for ever. */
export function isStuckIn(message: Message, status: string): boolean {
  return message.fate !== undefined && message.fate.ends === 'stuck' && message.fate.in === status;
}

/** Whether `a` was accepted before `b`. */
function isEarlier(a: Message, b: Message): boolean {
  return a.arrival < b.arrival;
}
