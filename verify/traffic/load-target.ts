/** The services that the mixed load is sent to: a simulator, or a foreign server. */
import type { TrafficExchange } from '#contract/exchange.ts';
import type { Settings } from '#src/config/settings.ts';
import type { Simulation } from '#src/simulation/simulation.ts';
import { createSimulator, type SettingsInput } from '#src/simulator.ts';
import { ForeignService } from '../foreign/service.ts';
import type { Variation } from '../foreign/variation.ts';
import { type Callers, callersIn, flagsSettings, flagValuesOf } from '../harness/flags-world.ts';
import { requestTo } from '../testkit/twin/request.ts';

/** A request of the load. */
export type LoadRequest = Pick<TrafficExchange, 'method' | 'path' | 'headers'> & {
  readonly body: string;
};

/** A service whose clock the load moves. */
export interface LoadTarget extends Callers {
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
  const callers = callersIn(flagValuesOf(simulator));
  return {
    ...callers,
    now: () => simulator.simulation.clock.now(),
    changeSim: (change) => void simulator.sims.patch(callers.deviceId, change),
    advance: (ms) => void simulator.clock.advance(`${ms}ms`),
    answer: ({ method, path, headers, body }) => {
      const { authorization, 'content-type': contentType } = headers;
      const fields = { method, authorization, contentType, clientIp: '127.0.0.1', body };
      const reply = simulator.handle(requestTo(path, fields));
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
  return {
    ...callersIn(service.flags),
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
    answer: ({ method, path, headers, body }) => {
      const request = { method, path, query: '', headers, address: '127.0.0.1' };
      const reply = service.answer({ ...request, body: Buffer.from(body) });
      const date = new Date(now).toUTCString();
      return { ...reply, headers: { 'content-type': service.contentType, date, ...reply.headers } };
    },
  };
}
