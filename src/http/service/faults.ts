/**
 * The faults in force, and a request handled under them. If several apply to one request, their
 * delays add up; of the others, the one that was created first acts. Rules: ERR-3, ERR-4 for a
 * forced 429 without a body of its own.
 */

import { secondMs } from '../../ledger/time-units.ts';
import type { Limiter } from '../../sim/limiter.ts';
import { Rng } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import { addressOf, authenticate, type Handled, handle } from './api.ts';
import {
  Fault,
  type FaultKind,
  type FaultSpec,
  type FaultState,
  type FaultSubject,
  Subject,
} from './fault.ts';
import type { ApiReply, ApiRequest, Delivery } from './messages.ts';
import { refuse } from './templated-replies.ts';

/** Chooses the fault of each request, ahead of the faults in force. */
export type FaultChooser = (world: World, request: ApiRequest) => FaultKind | undefined;

/** The faults that act on one request: their delays, and what else. */
export interface Strike {
  readonly delayMs: number;
  readonly acting: Exclude<FaultKind, { kind: 'delay' }> | undefined;
}

export class Faults {
  readonly #chance: (label: string) => Rng;
  chooseFault: FaultChooser | undefined;
  #faults: Fault[] = [];
  #created = 0;

  /** `chance`: creates a fault's own random stream. */
  constructor(chance: (label: string) => Rng) {
    this.#chance = chance;
  }

  get isEmpty(): boolean {
    return this.#faults.length === 0 && this.chooseFault === undefined;
  }

  get list(): readonly Fault[] {
    return this.#faults;
  }

  /** Faults ever created. Ordinals are not reused, so no two faults share a random stream. */
  get created(): number {
    return this.#created;
  }

  add(spec: FaultSpec): Fault {
    const ordinal = ++this.#created;
    const fault = new Fault(ordinal, spec, this.#chance(`fault:${ordinal}`));
    this.#faults.push(fault);
    return fault;
  }

  remove(faultId: string): boolean {
    const left = this.#faults.filter((fault) => fault.faultId !== faultId);
    const isFound = left.length < this.#faults.length;
    this.#faults = left;
    return isFound;
  }

  clear(): void {
    this.#faults = [];
  }

  restore(created: number, states: readonly FaultState[]): void {
    this.#created = created;
    this.#faults = states.map(({ ordinal, spec, seen, hits, rng }) =>
      Object.assign(new Fault(ordinal, spec, new Rng(rng)), { seen, hits }),
    );
  }

  /** Handles a request as the service does, then applies its faults. */
  handle(world: World, limiter: Limiter, request: ApiRequest): Handled {
    const chosen = this.chooseFault?.(world, request);
    const subject = new Subject(world, request);
    const { delayMs, acting } = this.strike(subject, chosen);
    const handled = isHandled(acting)
      ? handle(world, limiter, request)
      : this.#unhandled(world, limiter, request, subject, acting);
    const reply = mistreated(handled.reply, acting);
    if (delayMs === 0) return { ...handled, reply };
    const delivery: Delivery = { ...reply.delivery, delayMs };
    return { ...handled, reply: { ...reply, delivery } };
  }

  /** What acts on a request; counts it. `chosen` goes first. */
  strike(subject: FaultSubject, chosen?: FaultKind): Strike {
    let delayMs = chosen?.kind === 'delay' ? chosen.ms : 0;
    let acting = chosen?.kind === 'delay' ? undefined : chosen;
    for (const due of this.#faults.filter((fault) => fault.isDue(subject))) {
      const { fault } = due.spec;
      if (fault.kind !== 'delay' && acting !== undefined) continue;
      due.hits++;
      if (fault.kind === 'delay') delayMs += fault.ms;
      else acting = fault;
    }
    return { delayMs, acting };
  }

  #unhandled(
    world: World,
    limiter: Limiter,
    request: ApiRequest,
    { endpoint }: Subject,
    fault: Unhandled,
  ): Handled {
    const key = authenticate(world, request.authorization);
    if (fault.kind !== 'status') {
      const reply = unserved[fault.kind];
      // An object of its own: the delivery says which request is under way.
      return { endpoint, key, reply: { ...reply, delivery: { ...reply.delivery } } };
    }
    if (fault.status !== tooMany || fault.headers !== undefined) {
      return { endpoint, key, reply: forced(fault), isForced: true };
    }
    const caller = key?.account.accountId ?? addressOf(world, request);
    const waitMs = endpoint === undefined ? 0 : limiter.waitMs(endpoint, caller);
    const shortestSeconds = fault.waitSeconds ?? shortestWaitSeconds;
    const retryAfterSeconds = Math.max(Math.ceil(waitMs / secondMs), shortestSeconds);
    const throttled = refuse(world, request, { kind: 'throttled', retryAfterSeconds });
    const reply =
      fault.body === undefined
        ? throttled
        : { ...forced(fault), headers: { 'retry-after': String(retryAfterSeconds) } };
    return { endpoint, key, reply };
  }
}

type Forced = Extract<FaultKind, { kind: 'status' }>;
type Unhandled = Forced | Extract<FaultKind, { kind: 'refuse' | 'reset' | 'lost_request' }>;

/** False if the fault acts before the service handles the request. */
export function isHandled(
  fault: FaultKind | undefined,
): fault is Exclude<FaultKind, Unhandled> | undefined {
  return fault === undefined || (fault.kind !== 'status' && !Object.hasOwn(unserved, fault.kind));
}

const tooMany = 429;
/**
 * The wait in a forced 429 if the caller's bucket is not empty: the next request would pass at
 * once.
 */
const shortestWaitSeconds = 1;
const unserved = {
  refuse: { status: 503, body: '', delivery: { cut: 'close' } },
  reset: { status: 503, body: '', delivery: { cut: 'reset' } },
  lost_request: { status: 503, body: '', delivery: { cut: 'hang' } },
} as const satisfies Readonly<Record<string, ApiReply>>;

export function forced({
  status,
  body = { detail: 'Injected fault.' },
  headers,
}: Forced): ApiReply {
  const reply = { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
  if (headers === undefined) return reply;
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...reply, headers: Object.fromEntries(lowerCase) };
}

function mistreated(reply: ApiReply, fault: FaultKind | undefined): ApiReply {
  switch (fault?.kind) {
    case 'lost_response':
      return { ...reply, delivery: { cut: 'close' } };
    case 'hang':
    case 'truncate':
      return { ...reply, delivery: { cut: fault.kind } };
    case 'malformed':
      return { ...reply, body: malformed(reply.body) };
    default:
      return reply;
  }
}

/** Half of a JSON text is not valid JSON; an empty body is replaced by other invalid text. */
export function malformed(body: string): string {
  return body.slice(0, Math.floor(body.length / 2)) || '{';
}
