/**
 * The reference model: a second implementation of the service, in the simplest form. From all
 * inputs and their times it computes the reply to any request; tests compare that with the
 * simulator. It shares no code with the simulator: it was written only from the document and
 * `docs/semantics.md`. Rules: all of `docs/rules.md`. Assumes: every assumption, by name.
 * It learns the values that the simulator draws (ids, keys, poll phases) and checks their shape.
 * This file has the operations, and the checks before an endpoint: size, key, method, limit.
 */
import { type EndpointName, isLimited, type LimitedEndpoint } from '#contract/limits.ts';
import type { Status } from '#contract/message-status.ts';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { minuteMs } from '#contract/time.ts';
import type { Assumptions } from './answers.ts';
import { Bucket, spendToken } from './reference-limiter.ts';
import {
  applyDeactivation,
  changeStatus,
  changesOnItsOwn,
  type Fate,
  followingStatus,
  lastChange,
  poll,
  type ReferenceMessage,
  type ReferenceSim,
  runPolls,
} from './reference-phone.ts';
import { read, received, stats, tasks } from './reference-reads.ts';
import {
  anyText,
  type Expected,
  notFound,
  refusal,
  tooMany,
  wrongKey,
} from './reference-replies.ts';
import { allowedMethods, type Route, routeAt, withoutRoute } from './reference-routes.ts';
import { ReferenceSends } from './reference-sends.ts';
import { applyTemplate } from './reference-templates.ts';
import { type ReferenceKey, ReferenceWorld } from './reference-world.ts';

export class ReferenceModel extends ReferenceWorld {
  /** Requests per minute; null for no limit. */
  limits: Record<LimitedEndpoint, number | null> = {
    send: 120,
    dashboard_send: 120,
    external_send: 120,
    received: 120,
    tasks: 60,
  };
  readonly #sends = new ReferenceSends(this);
  /** The buckets by endpoint and owner, such as `send account 7`. */
  readonly #buckets = new Map<string, Bucket>();
  /** When `progressPace` was last switched: from then on, messages in flight take the new pace. */
  #paceSinceMs = 0;

  // ── Operations ──

  advanceTo(ms: number): void {
    for (const sim of this.sims) runPolls(sim, this.nowMs, ms, this);
    this.nowMs = ms;
  }

  assume(changes: Partial<Assumptions>): void {
    const before = this.assumptions;
    this.assumptions = { ...before, ...changes };
    if (this.assumptions.limiterRefill !== before.limiterRefill) this.#buckets.clear();
    if (this.assumptions.progressPace !== before.progressPace) this.#paceSinceMs = this.nowMs;
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
    if (wasActive && !sim.active) applyDeactivation(sim, this);
  }

  /** Returns the ids of the messages that the device picked up. */
  pollNow(deviceId: string): readonly string[] {
    const sim = this.#simOf(deviceId);
    if (!sim?.active || !sim.connected) return [];
    return poll(sim, 'at_once', this).map(({ messageId }) => messageId);
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
   * Learns the steps that a message took at its own pace. Throws if a step is illegal, or is not
   * due: steps come 1 to 10 s apart, and the report of a task within 20 s.
   */
  learnChanges(
    message: ReferenceMessage,
    history: readonly { status: Status; atMs: number }[],
  ): void {
    const sim = this.#simOf(message.deviceId);
    const isAble = sim?.active === true && sim.connected;
    const learned = history.slice(message.history.length);
    for (const { status, atMs } of learned) {
      if (!changesOnItsOwn(message, this.assumptions)) break;
      const { earliestMs, latestMs } = this.#nextStepOf(message, sim);
      const isInTime = atMs >= earliestMs && atMs <= Math.min(latestMs, this.nowMs);
      if (!isAble || !isInTime || status !== followingStatus(message))
        throw new Error(`${message.messageId} became ${status} at ${atMs}`);
      changeStatus(message, status, atMs);
    }
    // A reported message is in flight, so it takes part in the polls since then.
    if (sim !== undefined && learned.length > 0) {
      const { assumptions, nowMs } = this;
      runPolls(sim, lastChange(message), nowMs, { messages: [message], assumptions });
    }
    const isDue = isAble && changesOnItsOwn(message, this.assumptions);
    if (isDue && this.nowMs > this.#nextStepOf(message, sim).latestMs)
      throw new Error(`${message.messageId} is still ${message.status}`);
  }

  /** When the next step of a message at its own pace may come, if its SIM stays usable. */
  #nextStepOf(message: ReferenceMessage, sim: ReferenceSim | undefined) {
    const isReport = message.status === 'queued';
    const polls = isReport ? 1 : message.fate.polls;
    const handedOutAtMs = isReport ? message.handedOutAtMs : undefined;
    const sinceMs = handedOutAtMs ?? Math.max(lastChange(message), this.#paceSinceMs);
    // Steps that fell due while the SIM was off happen when it is on again.
    const usableSinceMs = Math.max(sinceMs, sim?.ableSinceMs ?? 0);
    return {
      earliestMs: sinceMs + 1000 * polls,
      latestMs: usableSinceMs + (isReport ? 20_000 : 10_000 * polls),
    };
  }

  // ── Requests ──

  handle(request: ApiRequest): Expected {
    const { nowMs, assumptions } = this;
    const route = routeAt(request.path, assumptions);
    const expected = this.#replyTo(request, route);
    return applyTemplate(expected, { request, endpoint: route?.endpoint, nowMs, assumptions });
  }

  #replyTo(request: ApiRequest, route: Route | undefined): Expected {
    const { assumptions } = this;
    if (Buffer.byteLength(request.body) > 65_536) return refusal(assumptions, 413);
    const key = this.#keyOf(request.authorization);
    if (route === undefined) return withoutRoute(request, key, assumptions);
    const { endpoint, id } = route;
    const methods = allowedMethods(endpoint, assumptions);
    const isWrongMethod = !methods.includes(request.method);
    if (isWrongMethod && (assumptions.keyCheck === 'after_method' || key !== undefined)) {
      return assumptions.methodNotAllowed === '404'
        ? notFound(assumptions)
        : refusal(assumptions, 405, anyText, { allow: methods.join(', ') });
    }
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
        const { replayed, toNewId } = this.#sends.replyTo(request, endpoint, key);
        const isFree = replayed !== undefined && assumptions.replaySpends === 'nothing';
        return isFree ? replayed : throttled(endpoint, () => replayed ?? toNewId());
      }
    }
  }

  #keyOf(authorization: string | undefined): ReferenceKey | undefined {
    const [, scheme, space, token] = /^(bearer)([ \t]+)(\S+)$/i.exec(authorization ?? '') ?? [];
    if (this.assumptions.bearerCase === 'exact' && scheme !== 'Bearer') return undefined;
    if (this.assumptions.bearerSpace === 'one' && space !== ' ') return undefined;
    return this.keys.find((each) => each.key === token && !each.revoked);
  }

  #unauthenticated(endpoint: EndpointName, request: ApiRequest): Expected {
    const { unauthenticatedThrottle, clientIp } = this.assumptions;
    const refused = wrongKey(this.assumptions);
    if (!isLimited(endpoint) || unauthenticatedThrottle === 'always_401') return refused;
    // The last address is the one that the nearest proxy saw.
    const forwarded = request.forwardedFor?.split(',').at(-1)?.trim();
    const isForwarded = clientIp === 'x_forwarded_for' && forwarded;
    return this.#throttled(
      endpoint,
      `ip ${isForwarded ? forwarded : request.clientIp}`,
      () => refused,
    );
  }

  #throttled(endpoint: LimitedEndpoint, owner: string, reply: () => Expected): Expected {
    const limit = this.limits[endpoint];
    if (limit === null) return reply();
    const name = `${endpoint} ${owner}`;
    const bucket = this.#buckets.get(name) ?? new Bucket();
    this.#buckets.set(name, bucket);
    const before = structuredClone(bucket);
    const refill = { ...this.assumptions, windowMs: minuteMs };
    const waitMs = spendToken(bucket, limit, this.nowMs, refill);
    if (waitMs > 0) return tooMany(Math.ceil(waitMs / 1000));
    const expected = reply();
    if (expected.status >= 400 && this.assumptions.errorsSpendToken === 'no')
      this.#buckets.set(name, before);
    return expected;
  }
}
