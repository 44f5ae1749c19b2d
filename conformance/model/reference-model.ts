/**
 * A second implementation of the service, in the simplest form: from all inputs and their times it
 * computes the reply to any request. Written only from the document and `docs/semantics.md`; it
 * shares no code with the simulator.
 * Rules: all of `docs/rules.md`. Assumes: every assumption, by name.
 * It learns values that the simulator draws (ids, keys, poll phases, texts for people) and checks
 * their shape. Here: what operations change, and what comes before an endpoint.
 */
import type { Assumptions } from './assumptions.ts';
import { fullBucket, type ReferenceBucket, waitForToken } from './reference-limiter.ts';
import {
  change,
  deactivated,
  type Fate,
  followingStatus,
  isPaced,
  lastChange,
  poll,
  pollUntil,
  type ReferenceMessage,
  type ReferenceSim,
  type Status,
} from './reference-phone.ts';
import { read, received, stats, tasks } from './reference-reads.ts';
import {
  anyText,
  type Expected,
  type ModelRequest,
  notFound,
  refusal,
  tooMany,
  wrongKey,
} from './reference-replies.ts';
import { ReferenceSends } from './reference-sends.ts';
import { applyTemplate } from './reference-templates.ts';
import { type ReferenceKey, ReferenceWorld } from './reference-world.ts';

export type LimitedEndpoint = 'send' | 'dashboard_send' | 'external_send' | 'received' | 'tasks';
export type Endpoint = LimitedEndpoint | 'read' | 'stats';

export class ReferenceModel extends ReferenceWorld {
  limits: Record<LimitedEndpoint, number | null> = {
    send: 120,
    dashboard_send: 120,
    external_send: 120,
    received: 120,
    tasks: 60,
  };
  readonly #sends = new ReferenceSends(this);
  #buckets = new Map<string, ReferenceBucket>();
  /**
   * When `progressPace` was last switched: messages in flight continue at the new pace from there.
   */
  #pacedFromMs = 0;

  // ── Operations ──

  advanceTo(ms: number): void {
    for (const sim of this.sims) pollUntil(sim, this.messages, this.nowMs, ms, this.assumptions);
    this.nowMs = ms;
  }

  assume(changes: Partial<Assumptions>): void {
    const before = this.assumptions;
    this.assumptions = { ...before, ...changes };
    if (this.assumptions.limiterRefill !== before.limiterRefill) this.#buckets.clear();
    if (this.assumptions.progressPace !== before.progressPace) this.#pacedFromMs = this.nowMs;
  }

  setLimit(endpoint: LimitedEndpoint, limit: number | null): void {
    this.limits[endpoint] = limit;
    for (const name of this.#buckets.keys())
      if (name.startsWith(`${endpoint} `)) this.#buckets.delete(name);
  }

  patchSim(deviceId: string, changes: Partial<ReferenceSim>): void {
    const sim = this.#simOf(deviceId);
    if (sim === undefined) return;
    const { active: wasActive, connected: wasConnected } = sim;
    Object.assign(sim, changes);
    if (!(wasActive && wasConnected)) sim.ableSinceMs = this.nowMs;
    if (wasActive && !sim.active) deactivated(sim, this.messages, this.nowMs, this.assumptions);
  }

  /** Returns the ids of the messages that it picked up. */
  pollNow(deviceId: string): readonly string[] {
    const sim = this.#simOf(deviceId);
    if (!sim?.active || !sim.connected) return [];
    const taken = poll(sim, this.messages, this.nowMs, this.assumptions, 'at_once');
    return taken.map((message) => message.messageId);
  }

  #simOf(deviceId: string): ReferenceSim | undefined {
    return this.sims.find((each) => each.deviceId === deviceId);
  }

  /** Learns the fate that the simulator drew for the accepted message, which must be possible. */
  learnFate(message: ReferenceMessage, drawn: Fate): void {
    const { failureRate, failsFrom } = this.assumptions;
    if (this.scriptFor(message.to) !== undefined) return;
    const states: readonly string[] = failsFrom;
    const isFailure = drawn.ends === 'failed' && drawn.polls === 1 && states.includes(drawn.in);
    const isDelivery = drawn.ends === 'delivered' && drawn.polls === 1;
    const mayBeDelivered = failureRate !== 1 || states.length === 0;
    if (!isFailure && !(isDelivery && mayBeDelivered))
      throw new Error(`a fate that cannot be drawn: ${JSON.stringify(drawn)}`);
    message.fate = drawn;
  }

  /**
   * Learns the steps that a message took at its own pace: legal steps, 1 to 10 s apart, and up to
   * 20 s for the report of a task.
   */
  learnChanges(
    message: ReferenceMessage,
    history: readonly { status: Status; atMs: number }[],
  ): void {
    const sim = this.#simOf(message.deviceId);
    const isAble = sim?.active === true && sim.connected;
    /** When the next step may come: not before `from`, and not after `to` while the SIM is on. */
    const next = () => {
      const isReport = message.status === 'queued';
      const polls = isReport ? 1 : message.fate.polls;
      const sinceMs =
        (isReport ? message.handedOutAtMs : undefined) ??
        Math.max(lastChange(message), this.#pacedFromMs);
      // Steps that fell due while the SIM was off happen when it is on again.
      const onSinceMs = Math.max(sinceMs, sim?.ableSinceMs ?? 0);
      return { from: sinceMs + 1000 * polls, to: onSinceMs + (isReport ? 20_000 : 10_000 * polls) };
    };
    const learned = history.slice(message.history.length);
    for (const { status, atMs } of learned) {
      if (!isPaced(message, this.assumptions)) break;
      const { from, to } = next();
      const isInTime = atMs >= from && atMs <= Math.min(to, this.nowMs);
      if (!isAble || !isInTime || status !== followingStatus(message))
        throw new Error(`${message.messageId} became ${status} at ${atMs}`);
      change(message, status, atMs);
    }
    // Polls go on from the report.
    if (sim !== undefined && learned.length > 0)
      pollUntil(sim, [message], lastChange(message), this.nowMs, this.assumptions);
    if (isAble && isPaced(message, this.assumptions) && this.nowMs > next().to)
      throw new Error(`${message.messageId} is still ${message.status}`);
  }

  // ── Requests ──

  handle(request: ModelRequest): Expected {
    const { nowMs, assumptions } = this;
    const route = routeIn(request.path, assumptions);
    const expected = this.#replyTo(request, route);
    return applyTemplate(expected, { request, endpoint: route?.endpoint, nowMs, assumptions });
  }

  #replyTo(request: ModelRequest, route: Route | undefined): Expected {
    const { assumptions } = this;
    if (Buffer.byteLength(request.body) > 65_536) return refusal(assumptions, 413);
    const key = this.#keyOf(request.authorization);
    if (route === undefined) return withoutRoute(request, key, assumptions);
    const { endpoint, id } = route;
    const methods = allowedMethods(endpoint, assumptions);
    const isWrongMethod = !methods.includes(request.method);
    if (isWrongMethod && (assumptions.keyCheck === 'after_method' || key !== undefined))
      return assumptions.methodNotAllowed === '404'
        ? notFound(assumptions)
        : refusal(assumptions, 405, anyText, { allow: methods.join(', ') });
    if (key === undefined) return this.#unauthenticated(endpoint, request);
    const throttled = (limited: LimitedEndpoint, reply: () => Expected) =>
      this.#throttled(limited, `account ${key.accountId}`, reply);
    switch (endpoint) {
      case 'read':
        return read(this, id, key);
      case 'stats':
        return stats(this, key);
      case 'received':
        return throttled(endpoint, () => received(this, request.query, key));
      case 'tasks':
        return throttled(endpoint, () => tasks(this, id, key));
      default: {
        const { replayed, first } = this.#sends.replyTo(request, endpoint, key);
        const isFree = replayed !== undefined && assumptions.replaySpends === 'nothing';
        return isFree ? replayed : throttled(endpoint, () => replayed ?? first());
      }
    }
  }

  #keyOf(authorization: string | undefined): ReferenceKey | undefined {
    const [, space, token] = /^bearer([ \t]+)(\S+)$/i.exec(authorization ?? '') ?? [];
    if (this.assumptions.bearerSpace === 'one' && space !== ' ') return undefined;
    return this.keys.find((each) => each.key === token && !each.revoked);
  }

  #unauthenticated(endpoint: Endpoint, request: ModelRequest): Expected {
    const { unauthenticatedThrottle, clientIp } = this.assumptions;
    const refused = wrongKey(this.assumptions);
    const isFree = endpoint === 'read' || endpoint === 'stats';
    if (isFree || unauthenticatedThrottle === 'always_401') return refused;
    // The last address is the one that the nearest proxy saw.
    const forwarded = request.forwardedFor?.split(',').at(-1)?.trim();
    const isForwarded = clientIp === 'x_forwarded_for' && forwarded;
    return this.#throttled(
      endpoint,
      `ip ${isForwarded ? forwarded : request.clientIp}`,
      () => refused,
    );
  }

  #throttled(endpoint: LimitedEndpoint, whose: string, reply: () => Expected): Expected {
    const limit = this.limits[endpoint];
    if (limit === null) return reply();
    const name = `${endpoint} ${whose}`;
    const bucket = this.#buckets.get(name) ?? fullBucket();
    this.#buckets.set(name, bucket);
    const before = { ...bucket, spentAt: [...bucket.spentAt] };
    const waitMs = waitForToken(bucket, limit, this.nowMs, this.assumptions);
    if (waitMs > 0) return tooMany(Math.ceil(waitMs / 1000));
    const expected = reply();
    if (expected.status >= 400 && this.assumptions.errorsSpendToken === 'no')
      this.#buckets.set(name, before);
    return expected;
  }
}

interface Route {
  readonly endpoint: Endpoint;
  /** The id of the message or the device, as the path spells it; empty for other paths. */
  readonly id: string;
}

const fixedPaths: Readonly<Record<string, Endpoint>> = {
  '/api/v1/sms/send/': 'send',
  '/api/sms/send/': 'dashboard_send',
  '/api/external/send/': 'external_send',
  '/api/v1/sms/received/': 'received',
  '/api/v1/account/stats/': 'stats',
};

function routeOf(path: string): Route | undefined {
  const endpoint = fixedPaths[path];
  if (endpoint !== undefined) return { endpoint, id: '' };
  const device = /^\/api\/devices\/([^/]+)\/tasks\/$/.exec(path)?.[1];
  if (device !== undefined) return { endpoint: 'tasks', id: device };
  const message = /^\/api\/v1\/sms\/([^/]+)\/$/.exec(path)?.[1];
  return message === undefined ? undefined : { endpoint: 'read', id: message };
}

/** VER-1: the route of a path, in the spellings that `trailingSlash` and `pathCase` allow. */
function routeIn(path: string, { trailingSlash, pathCase }: Assumptions): Route | undefined {
  const exact = routeOf(path);
  if (exact !== undefined) return exact;
  const whole = trailingSlash === 'served' && !path.endsWith('/') ? `${path}/` : path;
  const route = routeOf(pathCase === 'any' ? whole.toLowerCase() : whole);
  if (route === undefined || route.id === '') return route;
  const id = whole.split('/').find((part) => part.toLowerCase() === route.id.toLowerCase());
  return { ...route, id: id ?? route.id };
}

function withoutRoute(
  { path, query }: ModelRequest,
  key: ReferenceKey | undefined,
  assumptions: Assumptions,
): Expected {
  if (assumptions.keyCheck === 'first' && key === undefined) return wrongKey(assumptions);
  const canRedirect = routeOf(`${path}/`) !== undefined;
  if (!canRedirect || assumptions.trailingSlash !== 'redirect') return notFound(assumptions);
  const location = `${path}/${query === '' ? '' : `?${query}`}`;
  return { status: 301, body: {}, headers: { location } };
}

/** HEAD is allowed wherever GET is, except for tasks: handed-out tasks would be lost. */
function allowedMethods(endpoint: Endpoint, { headMethod }: Assumptions): readonly string[] {
  if (endpoint.endsWith('send')) return ['POST'];
  return endpoint === 'tasks' || headMethod === 'refused' ? ['GET'] : ['GET', 'HEAD'];
}
