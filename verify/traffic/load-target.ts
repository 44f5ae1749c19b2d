/** The services that the mixed load is sent to: a simulator, or a foreign server. */
import type { TrafficExchange } from '../../src/commands/recorded-traffic.ts';
import type { Settings } from '../../src/config/settings.ts';
import type { Simulation } from '../../src/simulation/simulation.ts';
import { createSimulator, type SettingsInput } from '../../src/simulator.ts';
import { ForeignService } from '../foreign/service.ts';
import type { Variation } from '../foreign/variation.ts';
import { callersIn, exhaustedFrom, flagsSettings } from '../harness/flags-world.ts';

/** A request of the load. */
export interface LoadRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A service whose clock the load moves. */
export interface LoadTarget {
  /** The key of the main account, which sends most of the load. */
  readonly key: string;
  /** Another key of the main account. */
  readonly other: string;
  /** The key of the second account. */
  readonly second: string;
  /** A revoked key of the main account. */
  readonly revoked: string;
  /** The key of an account whose quota is spent. */
  readonly exhausted: string;
  /** The id of the main account's SIM with the number `mainFrom`. */
  readonly device: string;
  /** The number of the account whose quota is spent. */
  readonly exhaustedFrom: string;
  now(): number;
  advance(ms: number): void;
  /** The account's owner changes its main SIM. */
  changeSim?(change: { active: boolean } | { polling: 'simulated' | 'external' }): void;
  answer(
    request: LoadRequest,
  ): Pick<NonNullable<TrafficExchange['reply']>, 'status' | 'headers'> & { body: string };
  close?(): Promise<void>;
}

export async function simulatedTarget(
  assumptions: SettingsInput['assumptions'] = {},
  simulation?: (settings: Settings, startMs: number) => Simulation,
): Promise<LoadTarget & { close(): Promise<void> }> {
  const simulator = await createSimulator(
    { ...flagsSettings, clock: 'manual', assumptions: { ...assumptions } },
    { journal: false, simulation },
  );
  const callers = callersIn(simulator);
  return {
    ...callers,
    exhaustedFrom,
    now: () => simulator.simulation.clock.now(),
    changeSim: (change) => void simulator.sims.patch(callers.device, change),
    advance: (ms) => void simulator.clock.advance(`${ms}ms`),
    answer: ({ method, path: target, headers, body }) => {
      const [path = '', query = ''] = target.split('?', 2);
      const { authorization, 'content-type': contentType } = headers;
      const request = { method, path, query, authorization, contentType, body };
      const reply = simulator.handle({
        ...request,
        clientIp: '127.0.0.1',
        forwardedFor: undefined,
      });
      const date = new Date(simulator.simulation.clock.now()).toUTCString();
      return {
        status: reply.status,
        headers: { 'content-type': 'application/json', date, ...reply.headers },
        body: reply.body,
      };
    },
    close: () => simulator.close(),
  };
}

export function foreignTarget(variation: Variation): LoadTarget {
  let now = Date.parse('2026-03-05T09:00:00.250Z');
  const service = new ForeignService(variation, () => now);
  const flag = (name: string): string => service.flags[name] ?? '';
  return {
    key: flag('api-key'),
    other: flag('other-api-key'),
    second: flag('second-api-key'),
    revoked: flag('revoked-key'),
    exhausted: flag('exhausted-api-key'),
    device: flag('device-id'),
    exhaustedFrom: flag('exhausted-from'),
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
    answer: ({ method, path, headers, body }) => {
      const [pathname = '', query = ''] = path.split('?', 2);
      const request = { method, path: pathname, query, headers, address: '127.0.0.1' };
      const reply = service.answer({ ...request, body: Buffer.from(body) });
      const date = new Date(now).toUTCString();
      return { ...reply, headers: { 'content-type': service.contentType, date, ...reply.headers } };
    },
  };
}
