/** For tests of the control API: a simulator with a manual clock, and calls without a socket. */

import type { ApiReply } from '#contract/request-and-reply.ts';
import { controlApi } from '#src/control/control-api.ts';
import type { ControlRequest } from '#src/http/transport/transport.ts';
import { routeOf } from '#src/operations/table.ts';
import { type SettingsInput, Simulator } from '#src/simulator.ts';
import { bearer, postTo, requestTo, sendPaths } from './request.ts';

export interface JsonReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON of any reply, untyped for tests. */
  readonly json: ReturnType<typeof JSON.parse>;
}

export interface ControlFixture {
  readonly simulator: Simulator;
  call(method: string, path: string, body?: unknown): Promise<JsonReply>;
  request(overrides: Partial<ControlRequest>): Promise<JsonReply>;
  /** A send of an account with its first key, from the service's point of view. */
  send(body: Readonly<Record<string, unknown>>, account?: number): ApiReply;
}

export function controlFixture(
  settings: SettingsInput = {},
  options: { readonly host?: string; readonly token?: string } = {},
): ControlFixture {
  const simulator = new Simulator({ clock: 'manual', ...settings });
  const { host = '127.0.0.1', token } = options;
  const { control: handle } = controlApi(simulator, { host, token });
  const request = async (overrides: Partial<ControlRequest>): Promise<JsonReply> => {
    const reply = await handle({ ...plainRequest, ...overrides });
    if (!('body' in reply)) throw new Error('not a JSON reply');
    const { status, body, headers = {} } = reply;
    return { status, headers, json: body === '' ? undefined : JSON.parse(body) };
  };
  return {
    simulator,
    request,
    call: (method, target, body) => {
      const [path = '', query = ''] = target.split('?');
      return request({
        method,
        path,
        query,
        body: body === undefined ? '' : JSON.stringify(body),
      });
    },
    send: (body, account = 0) => sendBy(simulator, account, body),
  };
}

/** A send of an account with its first key, from its first SIM or otherwise the pool. */
export function sendBy(
  simulator: Pick<Simulator, 'handle' | 'readyFile'>,
  account: number,
  fields: Readonly<Record<string, unknown>>,
): ApiReply {
  const { accounts, pool } = simulator.readyFile();
  const caller = accounts[account];
  const from = (caller?.sims[0] ?? pool[0])?.number;
  const send = { to: '+12025550123', from, message: 'Hello', ...fields };
  return simulator.handle(
    postTo(sendPaths.send, send, { authorization: bearer(caller?.api_key), clientIp: '127.0.0.1' }),
  );
}

export const plainRequest: ControlRequest = {
  ...requestTo(routeOf('simulator.health').path, { clientIp: '127.0.0.1' }),
  headers: { host: '127.0.0.1:8081' },
};
