/**
 * Plants a defect: replaces parts of the simulation, or wraps its request handling. The simulator
 * itself does not know of defects and runs its own classes unwrapped.
 */

import type { Settings } from '../config/settings.ts';
import type { Handled } from '../http/service/api.ts';
import type { ApiReply, ApiRequest } from '../http/service/messages.ts';
import { matchRoute } from '../http/service/routes.ts';
import type { EndpointName } from '../sim/limits.ts';
import { type Parts, Simulation } from '../simulation/simulation.ts';

export type Answer = (request: ApiRequest) => Handled;

/** Wraps the request handler; called once per simulation, so again after a reset. */
export type Around = (next: Answer, simulation: Simulation) => Answer;

export interface Planted {
  readonly parts?: Partial<Parts>;
  readonly around?: Around;
}

/** Defects by name. */
export type Defects = Readonly<Record<string, Planted>>;

/** A simulation with a defect. */
export class WrongSimulation extends Simulation {
  readonly #answer: Answer;

  constructor(settings: Settings, startMs: number, { parts = {}, around }: Planted) {
    super(settings, startMs, parts);
    const sound: Answer = (request) => super.handle(request);
    this.#answer = around === undefined ? sound : around(sound, this);
  }

  override handle(request: ApiRequest): Handled {
    return this.#answer(request);
  }
}

/** One request with the service's correct reply. */
export interface Exchange {
  readonly request: ApiRequest;
  readonly reply: ApiReply;
  readonly endpoint: EndpointName | undefined;
  readonly key: Handled['key'];
  readonly simulation: Simulation;
}

/** A defect in replies: `change` returns the reply to send. */
export function replying(change: (exchange: Exchange) => ApiReply): Planted {
  return {
    around: (next, simulation) => (request) => {
      const { endpoint, key, reply } = next(request);
      return {
        endpoint,
        key,
        reply: change({ request, reply, endpoint, key, simulation }),
      };
    },
  };
}

/** A defect in the reading of requests: `change` returns the request to handle. */
export function reading(
  change: (request: ApiRequest, simulation: Simulation) => ApiRequest,
): Planted {
  return { around: (next, simulation) => (request) => next(change(request, simulation)) };
}

/** Answers some requests in place of the service; undefined passes a request on. */
export function answering(
  change: (request: ApiRequest, simulation: Simulation) => ApiReply | undefined,
): Planted {
  return {
    around: (next, simulation) => (request) => {
      const reply = change(request, simulation);
      if (reply === undefined) return next(request);
      return { endpoint: endpointOf(request), key: undefined, reply };
    },
  };
}

export function endpointOf(request: ApiRequest): EndpointName | undefined {
  return matchRoute(request.path)?.route.endpoint;
}
