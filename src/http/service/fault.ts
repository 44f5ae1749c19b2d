/**
 * One fault, a failure that a user injects: which requests it affects, and how. It has its own
 * counter and random stream, so that no other fault or traffic changes which requests it affects.
 */
import type { FaultSpec } from '#contract/fault-kinds.ts';
import type { EndpointName } from '#contract/limits.ts';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { matchRoute } from '#contract/routes.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import { type NumberTest, numberTest } from '../../sim/devices/outcomes.ts';
import type { Rng, RngState } from '../../sim/random.ts';
import { authenticate } from './api.ts';

/** The fields of one fault in a snapshot. */
export interface FaultState {
  readonly ordinal: number;
  readonly spec: FaultSpec;
  readonly seen: number;
  readonly hits: number;
  readonly rng: RngState;
  readonly paused?: true;
}

export class Fault {
  readonly ordinal: number;
  readonly spec: FaultSpec;
  readonly #to: NumberTest | undefined;
  readonly #rng: Rng;
  seen = 0;
  /** How many requests it affected. `Faults` counts them. */
  hits = 0;
  /** A paused fault neither counts requests nor acts on them. */
  isPaused = false;

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
    const { ordinal, spec, seen, hits, isPaused } = this;
    const paused = isPaused ? { paused: true as const } : {};
    return { ordinal, spec, seen, hits, rng: this.#rng.state, ...paused };
  }

  /**
   * Counts this request if it matches. Returns true if the fault affects it, for which it may draw
   * a random number. Call it once for each request.
   */
  countMatch(subject: FaultSubject): boolean {
    if (this.isPaused) return false;
    const { match, when, times } = this.spec;
    const isMatch =
      (match.endpoint === undefined || match.endpoint === subject.endpoint) &&
      (match.account_id === undefined || match.account_id === subject.accountId) &&
      (this.#to === undefined || this.#to(subject.to)) &&
      (match.text === undefined || subject.text.includes(match.text)) &&
      Object.entries(match.headers ?? {}).every(([name, part]) =>
        subject.header(name.toLowerCase())?.includes(part),
      );
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

/** The properties of a request that a fault may match. */
export interface FaultSubject {
  readonly endpoint: EndpointName | undefined;
  readonly accountId: string;
  readonly to: string;
  readonly text: string;
  /** `name`: in lower case. */
  header(name: string): string | undefined;
}

/** A request to the simulator. Each property is read when a fault needs it. */
export class SimulatorRequest implements FaultSubject {
  readonly world: Registry;
  readonly request: ApiRequest;
  readonly endpoint: EndpointName | undefined;
  #accountId: string | undefined;
  #sent: SentFields | undefined;
  /** The headers of the request that faults have read. */
  lookedAt: Record<string, string> | undefined;

  constructor(world: Registry, request: ApiRequest) {
    this.world = world;
    this.request = request;
    this.endpoint = matchRoute(request.path)?.route.endpoint;
  }

  get accountId(): string {
    this.#accountId ??=
      authenticate(this.world, this.request.authorization)?.account.accountId ?? '';
    return this.#accountId;
  }

  get to(): string {
    return this.#sentFields.to;
  }

  get text(): string {
    return this.#sentFields.text;
  }

  header(name: string): string | undefined {
    const value = headerIn(this.request.headers, name);
    if (value !== undefined) this.lookedAt = { ...this.lookedAt, [name]: value };
    return value;
  }

  get #sentFields(): SentFields {
    this.#sent ??= sentFieldsOf(this.request.body);
    return this.#sent;
  }
}

const keptValue = /^[ -~]{1,1000}$/;

/** A header that is short and plain ASCII: journals keep no other, so faults match no other. */
export function headerIn(headers: object | undefined, name: string): string | undefined {
  const value: unknown = Object(headers)[name];
  return typeof value === 'string' && keptValue.test(value) ? value : undefined;
}

type SentFields = Pick<FaultSubject, 'to' | 'text'>;

/** Recipient and text in a body; empty if it is not a JSON object, or the field not a text. */
export function sentFieldsOf(body: ApiRequest['body']): SentFields {
  try {
    const json = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
    const { to, message } = JSON.parse(json) ?? {};
    return { to: textOf(to), text: textOf(message) };
  } catch {
    return { to: '', text: '' };
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
