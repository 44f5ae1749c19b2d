/**
 * For tests: one simulated service on a manual clock, and requests of its callers without a socket.
 * Every request goes through `handle()`, as with a transport.
 */

import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import type { StatusReader } from '#src/actors/lifecycle.ts';
import { parseSettings, type SettingsInput } from '#src/config/settings.ts';
import type { Account, Device, Message } from '#src/sim/accounts/account.ts';
import type { Assumptions } from '#src/sim/assumptions.ts';
import { messageHistory } from '#src/sim/store/message-view.ts';
import { Simulation } from '#src/simulation/simulation.ts';
import { bearer, postTo, requestTo } from './request.ts';

/** Numbers of the default world, and one without a SIM. */
export const acmeNumber = '+12025550101';
export const acmeOtherNumber = '+12025550102';
export const globexNumber = '+12025550111';
export const poolNumber = '+12025550190';
export const unknownNumber = '+12025550199';
export const recipient = '+12025550123';

/** How often a device polls; advancing by it includes one poll, or two at its ends. */
export const pollMs = 20_000;

/** Fields of a request body. */
export type Fields = Readonly<Record<string, unknown>>;

/** A reply as a caller reads it. */
export interface Read {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly json: Readonly<Record<string, unknown>>;
}

export class Twin {
  readonly simulation: Simulation;

  constructor(settings: SettingsInput = {}) {
    const parsed = parseSettings({ clock: 'manual', ...settings });
    this.simulation = new Simulation(parsed, parsed.startTimeMs);
  }

  /** A twin with these answers in place of the defaults. */
  static assuming(assumptions: Partial<Assumptions>): Twin {
    return new Twin({ assumptions });
  }

  now(): number {
    return this.simulation.clock.now();
  }

  advance(ms: number): void {
    this.simulation.clock.advanceTo(this.now() + ms);
  }

  /** Advances until no timer is left. */
  advanceToQuiet(): void {
    const { clock } = this.simulation;
    for (let next = clock.nextAtMs; next !== undefined; next = clock.nextAtMs) {
      clock.advanceTo(next);
    }
  }

  account(name = 'acme'): Account {
    for (const account of this.simulation.world.accounts.values()) {
      if (account.name === name) return account;
    }
    throw new Error(`no account is called ${name}`);
  }

  device(number = acmeNumber): Device {
    const device = this.simulation.world.deviceByNumber(number);
    if (device === undefined) throw new Error(`no SIM has the number ${number}`);
    return device;
  }

  /** The full text of an account's first key. */
  key(name = 'acme'): string {
    const key = this.account(name).keys[0];
    if (key === undefined) throw new Error(`${name} has no key`);
    return key.key;
  }

  request(method: string, path: string, more: Partial<ApiRequest> = {}): Read {
    const usual = { method, authorization: bearer(this.key()) };
    const { reply } = this.simulation.handle(requestTo(path, { ...usual, ...more }));
    return readReply(reply);
  }

  post(path: string, fields: unknown, more: Partial<ApiRequest> = {}): Read {
    const { contentType, body } = postTo(path, fields);
    return this.request('POST', path, { contentType, body, ...more });
  }

  /** A valid send with these fields replaced; `undefined` removes a field. */
  send(fields: Fields = {}, more: Partial<ApiRequest> = {}): Read {
    return this.post('/api/v1/sms/send/', { ...plainSend, ...fields }, more);
  }

  /** A valid send by the account of this name. */
  sendAs(name: string, fields: Fields): Read {
    return this.send(fields, { authorization: `Bearer ${this.key(name)}` });
  }

  read(messageId: unknown, more: Partial<ApiRequest> = {}): Read {
    return this.request('GET', `/api/v1/sms/${String(messageId)}/`, more);
  }

  /** Sends, expects that the message was accepted, and returns its record. */
  accepted(fields: Fields = {}, more: Partial<ApiRequest> = {}): Message {
    const reply = this.send(fields, more);
    const message = this.simulation.world.messages.get(String(reply.json['message_id']));
    if (reply.status !== 202 || message === undefined) {
      throw new Error(`expected 202, got ${reply.status} ${reply.body}`);
    }
    return message;
  }

  /** Every status of a message, with the seconds since the twin's start. */
  history(message: Message): string {
    return messageHistory(message)
      .map(({ status, at }) => `${status} ${at}`)
      .join(', ');
  }

  /** Every message of the world with its history, in order of acceptance. */
  histories(): string[] {
    return [...this.simulation.world.messages.values()].map(
      (message) => `${message.messageId}: ${this.history(message)}; ${message.failureReason ?? ''}`,
    );
  }
}

/** A reader that gets every change of status one by one. */
export function readerOf(changed: StatusReader['changed']): StatusReader {
  return { accepted: () => {}, changed, changedUnread: () => {}, wantedOf: (count) => count };
}

export const plainSend: Fields = { to: recipient, from: acmeNumber, message: 'hello' };

export function readReply(reply: ApiReply): Read {
  return {
    status: reply.status,
    body: reply.body,
    headers: reply.headers ?? {},
    json: JSON.parse(reply.body) as Read['json'],
  };
}
