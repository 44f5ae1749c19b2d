/**
 * One fault: the requests that it hits, and what it does to them. It counts its own matches and
 * draws from its own stream, so other faults and other traffic do not change its victims.
 */

import type { EndpointName } from '../../sim/limits.ts';
import { type NumberTest, numberTest } from '../../sim/outcomes.ts';
import type { Rng, RngState } from '../../sim/rng.ts';
import type { World } from '../../sim/world.ts';
import { authenticate } from './authenticate.ts';
import type { ApiRequest } from './messages.ts';
import { matchRoute } from './routes.ts';

export type FaultKind =
  | { readonly kind: 'delay'; readonly ms: number }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body?: unknown;
      /** Checked text: it goes over the wire as it stands. */
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Closed before it is accepted: nothing happens, nothing is spent. */
  | { readonly kind: 'refuse' }
  /** As `refuse`, by a reset of the connection. */
  | { readonly kind: 'reset' }
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
  readonly #to: NumberTest | undefined;
  readonly #rng: Rng;
  /** Requests that it matched, and those that it acted on. */
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

  /** Whether this request is one of its victims; counts and draws for each that it matches. */
  isDue(subject: Subject): boolean {
    const { match, when, times } = this.spec;
    const isMatch =
      (match.endpoint === undefined || match.endpoint === subject.endpoint) &&
      (match.account_id === undefined || match.account_id === subject.accountId) &&
      (this.#to === undefined || this.#to(subject.to));
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

/** What a fault matches on; each part is worked out when the first fault asks for it. */
export class Subject {
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
