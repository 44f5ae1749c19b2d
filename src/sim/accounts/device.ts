/**
 * A SIM, or a number of the shared pool. Rules: SVC-1, SVC-3, AUTH-5. `account.ts` supplies the
 * type parameters, because it imports this file, and imports go in one direction only.
 */
import { DeviceWork } from '../devices/device-work.ts';
import type { WorkMessage } from '../devices/timed-work.ts';

/**
 * `simulated`: polls by itself on the virtual clock; `external`: a real device polls its tasks
 * endpoint.
 */
export type Polling = 'simulated' | 'external';

/** The fields that decide whether a device polls by itself. */
export interface DeviceState {
  readonly connected: boolean;
  readonly active: boolean;
  readonly polling: Polling;
}

/**
 * Settings of a SIM, to make or to change it. An absent field stays unchanged; a new SIM is active, connected, simulated
 * and allowed.
 */
export interface SimSettings {
  readonly connected?: boolean | undefined;
  readonly active?: boolean | undefined;
  readonly polling?: Polling | undefined;
  readonly allowed?: boolean | undefined;
}

/** The parts of a new SIM, or of a new number of the pool. */
export interface NewDevice<Account> extends DeviceState {
  readonly deviceId: string;
  readonly number: string;
  /** Undefined: a number of the shared pool. */
  readonly account: Account | undefined;
  /** False: the account may not send from this number (AUTH-5). */
  readonly allowed: boolean;
  /** The first time at which it polls; the others follow at whole poll intervals. */
  readonly firstPollAtMs: number;
}

export class SimDevice<Account, Message extends WorkMessage<Message>>
  implements NewDevice<Account>
{
  readonly deviceId: string;
  readonly number: string;
  readonly account: Account | undefined;
  readonly firstPollAtMs: number;
  readonly work = new DeviceWork<Message>();
  connected: boolean;
  active: boolean;
  polling: Polling;
  allowed: boolean;
  /** True: the SIM was removed from the world; its messages, all final, still refer to it. */
  isRemoved = false;
  /** The number of messages in the store that refer to it. */
  messagesHeld = 0;
  /** The number that stands for this device in message columns (0: none). */
  slot = 0;

  constructor(parts: NewDevice<Account>) {
    this.deviceId = parts.deviceId;
    this.number = parts.number;
    this.account = parts.account;
    this.firstPollAtMs = parts.firstPollAtMs;
    this.connected = parts.connected;
    this.active = parts.active;
    this.allowed = parts.allowed;
    this.polling = parts.polling;
  }

  /**
   * The first poll time at or after `fromMs`. May lie before `firstPollAtMs`, if that was drawn
   * with a longer interval.
   */
  pollAtOrAfter(fromMs: number, intervalMs: number): number {
    const intervals = Math.ceil((fromMs - this.firstPollAtMs) / intervalMs);
    return this.firstPollAtMs + intervals * intervalMs;
  }
}
