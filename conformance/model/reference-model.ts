/**
 * A second implementation of the service, in the simplest form: from all inputs and their times it
 * computes the reply to any request. Written only from the document and `docs/semantics.md`; it
 * shares no code with the simulator.
 * Rules: all of `docs/rules.md`. Assumes: every assumption, by name.
 * It learns values that the simulator draws (ids, keys, poll phases, texts for people) and checks
 * their shape.
 */

import type { ReplyTemplate } from '../../src/ledger/reply-template.ts';
import type { Assumptions } from './assumptions.ts';
import type { ModelReply, ModelRequest } from './messages.ts';
import { type Body, checkFields, given, segmentsOf, senderOf } from './reference-fields.ts';
import { fullBucket, type ReferenceBucket, spendToken } from './reference-limiter.ts';
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
import { reworded } from './reference-templates.ts';
import { instantOf } from './reference-time.ts';

export type Endpoint =
  | 'send'
  | 'dashboard_send'
  | 'external_send'
  | 'received'
  | 'tasks'
  | 'read'
  | 'stats';
export type LimitedEndpoint = Exclude<Endpoint, 'read' | 'stats'>;

/**
 * The expected reply. `body` is JSON to compare with; a function in it tests the value in its
 * place.
 */
export interface Expected {
  readonly status: number;
  readonly body: unknown;
  /** Set if the exact bytes are known. */
  readonly bytes?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The fields that a 400 names. */
  readonly failing?: readonly string[];
  /** A list of received messages as a page, in any shape. */
  readonly page?: object;
  /** Call it with the actual reply after the comparison has passed. */
  readonly learn?: (actual: ModelReply) => void;
}

export interface ReferenceAccount {
  readonly accountId: string;
  /** Undefined: the quota of the plan, `monthlyQuota`. */
  quota: number | 'unlimited' | undefined;
}

export interface ReferenceKey {
  readonly keyId: string;
  readonly key: string;
  readonly accountId: string;
  revoked: boolean;
}

export interface ReferenceReceived {
  readonly messageId: string;
  readonly deviceId: string;
  readonly accountId: string;
  readonly from: string;
  readonly to: string;
  readonly message: string;
  readonly receivedAtMs: number;
}

/** A scripted fate; `*` in `to` stands for any digits. */
export type Outcome = Fate & { readonly to: string };

/** A used `request_id`, and its reply. */
interface Used {
  readonly requestId: string;
  readonly atMs: number;
  readonly key: ReferenceKey;
  readonly endpoint: Endpoint;
  /** The reply to the next use. */
  readonly again: () => Expected;
  readonly wasAccepted: boolean;
  readonly asked: readonly unknown[];
}

/** A send whose body is an object. */
interface Send {
  readonly endpoint: Endpoint;
  readonly key: ReferenceKey;
  readonly body: Body;
  /** The fields that are refused. */
  readonly failing: readonly string[];
  readonly wanted: ReturnType<typeof checkFields>['wanted'];
  readonly asked: readonly unknown[];
}

const dayMs = 86_400_000;

/** Accepts any non-empty text for people. */
export function anyText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

export class ReferenceModel {
  nowMs: number;
  assumptions: Assumptions;
  limits: Record<LimitedEndpoint, number | null> = {
    send: 120,
    dashboard_send: 120,
    external_send: 120,
    received: 120,
    tasks: 60,
  };
  accounts: ReferenceAccount[] = [];
  keys: ReferenceKey[] = [];
  sims: ReferenceSim[] = [];
  messages: ReferenceMessage[] = [];
  received: ReferenceReceived[] = [];
  outcomes: readonly Outcome[] = [];
  #used: Used[] = [];
  #buckets = new Map<string, ReferenceBucket>();
  /**
   * When `progressPace` was last switched: messages in flight continue at the new pace from there.
   */
  #pacedFromMs = 0;

  constructor(nowMs: number, assumptions: Assumptions) {
    this.nowMs = nowMs;
    this.assumptions = assumptions;
  }

  // ── Operations ──

  advanceTo(ms: number): void {
    for (const sim of this.sims) {
      pollUntil(sim, this.messages, this.nowMs, ms, this.assumptions);
    }
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
    for (const name of this.#buckets.keys()) {
      if (name.startsWith(`${endpoint} `)) this.#buckets.delete(name);
    }
  }

  patchSim(deviceId: string, changes: Partial<ReferenceSim>): void {
    const sim = this.sims.find((each) => each.deviceId === deviceId);
    if (sim === undefined) return;
    const { active: wasActive, connected: wasConnected } = sim;
    Object.assign(sim, changes);
    if (!(wasActive && wasConnected)) sim.ableSinceMs = this.nowMs;
    if (wasActive && !sim.active) deactivated(sim, this.messages, this.nowMs, this.assumptions);
  }

  /** Returns the ids of the messages that it picked up. */
  pollNow(deviceId: string): readonly string[] {
    const sim = this.sims.find((each) => each.deviceId === deviceId);
    if (!sim?.active || !sim.connected) return [];
    const taken = poll(sim, this.messages, this.nowMs, this.assumptions, 'at_once');
    return taken.map((message) => message.messageId);
  }

  /** Learns the fate that the simulator drew for the accepted message, which must be possible. */
  learnFate(message: ReferenceMessage, drawn: Fate): void {
    const { failureRate, failsFrom } = this.assumptions;
    if (this.#scriptFor(message.to) !== undefined) return;
    const states: readonly string[] = failsFrom;
    const isFailure = drawn.ends === 'failed' && drawn.polls === 1 && states.includes(drawn.in);
    const isDelivery = drawn.ends === 'delivered' && drawn.polls === 1;
    const mayBeDelivered = failureRate !== 1 || states.length === 0;
    if (!isFailure && !(isDelivery && mayBeDelivered)) {
      throw new Error(`a fate that cannot be drawn: ${JSON.stringify(drawn)}`);
    }
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
    const sim = this.sims.find((each) => each.deviceId === message.deviceId);
    const isAble = sim?.active === true && sim.connected;
    const isReport = () => message.status === 'queued';
    const polls = () => (isReport() ? 1 : message.fate.polls);
    // Steps that fell due while the SIM was off happen when it is on again.
    const sinceMs = () =>
      (isReport() ? message.handedOutAtMs : undefined) ??
      Math.max(lastChange(message), this.#pacedFromMs);
    const latestMs = () =>
      Math.max(sinceMs(), sim?.ableSinceMs ?? 0) + (isReport() ? 20_000 : 10_000 * polls());
    const learned = history.slice(message.history.length);
    for (const { status, atMs } of learned) {
      if (!isPaced(message, this.assumptions)) break;
      const isInTime =
        atMs >= sinceMs() + 1000 * polls() && atMs <= Math.min(latestMs(), this.nowMs);
      if (!isAble || !isInTime || status !== followingStatus(message)) {
        throw new Error(`${message.messageId} became ${status} at ${atMs}`);
      }
      change(message, status, atMs);
    }
    // Polls go on from the report.
    if (sim !== undefined && learned.length > 0)
      pollUntil(sim, [message], lastChange(message), this.nowMs, this.assumptions);
    if (isAble && isPaced(message, this.assumptions) && this.nowMs > latestMs()) {
      throw new Error(`${message.messageId} is still ${message.status}`);
    }
  }

  // ── Requests ──

  handle(request: ModelRequest): Expected {
    const { nowMs, assumptions } = this;
    const { endpoint, isGet = false } = this.#routeOf(request.path) ?? {};
    const context = { request, endpoint, isGet, nowMs, assumptions };
    return reworded(this.#handle(request), context);
  }

  #handle(request: ModelRequest): Expected {
    const length =
      typeof request.body === 'string' ? Buffer.byteLength(request.body) : request.body.byteLength;
    if (length > 65_536) return this.#error(413);
    const route = this.#routeOf(request.path);
    const { keyCheck, headMethod } = this.assumptions;
    if (route === undefined) {
      if (keyCheck === 'first' && this.#keyOf(request.authorization) === undefined)
        return this.#wrongKey();
      const canRedirect = routeOf(`${request.path}/`) !== undefined;
      if (canRedirect && this.assumptions.trailingSlash === 'redirect') {
        const query = request.query === '' ? '' : `?${request.query}`;
        return { status: 301, body: {}, headers: { location: `${request.path}/${query}` } };
      }
      return this.#notFound();
    }
    const methods = allowedMethods(route, headMethod);
    const { endpoint } = route;
    const key = this.#keyOf(request.authorization);
    const isRightMethod = methods.includes(request.method);
    if (!isRightMethod && (keyCheck === 'after_method' || key !== undefined)) {
      if (this.assumptions.methodNotAllowed === '404') return this.#notFound();
      return this.#error(405, { headers: { allow: methods.join(', ') } });
    }
    if (key === undefined) return this.#unauthenticated(endpoint, request);

    if (endpoint === 'read') return this.#read(route.id, key);
    if (endpoint === 'stats') return this.#stats(key);
    const isSend = endpoint !== 'received' && endpoint !== 'tasks';
    if (isSend && this.assumptions.replaySpends === 'nothing') {
      const replayed = this.#replayBeforeThrottle(endpoint, request, key);
      if (replayed !== undefined) return replayed;
    }
    return this.#throttled(endpoint, `account ${key.accountId}`, () => {
      if (endpoint === 'received') return this.#received(request.query, key);
      if (endpoint === 'tasks') return this.#tasks(route.id, key);
      return this.#send(endpoint, request, key);
    });
  }

  #routeOf(path: string): Route | undefined {
    const { trailingSlash, pathCase } = this.assumptions;
    const exact = routeOf(path);
    if (exact !== undefined) return exact;
    const whole = trailingSlash === 'served' && !path.endsWith('/') ? `${path}/` : path;
    const route = routeOf(pathCase === 'any' ? whole.toLowerCase() : whole);
    if (route === undefined) return undefined;
    const id = whole.split('/').find((part) => part.toLowerCase() === route.id.toLowerCase());
    return route.id === '' ? route : { ...route, id: id ?? route.id };
  }

  #wrongKey(): Expected {
    return this.#error(401, {
      code: 'auth_invalid_keyy',
      headers: { 'www-authenticate': 'Bearer' },
    });
  }

  #keyOf(authorization: string | undefined): ReferenceKey | undefined {
    const [, space, token] = /^bearer([ \t]+)(\S+)$/i.exec(authorization ?? '') ?? [];
    if (this.assumptions.bearerSpace === 'one' && space !== ' ') return undefined;
    return this.keys.find((each) => each.key === token && !each.revoked);
  }

  #unauthenticated(endpoint: Endpoint, request: ModelRequest): Expected {
    const refused = this.#wrongKey();
    if (endpoint === 'read' || endpoint === 'stats') return refused;
    if (this.assumptions.unauthenticatedThrottle === 'always_401') return refused;
    // The last address is the one that the nearest proxy saw.
    const forwarded = request.forwardedFor?.split(',').at(-1)?.trim();
    const isForwarded = this.assumptions.clientIp === 'x_forwarded_for' && forwarded;
    const ip = isForwarded ? forwarded : request.clientIp;
    return this.#throttled(endpoint, `ip ${ip}`, () => refused);
  }

  #throttled(endpoint: LimitedEndpoint, whose: string, reply: () => Expected): Expected {
    const limit = this.limits[endpoint];
    if (limit === null) return reply();
    const name = `${endpoint} ${whose}`;
    const bucket = this.#buckets.get(name) ?? fullBucket();
    this.#buckets.set(name, bucket);
    const before = { ...bucket, spentAt: [...bucket.spentAt] };
    const token = spendToken(bucket, limit, this.nowMs, this.assumptions);
    if (!token.spent) return tooMany(token.retryAfterSeconds);
    const expected = reply();
    if (expected.status >= 400 && this.assumptions.errorsSpendToken === 'no') {
      this.#buckets.set(name, before);
    }
    return expected;
  }

  // ── The three sends ──

  #send(endpoint: Endpoint, request: ModelRequest, key: ReferenceKey): Expected {
    if (!this.#isJson(request)) return this.#error(415);
    const body = this.#bodyOf(request);
    if (body === undefined) {
      return this.assumptions.malformedJson === 'detail_400'
        ? { status: 400, body: { detail: anyText }, headers: {} }
        : this.#error(400);
    }
    const { failing, wanted } = checkFields(body, this.nowMs, this.assumptions);
    if (failing.length === 0 || this.assumptions.gateOrder !== 'validate_first') {
      const replayed = this.#replay(endpoint, body, key);
      if (replayed !== undefined) return replayed;
    }
    const send = { endpoint, key, body, failing, wanted, asked: this.#askedFor(body) };
    if (failing.length > 0) return this.#refused(send, () => this.#invalid(failing));
    return this.#valid(send);
  }

  /** A new send whose fields are valid: the sender, its device and the quota decide. */
  #valid(send: Send): Expected {
    const { key, wanted } = send;
    const { disconnectedSim, gateOrder } = this.assumptions;
    const isSpent = this.#isQuotaSpent(key, wanted.message);
    const overQuota = () => this.#refused(send, () => this.#error(402, { code: 'quota_exceeded' }));
    if (isSpent && gateOrder === 'quota_before_sender') return overQuota();

    const named = this.sims.find((each) => each.number === wanted.sender);
    const code = this.#senderRefusal(named, key);
    if (code !== undefined) return this.#refused(send, () => this.#error(403, { code }));
    if (named === undefined) return this.#error(500);
    const isAway = named.accountId !== undefined && !named.connected;
    if (!named.active || (isAway && disconnectedSim === 'device_inactive')) {
      return this.#refused(send, () => this.#error(503, { code: 'device_inactive' }));
    }
    if (isAway && disconnectedSim === 'access_denied') {
      return this.#refused(send, () => this.#error(403, { code: 'from_number_access_deniedd' }));
    }
    if (isSpent) return overQuota();
    const sim = (isAway && disconnectedSim === 'pool' ? this.#poolFor(key) : undefined) ?? named;
    return this.#accepted(send, sim);
  }

  #accepted(send: Send, sim: ReferenceSim): Expected {
    const { key, wanted } = send;
    const createdAtMs = this.nowMs;
    const isNewId = (value: unknown) =>
      isUuid(value) && !this.messages.some((each) => each.messageId === value);
    return {
      status: 202,
      body: {
        status: 'queued',
        message_id: isNewId,
        request_id: wanted.requestId,
        device_id: sim.deviceId,
        from_number: sim.number,
        to: wanted.to,
        created_at: new Date(createdAtMs).toISOString(),
      },
      headers: {},
      learn: ({ body: bytes }) => {
        const reply = JSON.parse(bytes);
        this.#rememberUse(send, true, () => ({ status: 200, body: reply, bytes, headers: {} }));
        this.messages.push({
          messageId: String(reply.message_id),
          accountId: key.accountId,
          deviceId: sim.deviceId,
          requestId: wanted.requestId,
          from: sim.number,
          to: wanted.to,
          text: wanted.message,
          segments: segmentsOf(wanted.message),
          createdAtMs,
          dueAtMs: wanted.sendAtMs ?? createdAtMs,
          fate: this.#scriptFor(wanted.to) ?? { ends: 'delivered', polls: 1 },
          status: 'queued',
          history: [{ status: 'queued', atMs: createdAtMs }],
          polls: 0,
        });
      },
    };
  }

  /** A refusal, which a later use of the `request_id` repeats if `failedRequestId` is `burned`. */
  #refused(send: Send, make: () => Expected): Expected {
    const { endpoint, key, body, failing } = send;
    const { failedRequestId, errorBody, validationScope, replyTemplates } = this.assumptions;
    const mayBurn =
      failedRequestId === 'burned' &&
      !failing.includes('request_id') &&
      this.#replay(endpoint, body, key) === undefined;
    if (!mayBurn) return make();
    const learn = ({ body: bytes }: ModelReply) =>
      this.#rememberUse(send, false, () => {
        // The same refusal, or another form of it if one of these assumptions was switched
        // meanwhile.
        const isSameForm =
          this.assumptions.errorBody === errorBody &&
          this.assumptions.replyTemplates === replyTemplates &&
          this.assumptions.validationScope === validationScope;
        return isSameForm ? { ...make(), bytes } : make();
      });
    return { ...make(), learn };
  }

  #rememberUse(send: Send, wasAccepted: boolean, again: () => Expected): void {
    const { wanted, key, endpoint, asked } = send;
    const { requestId } = wanted;
    if (requestId === '') return;
    this.#used.push({ requestId, atMs: this.nowMs, key, endpoint, asked, wasAccepted, again });
  }

  #isQuotaSpent({ accountId }: ReferenceKey, text: string): boolean {
    const quota = this.#quotaOf(accountId);
    const cost = this.assumptions.quotaUnit === 'segments' ? segmentsOf(text) : 1;
    return quota !== null && this.#quotaUsed(accountId) + cost > quota;
  }

  /** SEND-4: the first reply, if it is at most 24 hours old. */
  #replay(endpoint: Endpoint, body: Body, key: ReferenceKey): Expected | undefined {
    const { replayScope, replayAcrossEndpoints, replayDifferentBody, failedRequestId } =
      this.assumptions;
    const requestId = given(body, 'request_id', this.assumptions);
    const uses = this.#used.filter(
      (each) =>
        each.requestId === requestId &&
        this.nowMs - each.atMs <= dayMs &&
        each.key.accountId === key.accountId &&
        (replayScope === 'account' || each.key === key) &&
        (replayAcrossEndpoints === 'shared' || each.endpoint === endpoint),
    );
    // An accepted send takes precedence over a refusal, and older uses over younger ones; `free`
    // ignores refusals.
    const burned = failedRequestId === 'burned' ? uses[0] : undefined;
    const first = uses.find((each) => each.wasAccepted) ?? burned;
    if (first === undefined) return undefined;
    const isSame = this.#askedFor(body).every((value, i) => value === first.asked[i]);
    return isSame || !first.wasAccepted || replayDifferentBody === 'return_original'
      ? first.again()
      : this.#error(409, { code: 'request_id_conflict' });
  }

  #replayBeforeThrottle(
    endpoint: Endpoint,
    request: ModelRequest,
    key: ReferenceKey,
  ): Expected | undefined {
    const body = this.#bodyOf(request);
    if (body === undefined || !this.#isJson(request)) return undefined;
    const mustBeValid = this.assumptions.gateOrder === 'validate_first';
    const isValid = checkFields(body, this.nowMs, this.assumptions).failing.length === 0;
    return mustBeValid && !isValid ? undefined : this.#replay(endpoint, body, key);
  }

  #bodyOf({ body }: ModelRequest): Body | undefined {
    return body.length === 0 && this.assumptions.emptyBody === 'no_fields' ? {} : parseObject(body);
  }

  #isJson({ contentType, contentEncoding = '' }: ModelRequest): boolean {
    const declared = (contentType ?? '').split(';')[0]?.trim().toLowerCase();
    const isPlain = ['', 'identity'].includes(contentEncoding.toLowerCase());
    return (
      (declared === 'application/json' && isPlain) || this.assumptions.contentType === 'ignore'
    );
  }

  #askedFor(body: Body): readonly unknown[] {
    const sender = senderOf(body, this.assumptions).value;
    const [to, message, sendAt] = ['to', 'message', 'send_at'].map((name) =>
      given(body, name, this.assumptions),
    );
    return [to, sender, message, instantOf(sendAt, this.assumptions) ?? sendAt];
  }

  #senderRefusal(sim: ReferenceSim | undefined, key: ReferenceKey): string | undefined {
    if (sim === undefined) return 'from_number_not_found';
    if (sim.accountId === key.accountId) {
      return sim.allowed ? undefined : 'from_number_access_deniedd';
    }
    if (sim.accountId !== undefined) {
      return this.assumptions.foreignNumber === 'not_found'
        ? 'from_number_not_found'
        : 'from_number_access_deniedd';
    }
    const { poolBesideOwnSim } = this.assumptions;
    const isBesideOwn = this.#connectedSims(key) > 0 && poolBesideOwnSim !== 'allow';
    return isBesideOwn || !sim.allowed ? 'from_number_access_deniedd' : undefined;
  }

  /** SVC-1: a deactivated SIM sends nothing, so it does not count as connected. */
  #connectedSims({ accountId }: ReferenceKey): number {
    return this.sims.filter((sim) => sim.accountId === accountId && sim.connected && sim.active)
      .length;
  }

  /** SVC-1: the pool's number for an account without a connected SIM. */
  #poolFor(key: ReferenceKey): ReferenceSim | undefined {
    if (this.#connectedSims(key) > 0) return undefined;
    const pool = this.sims.filter((each) => each.accountId === undefined);
    return pool.find((one) => one.connected && one.active && one.allowed);
  }

  /** The scripted fate of a recipient; a failure outside `failsFrom` has no effect. */
  #scriptFor(to: string): Fate | undefined {
    const scripted = this.outcomes.find((outcome) =>
      new RegExp(`^\\${outcome.to.replaceAll('*', '[0-9]*')}$`).test(to),
    );
    const states: readonly unknown[] = this.assumptions.failsFrom;
    const failsNowhere = scripted?.ends === 'failed' && !states.includes(scripted.in);
    return failsNowhere ? { ends: 'delivered', polls: scripted.polls } : scripted;
  }

  #quotaOf(accountId: string): number | null {
    const own = this.accounts.find((each) => each.accountId === accountId)?.quota;
    const quota = own ?? this.assumptions.monthlyQuota;
    return quota === 'unlimited' ? null : Number(quota);
  }

  #quotaUsed(accountId: string): number {
    const { quotaMonth, quotaRefund, quotaUnit } = this.assumptions;
    const month = new Date(this.nowMs).toISOString().slice(0, 7);
    let used = 0;
    for (const message of this.messages) {
      if (message.accountId !== accountId) continue;
      if (quotaRefund === 'yes' && message.status === 'failed') continue;
      const counts =
        quotaMonth === 'calendar_utc'
          ? new Date(message.createdAtMs).toISOString().startsWith(month)
          : this.nowMs - message.createdAtMs < 30 * dayMs;
      if (counts) used += quotaUnit === 'segments' ? message.segments : 1;
    }
    return used;
  }

  // ── The four reads ──

  #read(pathId: string, key: ReferenceKey): Expected {
    const messageId = this.#idOf(pathId);
    const message = this.messages.find(
      (each) => each.messageId === messageId && each.accountId === key.accountId,
    );
    if (message === undefined || this.#isPastRetention(message)) return this.#notFound();
    const isHeld = message.status === 'queued' && this.nowMs < message.dueAtMs;
    return {
      status: 200,
      body: {
        status:
          isHeld && this.assumptions.heldStatus === 'scheduled' ? 'scheduled' : message.status,
        message_id: message.messageId,
        request_id: message.requestId,
        device_id: message.deviceId,
        from_number: message.from,
        to: message.to,
        created_at: new Date(message.createdAtMs).toISOString(),
      },
      headers: {},
    };
  }

  #isPastRetention(message: ReferenceMessage): boolean {
    const { messageRetention: days } = this.assumptions;
    const isFinal = message.status === 'delivered' || message.status === 'failed';
    return isFinal && days !== 'forever' && this.nowMs - lastChange(message) > days * dayMs;
  }

  #stats(key: ReferenceKey): Expected {
    const counts = { queued: 0, sending: 0, sent: 0, delivered: 0, failed: 0 };
    for (const message of this.messages) {
      if (message.accountId === key.accountId) counts[message.status] += 1;
    }
    const inbound = this.received.filter((each) => each.accountId === key.accountId);
    return {
      status: 200,
      body: {
        messages: counts,
        quota: { used: this.#quotaUsed(key.accountId), limit: this.#quotaOf(key.accountId) },
        sims_connected: this.#connectedSims(key),
        received: inbound.length,
      },
      headers: {},
    };
  }

  #received(query: string, key: ReferenceKey): Expected {
    const { receivedQuery } = this.assumptions;
    const asked = new URLSearchParams(query);
    const isIgnored = receivedQuery === 'ignore';
    const page = (isIgnored ? null : asked.get('page')) ?? '1';
    let pageSize = (isIgnored ? null : asked.get('page_size')) ?? '50';
    const isCount = (text: string) =>
      /^[0-9]+$/.test(text) && Number(text) >= 1 && Number.isSafeInteger(Number(text));
    const failing: string[] = [];
    if (!isCount(page)) failing.push('page');
    const isSize = isCount(pageSize) && Number(pageSize) <= 200;
    if (receivedQuery === 'not_found') {
      if (failing.length > 0) return this.#notFound();
      if (!isSize) pageSize = '50';
    } else if (!isSize) failing.push('page_size');
    if (failing.length > 0) return this.#invalid(failing);

    const all = this.received.filter((each) => each.accountId === key.accountId).reverse();
    const [n, size] = [Number(page), Number(pageSize)];
    const results = all.slice((n - 1) * size, n * size).map((each) => ({
      message_id: each.messageId,
      device_id: each.deviceId,
      from_number: each.from,
      to: each.to,
      message: each.message,
      received_at: new Date(each.receivedAtMs).toISOString(),
    }));
    if (results.length === 0 && n > 1) return this.#notFound();
    const link = (to: number) => `/api/v1/sms/received/?page=${to}&page_size=${size}`;
    const onePage = {
      count: all.length,
      next: n * size < all.length ? link(n + 1) : null,
      previous: n > 1 ? link(n - 1) : null,
      results,
    };
    const body = this.assumptions.receivedShape === 'array' ? results : onePage;
    return { status: 200, body, page: onePage, headers: {} };
  }

  /** The id in a path, if other spellings are accepted. */
  #idOf(text: string): string {
    const bare = text.toLowerCase();
    const digits = bare.replaceAll('-', '');
    const ours = digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    const { pathIdForm } = this.assumptions;
    const isSpelling = bare === ours || (bare === digits && pathIdForm === 'any');
    return pathIdForm !== 'canonical' && isSpelling ? ours : text;
  }

  #tasks(pathId: string, key: ReferenceKey): Expected {
    const deviceId = this.#idOf(pathId);
    const sim = this.sims.find((each) => each.deviceId === deviceId);
    if (sim === undefined || sim.accountId !== key.accountId) return this.#notFound();
    const isAtWork = sim.polling === 'external' && sim.connected && sim.active;
    const taken = isAtWork ? poll(sim, this.messages, this.nowMs, this.assumptions, 'asked') : [];
    const tasks = taken.map((message) => ({
      message_id: message.messageId,
      to: message.to,
      from_number: message.from,
      message: message.text,
    }));
    const body = this.assumptions.tasksShape === 'array' ? tasks : { tasks };
    return { status: 200, body, headers: {} };
  }

  // ── Errors ──

  #invalid(failing: readonly string[]): Expected {
    const { errorBody, validationScope } = this.assumptions;
    const templates = this.assumptions.replyTemplates as Readonly<Record<string, ReplyTemplate>>;
    const first = (templates['invalid_field']?.fields ?? []).flatMap((name) =>
      failing.filter((each) => each === name || (name === 'from' && each === 'from_number')),
    );
    const ordered = [...first, ...failing.filter((each) => !first.includes(each))];
    const fields = validationScope === 'first' ? ordered.slice(0, 1) : ordered;
    const isList = (value: unknown) =>
      Array.isArray(value) && value.length > 0 && value.every(anyText);
    const map = Object.fromEntries(fields.map((name) => [name, isList]));
    if (errorBody === 'field_map') return { status: 400, body: map, headers: {}, failing: fields };
    const more = validationScope === 'all' ? { errors: map } : {};
    return { ...this.#error(400, { code: fields[0], more }), failing: fields };
  }

  #notFound(): Expected {
    const detail = 'Not found.';
    return this.assumptions.notFoundBody === 'detail_only'
      ? { status: 404, body: { detail }, headers: {} }
      : this.#error(404, { code: 'not_found' });
  }

  #error(
    status: number,
    {
      code = anyText,
      headers = {},
      more = {},
    }: { code?: unknown; headers?: Readonly<Record<string, string>>; more?: object } = {},
  ): Expected {
    const body =
      this.assumptions.errorBody === 'nested'
        ? { error: { code, message: anyText, ...more } }
        : { code, detail: anyText, ...more };
    return { status, body, headers };
  }
}

/** ERR-3, ERR-4. */
function tooMany(seconds: number): Expected {
  const detail = (value: unknown) =>
    typeof value === 'string' && (value.match(/\d+/g) ?? []).join() === String(seconds);
  return { status: 429, body: { detail }, headers: { 'retry-after': String(seconds) } };
}

interface Route {
  readonly endpoint: Endpoint;
  readonly isGet: boolean;
  readonly id: string;
}

/** HEAD is allowed wherever GET is, except for tasks: handed-out tasks would be lost. */
function allowedMethods(
  { endpoint, isGet }: Route,
  headMethod: Assumptions['headMethod'],
): readonly string[] {
  if (!isGet) return ['POST'];
  return endpoint === 'tasks' || headMethod === 'refused' ? ['GET'] : ['GET', 'HEAD'];
}

function routeOf(path: string): Route | undefined {
  if (path === '/api/v1/sms/send/') return { endpoint: 'send', isGet: false, id: '' };
  if (path === '/api/sms/send/') return { endpoint: 'dashboard_send', isGet: false, id: '' };
  if (path === '/api/external/send/') return { endpoint: 'external_send', isGet: false, id: '' };
  if (path === '/api/v1/sms/received/') return { endpoint: 'received', isGet: true, id: '' };
  if (path === '/api/v1/account/stats/') return { endpoint: 'stats', isGet: true, id: '' };
  const device = /^\/api\/devices\/([^/]+)\/tasks\/$/.exec(path)?.[1];
  if (device !== undefined) return { endpoint: 'tasks', isGet: true, id: device };
  const message = /^\/api\/v1\/sms\/([^/]+)\/$/.exec(path)?.[1];
  if (message !== undefined) return { endpoint: 'read', isGet: true, id: message };
  return undefined;
}

function parseObject(body: string | Uint8Array): Body | undefined {
  try {
    const text =
      typeof body === 'string'
        ? body
        : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Body) : undefined;
  } catch {
    return undefined;
  }
}

export function isUuid(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(value)
  );
}
