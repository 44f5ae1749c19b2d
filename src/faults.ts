/**
 * Failures that a user injects: which requests they hit, and what becomes of those. Exact and repeatable: each
 * fault counts the requests that it matches, and draws from a stream of its own, so neither other faults nor
 * other traffic change its victims.
 * Where several hit one request, their delays add up, and of the rest the first that was created acts.
 */
import { type Handled, handle } from './http/api.ts';
import { authenticate } from './http/authenticate.ts';
import type { ApiReply, ApiRequest, Delivery } from './http/messages.ts';
import { matchRoute } from './http/routes.ts';
import type { Limiter } from './sim/limiter.ts';
import type { EndpointName } from './sim/limits.ts';
import { patternShape } from './sim/outcomes.ts';
import { Rng, type RngState } from './sim/rng.ts';
import type { World } from './sim/world.ts';

export type FaultKind =
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'status'; readonly status: number; readonly body?: unknown }
  /** Closed before it is accepted: nothing happens, nothing is spent. */
  | { readonly kind: 'refuse' }
  /** Accepted, then closed. */
  | { readonly kind: 'lost_response' }
  | { readonly kind: 'truncate' }
  | { readonly kind: 'malformed' };

export interface FaultSpec {
  readonly match: {
    readonly endpoint?: EndpointName | undefined;
    readonly account_id?: string | undefined;
    /** A recipient; `*` stands for any digits. */
    readonly to?: string | undefined;
  };
  readonly when:
    | { readonly nth: readonly number[] }
    | { readonly every: number }
    | { readonly probability: number };
  /** How often it acts at most. */
  readonly times?: number | undefined;
  readonly fault: FaultKind;
}

/** What a snapshot holds of one fault. */
export interface FaultState {
  readonly ordinal: number;
  readonly spec: FaultSpec;
  readonly seen: number;
  readonly hits: number;
  readonly rng: RngState;
}

export class Fault {
  readonly ordinal: number;
  readonly spec: FaultSpec;
  readonly #to: RegExp | undefined;
  readonly #rng: Rng;
  /** Requests that it matched, and those that it acted on. */
  seen = 0;
  hits = 0;

  constructor(ordinal: number, spec: FaultSpec, rng: Rng) {
    this.ordinal = ordinal;
    this.spec = spec;
    this.#to = spec.match.to === undefined ? undefined : patternShape(spec.match.to);
    this.#rng = rng;
  }

  get faultId(): string {
    return `fault-${this.ordinal}`;
  }

  get state(): FaultState {
    const { ordinal, spec, seen, hits } = this;
    return { ordinal, spec, seen, hits, rng: this.#rng.state };
  }

  /** Whether this request is one of its victims; counts and draws for each that it matches. */
  isDue(subject: Subject): boolean {
    const { match, when, times } = this.spec;
    const isMatch =
      (match.endpoint === undefined || match.endpoint === subject.endpoint) &&
      (match.account_id === undefined || match.account_id === subject.accountId) &&
      (this.#to === undefined || this.#to.test(subject.to));
    if (!isMatch) return false;
    this.seen++;
    const fires =
      'nth' in when
        ? when.nth.includes(this.seen)
        : 'every' in when
          ? this.seen % when.every === 0
          : this.#rng.fraction() < when.probability;
    return fires && (times === undefined || this.hits < times);
  }
}

/** What a fault looks at; found out when the first one asks. */
class Subject {
  readonly #world: World;
  readonly #request: ApiRequest;
  readonly endpoint: EndpointName | undefined;
  #accountId: string | undefined;
  #to: string | undefined;

  constructor(world: World, request: ApiRequest) {
    this.#world = world;
    this.#request = request;
    this.endpoint = matchRoute(request.path)?.route.endpoint;
  }

  get accountId(): string {
    this.#accountId ??=
      authenticate(this.#world, this.#request.authorization)?.account.accountId ?? '';
    return this.#accountId;
  }

  get to(): string {
    this.#to ??= recipientOf(this.#request.body);
    return this.#to;
  }
}

export class Faults {
  readonly #seed: number;
  #faults: Fault[] = [];
  #created = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  get isEmpty(): boolean {
    return this.#faults.length === 0;
  }

  get list(): readonly Fault[] {
    return this.#faults;
  }

  /** How many there ever were: their ordinals, and with them their chance, are never used twice. */
  get created(): number {
    return this.#created;
  }

  add(spec: FaultSpec): Fault {
    const ordinal = ++this.#created;
    const fault = new Fault(ordinal, spec, Rng.stream(this.#seed, `fault:${ordinal}`));
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

  /** Handles a request as the service would, but for the faults that hit it. */
  handle(world: World, limiter: Limiter, request: ApiRequest): Handled {
    const subject = new Subject(world, request);
    let delayMs = 0;
    let acting: FaultKind | undefined;
    for (const due of this.#faults.filter((fault) => fault.isDue(subject))) {
      const { fault } = due.spec;
      if (fault.kind !== 'delay' && acting !== undefined) continue;
      due.hits++;
      if (fault.kind === 'delay') delayMs += fault.ms;
      else acting = fault;
    }
    const handled = isHandled(acting)
      ? handle(world, limiter, request)
      : { endpoint: subject.endpoint, key: keyOf(world, request), reply: unhandled(acting) };
    const reply = mistreated(handled.reply, acting);
    if (delayMs === 0) return { ...handled, reply };
    const delivery: Delivery = { ...reply.delivery, delayMs };
    return { ...handled, reply: { ...reply, delivery } };
  }
}

type Unhandled = Extract<FaultKind, { kind: 'status' | 'refuse' }>;

function isHandled(
  fault: FaultKind | undefined,
): fault is Exclude<FaultKind, Unhandled> | undefined {
  return fault === undefined || (fault.kind !== 'status' && fault.kind !== 'refuse');
}

function unhandled(fault: Unhandled): ApiReply {
  if (fault.kind === 'refuse') return { status: 503, body: '', delivery: { cut: 'close' } };
  const { status, body = { detail: 'Injected fault.' } } = fault;
  return { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

function mistreated(reply: ApiReply, fault: FaultKind | undefined): ApiReply {
  switch (fault?.kind) {
    case 'lost_response':
      return { ...reply, delivery: { cut: 'close' } };
    case 'truncate':
      return { ...reply, delivery: { cut: 'truncate' } };
    case 'malformed':
      // Half of a JSON text is never JSON; an empty body becomes one that is not either.
      return { ...reply, body: reply.body.slice(0, Math.floor(reply.body.length / 2)) || '{' };
    default:
      return reply;
  }
}

function keyOf(world: World, request: ApiRequest): Handled['key'] {
  return authenticate(world, request.authorization);
}

function recipientOf(body: ApiRequest['body']): string {
  try {
    const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
    const value: unknown = JSON.parse(text);
    const to = typeof value === 'object' && value !== null && 'to' in value ? value.to : '';
    return typeof to === 'string' ? to : '';
  } catch {
    return '';
  }
}
