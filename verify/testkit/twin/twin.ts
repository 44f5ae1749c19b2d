/**
 * For tests: one simulator on a manual clock, and requests to its service and its control port
 * without a socket. Every request goes through the same functions as with a transport.
 */
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import type { StatusReader } from '#src/actors/lifecycle.ts';
import { controlApi } from '#src/control/control-api.ts';
import type { ControlRequest } from '#src/http/transport/transport.ts';
import { routeOf } from '#src/operations/table.ts';
import type { Account, Device, Message } from '#src/sim/accounts/account.ts';
import type { Assumptions } from '#src/sim/assumptions.ts';
import { messageHistory } from '#src/sim/store/message-view.ts';
import type { Simulation } from '#src/simulation/simulation.ts';
import { type InternalOptions, type SettingsInput, Simulator } from '#src/simulator.ts';
import { bearer, postTo, requestTo, sendPaths } from './request.ts';

/** Numbers of the default world, and one without a SIM. */
export const acmeNumber = '+12025550101';
export const acmeOtherNumber = '+12025550102';
export const globexNumber = '+12025550111';
export const poolNumber = '+12025550190';
export const unknownNumber = '+12025550199';
export const recipient = '+12025550123';

/** The interval at which a device polls by default. */
export const pollMs = 20_000;

/** Fields of a request body. */
export type Fields = Readonly<Record<string, unknown>>;

/** A reply as a caller reads it. */
export interface Read {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body, untyped for tests; undefined without one. */
  readonly json: ReturnType<typeof JSON.parse>;
}

export interface TwinOptions extends InternalOptions {
  /** The address that the control port would listen on. */
  readonly host?: string;
  readonly token?: string;
}

export class Twin {
  readonly simulator: Simulator;
  readonly #control: ReturnType<typeof controlApi>['control'];

  constructor(
    settings: SettingsInput = {},
    { host = '127.0.0.1', token, ...options }: TwinOptions = {},
  ) {
    this.simulator = new Simulator({ clock: 'manual', ...settings }, options);
    this.#control = controlApi(this.simulator, { host, token }).control;
  }

  /** A twin with these answers in place of the default ones. */
  static assuming(assumptions: Partial<Assumptions>): Twin {
    return new Twin({ assumptions });
  }

  get simulation(): Simulation {
    return this.simulator.simulation;
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
    for (let next = clock.nextAtMs; next !== undefined; next = clock.nextAtMs)
      clock.advanceTo(next);
  }

  account(name = 'acme'): Account {
    for (const account of this.simulation.world.accounts.values())
      if (account.name === name) return account;
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
    return readReply(this.simulator.handle(requestTo(path, { ...usual, ...more })));
  }

  post(path: string, fields: unknown, more: Partial<ApiRequest> = {}): Read {
    const { contentType, body } = postTo(path, fields);
    return this.request('POST', path, { contentType, body, ...more });
  }

  // The next three are properties, so that a test can destructure a twin.

  /** A valid send with these fields replaced; `undefined` removes a field. */
  readonly send = (fields: Fields = {}, more: Partial<ApiRequest> = {}): Read =>
    this.post(sendPaths.send, { ...plainSend, ...fields }, more);

  /** A request to the control port, with some fields replaced. */
  readonly control = async (overrides: Partial<ControlRequest>): Promise<Read> => {
    const reply = await this.#control({ ...plainRequest, ...overrides });
    if (!('body' in reply)) throw new Error('not a JSON reply');
    return readReply(reply);
  };

  /** An operation over the control port; its path may have a query. */
  readonly call = (method: string, target: string, input?: unknown): Promise<Read> => {
    const [path = '', query = ''] = target.split('?');
    const body = input === undefined ? '' : JSON.stringify(input);
    return this.control({ method, path, query, body });
  };

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
    if (reply.status !== 202 || message === undefined)
      throw new Error(`expected 202, got ${reply.status} ${reply.body}`);
    return message;
  }

  /** Every status of a message with its time, as text. */
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

/** A send by the account at this index, from its first SIM; from the pool if it has none. */
export function sendBy(
  simulator: Pick<Simulator, 'handle' | 'readyFile'>,
  account: number,
  fields: Fields,
): ApiReply {
  const { accounts, pool } = simulator.readyFile();
  const caller = accounts[account];
  const from = (caller?.sims[0] ?? pool[0])?.number;
  const authorization = bearer(caller?.api_key);
  const more = { authorization, clientIp: '127.0.0.1' };
  return simulator.handle(postTo(sendPaths.send, { ...plainSend, from, ...fields }, more));
}

/** A reader that gets every change of status one by one. */
export function readerOf(changed: StatusReader['changed']): StatusReader {
  return { accepted: () => {}, changed, changedUnread: () => {}, wantedOf: (count) => count };
}

/** A request to the control port from this machine. */
export const plainRequest: ControlRequest = {
  ...requestTo(routeOf('simulator.health').path, { clientIp: '127.0.0.1' }),
  headers: { host: '127.0.0.1:8081' },
};

export const plainSend: Fields = { to: recipient, from: acmeNumber, message: 'Hello' };

function readReply({ status, body, headers = {} }: ApiReply): Read {
  return { status, body, headers, json: body === '' ? undefined : JSON.parse(body) };
}
