/**
 * One fault: which requests it affects, and how. It has its own counter and random stream, so that
 * other faults and other traffic do not change which requests it affects.
 */

import type { EndpointName } from '../../sim/limits.ts';
import { type NumberTest, numberTest } from '../../sim/outcomes.ts';
import type { Rng, RngState } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import { authenticate } from './api.ts';
import type { ApiRequest } from './messages.ts';
import { matchRoute } from './routes.ts';

export type FaultKind =
  | { readonly kind: 'delay'; readonly ms: number }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body?: unknown;
      /** Checked text, sent unchanged. */
      readonly headers?: Readonly<Record<string, string>>;
      /** The shortest wait that a 429 without headers asks for. Default 1. */
      readonly waitSeconds?: number;
    }
  /** Closed before the service accepts it: nothing happens, and no token is spent. */
  | { readonly kind: 'refuse' }
  /** As `refuse`, with a TCP reset. */
  | { readonly kind: 'reset' }
  /** Never handled, and never answered: the connection stays open until the client closes it. */
  | { readonly kind: 'lost_request' }
  /** Accepted, then closed. */
  | { readonly kind: 'lost_response' }
  /** Accepted, then never answered. */
  | { readonly kind: 'hang' }
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
  /** The largest number of times that it acts. */
  readonly times?: number | undefined;
  readonly fault: FaultKind;
}

/** The fields of one fault in a snapshot. */
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
  readonly #to: NumberTest | undefined;
  readonly #rng: Rng;
  /** Requests that matched, and requests that it affected. */
  seen = 0;
  hits = 0;

  constructor(ordinal: number, spec: FaultSpec, rng: Rng) {
    this.ordinal = ordinal;
    this.spec = spec;
    this.#to = spec.match.to === undefined ? undefined : numberTest(spec.match.to);
    this.#rng = rng;
  }

  get faultId(): string {
    return `fault-${this.ordinal}`;
  }

  get state(): FaultState {
    const { ordinal, spec, seen, hits } = this;
    return { ordinal, spec, seen, hits, rng: this.#rng.state };
  }

  /**
   * True if the fault applies to this request. Counts, and draws a random number, for each match.
   */
  isDue(subject: FaultSubject): boolean {
    const { match, when, times } = this.spec;
    const isMatch =
      (match.endpoint === undefined || match.endpoint === subject.endpoint) &&
      (match.account_id === undefined || match.account_id === subject.accountId) &&
      (this.#to === undefined || this.#to(subject.to));
    if (!isMatch) return false;
    this.seen++;
    return this.#fires(when) && (times === undefined || this.hits < times);
  }

  #fires(when: FaultSpec['when']): boolean {
    if ('nth' in when) return when.nth.includes(this.seen);
    if ('every' in when) return this.seen % when.every === 0;
    return this.#rng.fraction() < when.probability;
  }
}

/** The properties that a fault matches on. */
export interface FaultSubject {
  readonly endpoint: EndpointName | undefined;
  readonly accountId: string;
  readonly to: string;
}

/** Those of a request to the simulator; each is computed when a fault first reads it. */
export class Subject implements FaultSubject {
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

export function recipientOf(body: ApiRequest['body']): string {
  try {
    const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
    const value: unknown = JSON.parse(text);
    const to = typeof value === 'object' && value !== null && 'to' in value ? value.to : '';
    return typeof to === 'string' ? to : '';
  } catch {
    return '';
  }
}
