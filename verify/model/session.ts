/**
 * Plays every step on a simulator and on the reference model, and compares each reply. The model
 * gets the values that the simulator draws, and checks that they are possible.
 */

import {
  type Endpoint,
  type Expected,
  isUuid,
  type Outcome,
  ReferenceModel,
} from '../../conformance/model/reference-model.ts';
import { isInFlight } from '../../conformance/model/reference-phone.ts';
import type { ApiReply, ApiRequest } from '../../src/http/service/messages.ts';
import { type Assumptions, defaultAssumptions } from '../../src/sim/assumptions.ts';
import {
  accountCount,
  type SenderChoice,
  type SendFields,
  type SendPath,
  type Spelling,
  type Step,
} from './steps.ts';
import { poolNumbers, Subject } from './subject.ts';
import { writtenTime } from './written-time.ts';

export interface Setup {
  readonly seed: number;
  readonly startMs: number;
  readonly assumptions: Partial<Assumptions>;
}

/** One reply of a run, and its step. */
export interface TraceLine {
  readonly step: number;
  readonly who: number;
  readonly atMs: number;
  readonly request: ApiRequest;
  readonly reply: ApiReply;
}

interface Person {
  readonly accountId: string;
  /** Sends that a later step may repeat. */
  readonly sends: { via: SendPath; body: string }[];
  lastRefusal: { atMs: number; retryAfterSeconds: number } | undefined;
}

const sendPaths: Readonly<Record<SendPath, string>> = {
  send: '/api/v1/sms/send/',
  dashboard_send: '/api/sms/send/',
  external_send: '/api/external/send/',
};

const scripted: readonly Outcome[] = [
  { to: '+12025550160', ends: 'failed', in: 'queued', polls: 1 },
  { to: '+12025550161', ends: 'failed', in: 'sending', polls: 1 },
  { to: '+12025550162', ends: 'failed', in: 'sent', polls: 1 },
  { to: '+12025550163', ends: 'stuck', in: 'queued', polls: 1 },
  { to: '+12025550164', ends: 'stuck', in: 'sending', polls: 1 },
  { to: '+12025550165', ends: 'stuck', in: 'sent', polls: 1 },
  { to: '+12025550166', ends: 'delivered', polls: 3 },
];

const limitedEndpoints = ['send', 'dashboard_send', 'external_send', 'received', 'tasks'] as const;

const minuteMs = 60_000;
const dayMs = 86_400_000;

export class Session {
  readonly subject: Subject;
  readonly model: ReferenceModel;
  readonly trace: TraceLine[] = [];
  /** The number of the present step. */
  step = 0;
  /** Where to split an advance of the clock; only a property test sets it. */
  cutsOf: (fromMs: number, toMs: number) => readonly number[] = () => [];
  readonly #people: Person[] = [];
  /** False for properties of the simulator alone, which do not need the model. */
  readonly #compares: boolean;

  constructor(setup: Setup, compares = true) {
    this.#compares = compares;
    this.subject = new Subject(setup);
    this.model = new ReferenceModel(setup.startMs, { ...defaultAssumptions, ...setup.assumptions });
    this.model.outcomes = scripted;
    for (const [i, sim] of this.subject.poolSims().entries()) {
      this.model.sims.push({ ...simOf(sim), number: poolNumbers[i] ?? '', accountId: undefined });
    }
    for (const [i, name] of ['ada', 'bert', 'cora'].slice(0, accountCount).entries()) {
      const accountId = this.subject.createAccount(name);
      if (!isUuid(accountId)) throw new Error(`account id ${accountId} is not a UUID`);
      this.model.accounts.push({ accountId, quota: undefined });
      this.#people.push({ accountId, sends: [], lastRefusal: undefined });
      this.#createKey(i);
    }
    this.#createSim(0, '+12025550101', 'simulated');
    this.#createSim(0, '+12025550102', 'external');
    this.#createSim(1, '+12025550111', 'simulated');
  }

  /** Plays one step; returns a description of it. */
  play(step: Step): string {
    const done = this.#play(step);
    this.step += 1;
    return done;
  }

  /** Throws if the simulator's state violates an invariant. */
  checkSound(): void {
    const broken = this.subject.broken();
    if (broken.length > 0) throw new Error(`invariants are violated: ${broken.join('; ')}`);
  }

  /** Sends one request to both and compares. */
  call(who: number, request: ApiRequest): ApiReply {
    const reply = this.subject.handle(request);
    const expected = this.model.handle(request);
    this.trace.push({ step: this.step, who, atMs: this.model.nowMs, request, reply });
    if (this.#compares) {
      const difference = differenceOf(expected, reply);
      if (difference !== undefined) {
        throw new Error(`${textOf(request)}\nat ${iso(this.model.nowMs)}: ${difference}`);
      }
    }
    expected.learn?.(reply);
    if (reply.status === 202) this.#learnFate(reply);
    this.#learnDelays();
    return reply;
  }

  /** The keys of an account, in order of creation. */
  keysOf(who: number): readonly string[] {
    const { accountId } = this.#person(who);
    return this.model.keys.filter((each) => each.accountId === accountId).map(({ key }) => key);
  }

  /**
   * Checks the end of a run: the state, every message's status and history, every account's counts.
   */
  audit(): void {
    this.checkSound();
    for (const message of this.model.messages) {
      const who = this.#people.findIndex((each) => each.accountId === message.accountId);
      this.call(who, this.#get(`/api/v1/sms/${message.messageId}/`, this.#key(who, 0)));
      const actual = this.subject.historyOf(message.messageId);
      const [a, b] = [actual, message.history].map((history) =>
        history.map(({ status, atMs }) => `${status} at ${iso(atMs)}`).join(', '),
      );
      if (a !== b) throw new Error(`history of ${message.messageId}: ${a}; the model's: ${b}`);
    }
    for (const who of this.#people.keys()) {
      this.call(who, this.#get('/api/v1/account/stats/', this.#key(who, 0)));
    }
  }

  #play(step: Step): string {
    switch (step.kind) {
      case 'send': {
        const body = this.#bodyOf(step.who, step.fields);
        return this.#send(step.who, step.via, this.#key(step.who, step.key), JSON.stringify(body));
      }
      case 'send_raw': {
        const key = this.#key(step.who, step.key);
        const post = this.#post(step.via, key, step.body, step.type);
        const request = { ...post, contentEncoding: step.encoding };
        return `${textOf(request)} -> ${this.call(step.who, request).status}`;
      }
      case 'replay': {
        const sent = at(this.#person(step.who).sends, step.of);
        if (sent === undefined) return 'nothing to replay';
        const via = step.via ?? sent.via;
        return this.#send(step.who, via, this.#key(step.who, step.key), sent.body);
      }
      case 'read': {
        const id = step.id ?? at(this.#messagesOf(step.whose), step.message)?.messageId ?? 'none';
        const key = this.#key(step.who, step.key);
        const path = `/api/v1/sms/${spelt(id, step.spelt)}/`;
        return this.#do(step.who, { ...this.#get(path, key), method: step.method });
      }
      case 'advance':
        return this.#advanceTo(this.model.nowMs + step.byMs);
      case 'advance_to': {
        const moment = this.#moment(step) ?? this.model.nowMs;
        return this.#advanceTo(Math.max(this.model.nowMs, moment + step.offsetMs));
      }
      case 'create_key':
        this.#createKey(step.who);
        return `${name(step.who)} creates a key`;
      case 'revoke_key': {
        const { accountId } = this.#person(step.who);
        const key = at(
          this.model.keys.filter((each) => each.accountId === accountId),
          step.key,
        );
        if (key === undefined) return 'no key to revoke';
        this.subject.revokeKey(key.keyId);
        key.revoked = true;
        if (!this.model.keys.some((each) => each.accountId === accountId && !each.revoked)) {
          this.#createKey(step.who);
        }
        return `${name(step.who)} revokes ${key.key}`;
      }
      case 'patch_sim': {
        const sim = at(this.#simsOf(step.who), step.sim);
        if (sim === undefined) return 'no SIM to change';
        this.subject.patchSim(sim.deviceId, step.changes);
        this.model.patchSim(sim.deviceId, step.changes);
        this.#learnDelays();
        return `${sim.number} becomes ${JSON.stringify(step.changes)}`;
      }
      case 'tasks': {
        const sim = at(this.#simsOf(step.whose), step.sim);
        const path = `/api/devices/${spelt(step.id ?? sim?.deviceId ?? 'none', step.spelt)}/tasks/`;
        return this.#do(step.who, this.#get(path, this.#key(step.who, step.key)));
      }
      case 'poll_now': {
        const sim = at(this.#simsOf(step.who), step.sim);
        if (sim === undefined) return 'no SIM to poll';
        if (!sim.active || !sim.connected) return `${sim.number} cannot poll`;
        const actual = this.subject.pollNow(sim.deviceId).join();
        const expected = this.model.pollNow(sim.deviceId).join();
        if (actual !== expected) throw new Error(`picked up ${actual}; the model: ${expected}`);
        this.#learnDelays();
        return `${sim.number} polls now`;
      }
      case 'inject': {
        const sim = at(this.#simsOf(step.who), step.sim);
        if (sim === undefined) return 'no SIM that receives';
        return this.#inject(step.who, sim.deviceId, sim.number, step.text);
      }
      case 'received': {
        const request = this.#get('/api/v1/sms/received/', this.#key(step.who, step.key));
        return this.#do(step.who, { ...request, query: step.query });
      }
      case 'stats': {
        const key = this.#key(step.who, step.key);
        return this.#do(step.who, this.#get('/api/v1/account/stats/', key));
      }
      case 'assume': {
        const changes = { [step.name]: step.answer } as Partial<Assumptions>;
        this.subject.assume(changes);
        this.model.assume(changes);
        this.#learnDelays();
        return `assume ${JSON.stringify(changes)}`;
      }
      case 'quota': {
        const { accountId } = this.#person(step.who);
        this.subject.setQuota(accountId, step.quota);
        const account = this.model.accounts.find((each) => each.accountId === accountId);
        if (account !== undefined) account.quota = step.quota;
        return `${name(step.who)} gets a quota of ${step.quota}`;
      }
      case 'limit':
        this.subject.setLimit(step.endpoint, step.limit);
        this.model.setLimit(step.endpoint, step.limit);
        return `limit of ${step.endpoint}: ${step.limit}`;
      case 'outcomes': {
        this.subject.setOutcomes(step.outcomes);
        const named = step.outcomes.map(({ to }) => to);
        const fixed = scripted.filter(({ to }) => !named.includes(to));
        this.model.outcomes = [...step.outcomes, ...fixed];
        return `outcomes: ${JSON.stringify(step.outcomes)}`;
      }
      case 'burst': {
        const { endpoint } = step;
        const isLimited = endpoint !== 'read' && endpoint !== 'stats';
        const limit = isLimited ? this.model.limits[endpoint] : 120;
        const times = Math.max(0, (limit ?? 1) + step.extra);
        const keys = this.#validKeysOf(step.who);
        let last: ApiReply | undefined;
        // From several addresses and with all keys in turn, since neither may have its own bucket.
        for (let i = 0; i < times; i += 1) {
          const request = this.#cheapRequest(step.who, endpoint, at(keys, i) ?? 'none');
          last = this.call(step.who, { ...request, clientIp: `203.0.113.${i % 3}` });
        }
        return `${times} times ${endpoint} by ${name(step.who)} -> ${last?.status}`;
      }
      case 'stranger': {
        const request = {
          ...this.#anyRequest(step.endpoint),
          authorization: step.authorization && this.#withKeys(step.authorization),
          query: this.#withKeys(step.query),
        };
        const clientIp = `203.0.113.${step.ip}`;
        const forwardedFor = [undefined, '198.51.100.7', '203.0.113.0, 198.51.100.7'][step.ip];
        const limits: Partial<Record<string, number | null>> = this.model.limits;
        const times = step.times || (limits[limitedEndpoints[step.endpoint] ?? ''] ?? 1) + 1;
        for (let i = 1; i < times; i += 1) {
          this.call(-1, { ...request, clientIp, forwardedFor });
        }
        if (step.times === 0) {
          this.call(-1, { ...request, clientIp: '203.0.113.9' });
          this.call(0, { ...request, authorization: `Bearer ${this.#key(0, 0)}` });
        }
        return this.#do(-1, { ...request, clientIp, forwardedFor });
      }
      case 'lost': {
        const request = this.#get(step.path, this.#key(step.who, 0));
        return this.#do(step.who, { ...request, method: step.method, query: step.query });
      }
    }
  }

  #do(who: number, request: ApiRequest): string {
    return `${textOf(request)} -> ${this.call(who, request).status}`;
  }

  #send(who: number, via: SendPath, key: string, body: string): string {
    const request = this.#post(via, key, body);
    const reply = this.call(who, request);
    const person = this.#person(who);
    person.sends.push({ via, body });
    if (reply.status === 429) {
      const retryAfterSeconds = Number(reply.headers?.['retry-after']);
      person.lastRefusal = { atMs: this.model.nowMs, retryAfterSeconds };
    }
    return `${textOf(request)} -> ${reply.status}`;
  }

  #advanceTo(ms: number): string {
    for (const stopMs of [...this.cutsOf(this.model.nowMs, ms), ms]) {
      this.subject.advanceTo(stopMs);
      this.model.advanceTo(stopMs);
      this.#learnDelays();
    }
    if (this.subject.now() !== ms) throw new Error(`now is ${this.subject.now()}, not ${ms}`);
    return `until ${iso(ms)}`;
  }

  /** A moment at which something changes; undefined if there is no such moment. */
  #moment({ what, who, index }: Extract<Step, { kind: 'advance_to' }>): number | undefined {
    const { nowMs, messages, assumptions } = this.model;
    const person = this.#person(who);
    const own = messages.filter((each) => each.accountId === person.accountId);
    switch (what) {
      case 'poll': {
        const first = at(this.#simsOf(who), index)?.firstPollAtMs;
        if (first === undefined) return undefined;
        const intervalMs = Number(assumptions.pollIntervalSeconds) * 1000;
        const passed = Math.max(0, Math.floor((nowMs - first) / intervalMs) + 1);
        return first + passed * intervalMs;
      }
      case 'hold':
        return at(
          own.filter((each) => isSoon(each.dueAtMs - nowMs)),
          index,
        )?.dueAtMs;
      case 'window': {
        const created = at(
          own.filter((each) => each.requestId !== ''),
          index,
        )?.createdAtMs;
        return created === undefined ? undefined : created + dayMs;
      }
      case 'limit': {
        const refusal = person.lastRefusal;
        return refusal && refusal.atMs + refusal.retryAfterSeconds * 1000;
      }
      case 'minute':
        return Math.ceil((nowMs + 1) / minuteMs) * minuteMs;
      case 'month': {
        const now = new Date(nowMs);
        return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
      }
      case 'thirty_days': {
        const created = at(own, index)?.createdAtMs;
        return created === undefined ? undefined : created + 30 * dayMs;
      }
    }
  }

  #learnFate(reply: ApiReply): void {
    const message = this.model.messages.at(-1);
    if (message === undefined || this.model.assumptions.failureRate === 0) return;
    const fate = this.subject.fateOf(String(JSON.parse(reply.body).message_id));
    this.model.learnFate(message, fate);
  }

  #learnDelays(): void {
    if (this.model.assumptions.progressPace === 'per_poll') return;
    for (const message of this.model.messages) {
      if (isInFlight(message)) {
        this.model.learnChanges(message, this.subject.historyOf(message.messageId));
      }
    }
  }

  #createKey(who: number): void {
    const { accountId } = this.#person(who);
    const { keyId, key } = this.subject.createKey(accountId, 'test');
    const looksRight =
      key.startsWith(String(this.model.assumptions.keyFormat)) && /[A-Za-z0-9]{40}$/.test(key);
    if (!looksRight || this.model.keys.some((each) => each.key === key || each.keyId === keyId)) {
      throw new Error(`key ${key}`);
    }
    this.model.keys.push({ keyId, key, accountId, revoked: false });
  }

  #createSim(who: number, number: string, polling: 'simulated' | 'external'): void {
    const { accountId } = this.#person(who);
    const sim = simOf(this.subject.createSim(accountId, number, polling));
    const aheadMs = sim.firstPollAtMs - this.model.nowMs;
    const intervalMs = Number(this.model.assumptions.pollIntervalSeconds) * 1000;
    if (aheadMs <= 0 || aheadMs > intervalMs) throw new Error(`first poll ${aheadMs} ms ahead`);
    this.model.sims.push({ ...sim, number, accountId, polling });
  }

  #inject(who: number, deviceId: string, to: string, message: string): string {
    const { accountId } = this.#person(who);
    const from = '+447400123456';
    const { message_id: messageId } = this.subject.inject(accountId, from, to, message);
    if (!isUuid(messageId)) throw new Error(`received message id ${messageId} is not a UUID`);
    const receivedAtMs = this.model.nowMs;
    this.model.received.push({ messageId, deviceId, accountId, from, to, message, receivedAtMs });
    return `${to} receives ${JSON.stringify(message)}`;
  }

  #person(who: number): Person {
    const person = this.#people[who];
    if (person === undefined) throw new Error(`no person ${who}`);
    return person;
  }

  /** The SIMs of an account; the pool's for the index after the last account. */
  #simsOf(who: number) {
    const accountId = this.#people[who]?.accountId;
    return this.model.sims.filter((sim) => sim.accountId === accountId);
  }

  /** A key of the account, sometimes a revoked one. */
  #key(who: number, index: number): string {
    return at(index === 7 ? this.keysOf(who) : this.#validKeysOf(who), index) ?? 'none';
  }

  #validKeysOf(who: number): readonly string[] {
    const revoked = new Set(this.model.keys.filter((each) => each.revoked).map(({ key }) => key));
    return this.keysOf(who).filter((key) => !revoked.has(key));
  }

  #numberOf(who: number, choice: SenderChoice): unknown {
    if ('value' in choice) return choice.value;
    if ('pool' in choice) return at(poolNumbers, choice.pool);
    const others = this.model.sims.filter(
      (sim) => sim.accountId !== undefined && sim.accountId !== this.#person(who).accountId,
    );
    if ('foreign' in choice) return at(others, choice.foreign)?.number;
    return at(this.#simsOf(who), choice.own)?.number ?? at(poolNumbers, choice.own);
  }

  #messagesOf(who: number) {
    const { accountId } = this.#person(who);
    return this.model.messages.filter((each) => each.accountId === accountId);
  }

  #bodyOf(who: number, fields: SendFields): Record<string, unknown> {
    const sender = this.#numberOf(who, fields.sender);
    const { senderAs, sendAt } = fields;
    return {
      ...fields.extra,
      to: fields.to,
      ...(senderAs === 'from' || senderAs === 'both' ? { from: sender } : {}),
      ...(senderAs === 'from_number' ? { from_number: sender } : {}),
      ...(senderAs === 'both' ? { from_number: this.#numberOf(who, fields.alias) } : {}),
      message: fields.message,
      request_id: fields.requestId,
      send_at: sendAt && ('value' in sendAt ? sendAt.value : writtenTime(sendAt, this.model.nowMs)),
    };
  }

  #post(via: SendPath, key: string, body: string | Uint8Array, type = 'application/json') {
    return { ...this.#get(sendPaths[via], key), method: 'POST', contentType: type, body };
  }

  #get(path: string, key: string): ApiRequest {
    return {
      method: 'GET',
      path,
      query: '',
      authorization: `Bearer ${key}`,
      contentType: undefined,
      clientIp: '203.0.113.1',
      forwardedFor: undefined,
      body: '',
    };
  }

  /** A request that spends a token, if the endpoint has a limit, and changes little. */
  #cheapRequest(who: number, endpoint: Endpoint, key: string): ApiRequest {
    switch (endpoint) {
      case 'received':
        return this.#get('/api/v1/sms/received/', key);
      case 'tasks':
        return this.#get('/api/devices/none/tasks/', key);
      case 'read':
        return this.#get(`/api/v1/sms/${this.#messagesOf(who)[0]?.messageId ?? 'none'}/`, key);
      case 'stats':
        return this.#get('/api/v1/account/stats/', key);
      default:
        return this.#post(endpoint, key, '{}');
    }
  }

  /** A request that would succeed with a valid key. */
  #anyRequest(index: number): ApiRequest {
    const endpoint = limitedEndpoints[index] ?? (index % 2 === 0 ? 'stats' : 'read');
    const [simulated, external] = this.#simsOf(0);
    if (endpoint === 'tasks') return this.#get(`/api/devices/${external?.deviceId}/tasks/`, '');
    if (!(endpoint in sendPaths)) return this.#cheapRequest(0, endpoint, '');
    const body = { to: '+12025550150', from: simulated?.number, message: 'hello' };
    return this.#post(endpoint as SendPath, '', JSON.stringify(body));
  }

  /** Replaces placeholders in the text by a key of the first account, or a part of one. */
  #withKeys(text: string): string {
    const { accountId } = this.#person(0);
    const own = this.model.keys.filter((each) => each.accountId === accountId);
    const key = own.find((each) => !each.revoked)?.key ?? 'none';
    const swapped = key.replaceAll(/[a-z]/gi, (c) => (c < 'a' ? c.toLowerCase() : c.toUpperCase()));
    return text
      .replaceAll('{key}', key)
      .replaceAll('{revoked}', own.find((each) => each.revoked)?.key ?? 'none')
      .replaceAll('{cut}', key.slice(0, -1))
      .replaceAll('{swapped}', swapped);
  }
}

function simOf({ deviceId, firstPollAtMs }: { deviceId: string; firstPollAtMs: number }) {
  if (!isUuid(deviceId)) throw new Error(`device id ${deviceId} is not a UUID`);
  const state = { active: true, connected: true, allowed: true, polling: 'simulated' as const };
  return { deviceId, firstPollAtMs, ableSinceMs: 0, ...state };
}

function spelt(id: string, spelling: Spelling | undefined): string {
  if (spelling === undefined) return id;
  if (spelling === 'half') return id.replace('-', '');
  const text = spelling === 'upper' ? id : id.replaceAll('-', '');
  return spelling === 'bare' ? text : text.toUpperCase();
}

function at<T>(list: readonly T[], index: number): T | undefined {
  return list[index % list.length];
}

/** Near enough that the rest of a run still matters. */
function isSoon(aheadMs: number): boolean {
  return aheadMs > 0 && aheadMs < 400 * dayMs;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function name(who: number): string {
  return ['ada', 'bert', 'cora'][who] ?? 'a stranger';
}

/** A request in short. */
function textOf(request: ApiRequest): string {
  const { method, path, query, authorization, contentType, contentEncoding } = request;
  const body = typeof request.body === 'string' ? request.body : `${request.body.length} bytes`;
  const shown = body.length > 300 ? `${body.slice(0, 300)}… (${body.length})` : body;
  const type = contentType === undefined || contentType === 'application/json' ? '' : contentType;
  const head = [method, path, query, authorization?.slice(0, 20), type, contentEncoding];
  return [...head, shown].filter(Boolean).join(' ');
}

/** Describes how a reply differs from the expected one; undefined if it does not. */
export function differenceOf(expected: Expected, reply: ApiReply): string | undefined {
  const { 'content-type': contentType, ...headers } = reply.headers ?? {};
  const isRight =
    reply.status === expected.status &&
    (expected.bytes === undefined || reply.body === expected.bytes) &&
    (contentType === undefined || contentType === 'application/json') &&
    meets(headers, expected.headers) &&
    meets(parsed(reply.body), expected.body);
  if (isRight) return undefined;
  const wanted = expected.bytes ?? JSON.stringify(expected.body, (_, value) => shown(value));
  return (
    `got ${reply.status} ${JSON.stringify(reply.headers ?? {})} ${reply.body}; ` +
    `the model expects ${expected.status} ${JSON.stringify(expected.headers)} ${wanted}`
  );
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function shown(value: unknown): unknown {
  return typeof value === 'function' ? `<${value.name || 'checked'}>` : value;
}

/** JSON equality; a function in the pattern tests the value in its place. */
function meets(value: unknown, pattern: unknown): boolean {
  if (typeof pattern === 'function') return pattern(value) === true;
  if (typeof pattern !== 'object' || pattern === null) return Object.is(value, pattern);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value) !== Array.isArray(pattern)) return false;
  const wanted = Object.entries(pattern);
  const own = new Map<string, unknown>(Object.entries(value));
  return (
    wanted.length === own.size &&
    wanted.every(([name, each]) => own.has(name) && meets(own.get(name), each))
  );
}
