/**
 * How a defect, a planted mistake of the service, is put into a simulation: it replaces classes of
 * the simulation or wraps its request handling. The simulator itself knows nothing about defects.
 * The functions below, such as `replying` and `refusing`, make the rows of the catalogue.
 */

import type { EndpointName } from '#contract/limits.ts';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import type { Settings } from '#src/config/settings.ts';
import type { Handled } from '#src/http/service/api.ts';
import type { ApiKey, Device } from '#src/sim/accounts/account.ts';
import { type Parts, Simulation } from '#src/simulation/simulation.ts';
import {
  type Answered,
  acceptAnyway,
  type Call,
  callOf,
  changed,
  type Fields,
  invalid,
  isMessageBody,
  objectOf,
  type Sending,
} from './call.ts';

/** Handles a request. */
export type Handler = (request: ApiRequest) => Handled;

/** What a defect changes in a simulation. */
export interface Planted {
  /** Classes that replace those of the simulation. */
  readonly parts?: Partial<Parts>;
  /** Wraps the request handler; called once per simulation, so again after a reset. */
  readonly around?: (next: Handler, simulation: Simulation) => Handler;
}

/** A simulation with a defect. */
export class WrongSimulation extends Simulation {
  readonly #handle: Handler;

  constructor(settings: Settings, startMs: number, { parts = {}, around }: Planted) {
    super(settings, startMs, parts);
    const sound: Handler = (request) => super.handle(request);
    this.#handle = around === undefined ? sound : around(sound, this);
  }

  override handle(request: ApiRequest): Handled {
    return this.#handle(request);
  }
}

/** What the catalogue says about a defect. */
export interface Defect {
  readonly name: string;
  /** The rule that the defect breaks. */
  readonly rule: string;
  /** What a server with the defect does. */
  readonly does: string;
  /** Why a black-box test with flags, two minutes and polls of a second cannot detect it. */
  readonly unseen?: string;
}

export interface DefectRow {
  readonly defect: Defect;
  readonly planted: Planted;
}

/** Makes rows of defects that break one rule. */
export function breaking(
  rule: string,
  rows: Readonly<Record<string, readonly [does: string, planted: Planted, unseen?: string]>>,
): DefectRow[] {
  return Object.entries(rows).map(([name, [does, planted, unseen]]) => {
    return { defect: { name, rule, does, ...(unseen !== undefined && { unseen }) }, planted };
  });
}

/** Handles requests by the function that `create` returns; called once per simulation. */
export function handling(
  create: (simulation: Simulation) => (call: Call, next: Handler) => Handled,
): Planted {
  return {
    around: (next, simulation) => {
      const handle = create(simulation);
      return (request) => handle(callOf(request, simulation), next);
    },
  };
}

/** A defect in replies: `change` returns the reply to send. */
export function replying(
  change: (exchange: Answered) => ApiReply,
  when: (exchange: Answered) => boolean = () => true,
): Planted {
  return handling(() => (call, next) => {
    const handled = next(call.request);
    const exchange = { ...call, reply: handled.reply };
    return when(exchange) ? { ...handled, reply: change(exchange) } : handled;
  });
}

/** Replaces replies with this status by the result of `change`. */
export function refusing(status: number, change: (exchange: Answered) => ApiReply): Planted {
  return replying(change, ({ reply }) => reply.status === status);
}

/** Changes the Message body; `change` returns the fields that differ. */
export function describing(
  change: (fields: Fields, exchange: Answered) => Fields,
  when: (exchange: Answered) => boolean = isMessageBody,
): Planted {
  return replying((exchange) => {
    const fields = objectOf(exchange.reply.body);
    const { reply } = exchange;
    if (fields === undefined) return reply;
    return { ...reply, body: JSON.stringify({ ...fields, ...change(fields, exchange) }) };
  }, when);
}

/** A defect in the reading of requests: `change` returns what is read instead. */
export function reading(change: (call: Call) => Partial<ApiRequest> | undefined): Planted {
  return handling(() => (call, next) => next(changed(call.request, change(call))));
}

/** The number of characters before the first hyphen of a UUID. */
const firstBlock = 8;

/** One endpoint takes an id for the caller's own one that begins with the same block. */
export function comparingFirstBlocks(
  endpoint: EndpointName,
  ownIds: (key: ApiKey) => readonly string[],
): Planted {
  return reading(({ request, endpoint: called, key, id }) => {
    const ids = key !== undefined && called === endpoint ? ownIds(key) : [];
    const found = ids.find((one) => one.slice(0, firstBlock) === id.slice(0, firstBlock));
    return found === undefined ? undefined : { path: request.path.replace(id, found) };
  });
}

/** Reads these fields of a send in place of the given ones; `undefined` removes one. */
export function understanding(change: (fields: Fields, call: Call) => Fields): Planted {
  return reading((call) => {
    const { fields } = call;
    if (fields === undefined) return undefined;
    return { body: JSON.stringify({ ...fields, ...change(fields, call) }) };
  });
}

/** Reads a text field of a send as what `change` returns; undefined removes it. */
export function rewriting(
  field: string,
  change: (text: string, call: Call) => string | undefined,
): Planted {
  return understanding(({ [field]: text }, call) =>
    typeof text === 'string' ? { [field]: change(text, call) } : {},
  );
}

/** Answers some requests in place of the service; undefined passes a request on. */
export function answering(change: (call: Call) => ApiReply | undefined): Planted {
  return handling(() => (call, next) => {
    const reply = change(call);
    if (reply === undefined) return next(call.request);
    return { endpoint: call.endpoint, key: call.key, reply };
  });
}

/** Answers some sends of authenticated callers in place of the service. */
export function answeringSends(change: (call: Sending) => ApiReply | undefined): Planted {
  return answering((call) => {
    const { key, fields } = call;
    return key === undefined || fields === undefined ? undefined : change({ ...call, key, fields });
  });
}

/** Refuses sends whose text field satisfies `isRefused`. */
export function refusingField(field: string, isRefused: (text: string) => boolean): Planted {
  return answeringSends((call) => {
    const text = call.fields[field];
    return typeof text === 'string' && isRefused(text) ? invalid(field, call) : undefined;
  });
}

/** Accepts a send from the SIM that `choose` returns, if any. */
export function acceptingFrom(choose: (call: Sending) => Device | undefined): Planted {
  return answeringSends((call) => {
    const device = choose(call);
    return device && acceptAnyway(call, device);
  });
}

/** Reasons why a black-box test cannot see a defect (`Defect.unseen`). */
export const because = {
  aDay: 'it shows a day later at the earliest',
  reportedLater:
    'a device may report later what it was handed (taskPickup), and does so at its next poll',
  aMonth: 'it shows when the next month of the quota has begun',
  aChange: 'a SIM would have to be switched off, or withdrawn, during the run',
  aQuota: 'it needs an account whose remaining quota is small and known',
  aRecipient: 'it needs a second recipient of --allow-to',
  anotherSim: 'it needs two working SIMs of one account, and the flags name one',
  noSim: 'it needs an account without a connected SIM, which no flag names',
} as const;
