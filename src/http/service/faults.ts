/**
 * The faults in force, and how a request is handled under them. If several apply to one request,
 * their delays add up; of the others, only the one that was created first acts.
 * Rules: ERR-3, ERR-4 (a 429 that a fault forces without headers has a correct wait).
 */
import {
  type ActingFault,
  type FaultFields,
  type FaultKind,
  type FaultSpec,
  faultKinds,
  isHandled,
  type StrikingFault,
  type UnhandledFault,
} from '#contract/fault-kinds.ts';
import type { SendRefusal } from '#contract/refusals.ts';
import type { ApiReply, ApiRequest, Delivery } from '#contract/request-and-reply.ts';
import { secondMs } from '#contract/time.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import type { Limiter } from '../../sim/limiter/limiter.ts';
import { Rng } from '../../sim/random.ts';
import { addressOf, authenticate, type Handled, handle } from './api.ts';
import { Fault, type FaultState, type FaultSubject, SimulatorRequest } from './fault.ts';
import { refuse } from './templated-replies.ts';

/** Chooses a fault for a request, which then acts before the faults in force. */
export type FaultChooser = (world: Registry, request: ApiRequest) => ChosenFault | undefined;
export type ChosenFault = FaultKind & Chosen;
interface Chosen {
  /** The shortest wait that a 429 without headers asks for. Default 1. */
  readonly waitSeconds?: number;
  /** A refusal of the service whose reply replaces that of the fault. */
  readonly refusal?: SendRefusal;
  /** How long the reply waits, in real milliseconds. */
  readonly heldMs?: number;
}

export interface FaultEffect {
  readonly delayMs: number;
  /** The one fault that acts besides the delays. */
  readonly acting: (ActingFault & Chosen) | undefined;
  /** The fault that the record names: the acting one, or else the first delay. */
  readonly struck: StrikingFault | undefined;
}

export class Faults {
  readonly #chance: (label: string) => Rng;
  /** Set by the explorer of client faults. */
  chooseFault: FaultChooser | undefined;
  #faults: Fault[] = [];
  #created = 0;

  /** `chance`: creates the random stream of one fault. */
  constructor(chance: (label: string) => Rng) {
    this.#chance = chance;
  }

  get isEmpty(): boolean {
    return this.#faults.length === 0 && this.chooseFault === undefined;
  }

  get list(): readonly Fault[] {
    return this.#faults;
  }

  /** How many faults were ever created. No ordinal is reused, so none shares a random stream. */
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
    const others = this.#faults.filter((fault) => fault.faultId !== faultId);
    const isFound = others.length < this.#faults.length;
    this.#faults = others;
    return isFound;
  }

  clear(): void {
    this.#faults = [];
  }

  restore(created: number, states: readonly FaultState[]): void {
    this.#created = created;
    this.#faults = states.map(({ ordinal, spec, seen, hits, rng, paused: isPaused = false }) =>
      Object.assign(new Fault(ordinal, spec, new Rng(rng)), { seen, hits, isPaused }),
    );
  }

  /** Handles a request as the service does, then applies its faults. */
  handle(world: Registry, limiter: Limiter, request: ApiRequest): Handled {
    const chosen = this.chooseFault?.(world, request);
    const subject = new SimulatorRequest(world, request);
    const { delayMs, acting, struck } = this.effectOn(subject, chosen);
    const handled = isHandled(acting)
      ? handle(world, limiter, request)
      : answerUnhandled(subject, limiter, acting);
    const reply = damagedReply(handled.reply, acting);
    const result = { ...handled, reply, struck, lookedAt: subject.lookedAt };
    if (delayMs === 0) return result;
    const delivery: Delivery = { ...reply.delivery, delayMs };
    return { ...result, reply: { ...reply, delivery } };
  }

  /** Finds the faults that act on a request, and counts them. `chosen` acts before the others. */
  effectOn(subject: FaultSubject, chosen?: ChosenFault): FaultEffect {
    let delayMs = (chosen?.heldMs ?? 0) + (chosen?.kind === 'delay' ? chosen.ms : 0);
    let acting: FaultEffect['acting'] = chosen?.kind === 'delay' ? undefined : chosen;
    let struck: StrikingFault | undefined = chosen && { faultId: undefined, kind: chosen.kind };
    for (const due of this.#faults.filter((fault) => fault.countMatch(subject))) {
      const { fault } = due.spec;
      if (fault.kind !== 'delay' && acting !== undefined) continue;
      due.hits++;
      if (fault.kind === 'delay') delayMs += fault.ms;
      else acting = fault;
      const isStronger = struck?.kind === 'delay' && fault.kind !== 'delay';
      if (struck === undefined || isStronger) struck = { faultId: due.faultId, kind: fault.kind };
    }
    return { delayMs, acting, struck };
  }
}

/** Answers a request that the service does not handle, because of `fault`. */
function answerUnhandled(
  subject: SimulatorRequest,
  limiter: Limiter,
  fault: UnhandledFault & Chosen,
): Handled {
  const { world, request, endpoint } = subject;
  const key = authenticate(world, request.authorization);
  // No byte of this reply is sent: every such fault cuts it.
  if (fault.kind !== 'status') return { endpoint, key, reply: { status: 503, body: '' } };
  if (fault.refusal !== undefined) {
    const reply = refuse(world, request, { kind: fault.refusal });
    return { endpoint, key, reply, isForced: true };
  }
  if (fault.status !== tooManyRequests || fault.headers !== undefined)
    return { endpoint, key, reply: statedReply(fault), isForced: true };
  const caller = key?.account.accountId ?? addressOf(world, request);
  const waitMs = endpoint === undefined ? 0 : limiter.waitMs(endpoint, caller);
  return { endpoint, key, reply: forcedThrottle(subject, waitMs, fault) };
}

const tooManyRequests = 429;
/** The wait in a forced 429 if the caller has tokens, so that the limiter asks for no wait. */
const shortestWaitSeconds = 1;

/** A 429 that a fault forces. `waitMs`: the wait that the limiter would ask for. */
function forcedThrottle(
  { world, request }: SimulatorRequest,
  waitMs: number,
  fault: FaultFields['status'] & Chosen,
): ApiReply {
  const shortestSeconds = fault.waitSeconds ?? shortestWaitSeconds;
  const retryAfterSeconds = Math.max(Math.ceil(waitMs / secondMs), shortestSeconds);
  if (fault.body === undefined)
    return refuse(world, request, { kind: 'throttled', retryAfterSeconds });
  return { ...statedReply(fault), headers: { 'retry-after': String(retryAfterSeconds) } };
}

/** The reply that a fault states itself. */
export function statedReply({
  status,
  body = { detail: 'Injected fault.' },
  headers,
}: FaultFields['status']): ApiReply {
  const reply = { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
  if (headers === undefined) return reply;
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...reply, headers: Object.fromEntries(lowerCase) };
}

/** The reply as a fault changes or cuts it. */
function damagedReply(reply: ApiReply, fault: FaultKind | undefined): ApiReply {
  if (fault === undefined) return reply;
  const effect = faultKinds[fault.kind].reply;
  switch (effect) {
    case 'late':
    case 'stated':
      return reply;
    case 'malformed':
      return { ...reply, body: malformedBody(reply.body) };
    case 'close':
    case 'truncate':
    case 'reset':
    case 'hang':
      // A new object: the simulator finds the request of a delivery by its identity.
      return { ...reply, delivery: { cut: effect } };
    default:
      return effect satisfies never;
  }
}

/** Half of a JSON object is not valid JSON; an empty body is replaced by other invalid text. */
export function malformedBody(body: string): string {
  return body.slice(0, Math.floor(body.length / 2)) || '{';
}
