/**
 * A second implementation of the document, in plain Node, which shares no code with the simulator
 * or the judges; its buckets are the reference model's. It answers differently wherever the document permits it (`variation.ts`); the
 * harness must not fail it. `now` is its clock, by default the wall clock.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  fullBucket,
  type ReferenceBucket,
  waitForToken,
} from '../../conformance/model/reference-limiter.ts';
import { readFields, type SendFields } from './fields.ts';
import type { Variation } from './variation.ts';
import { type Answer, Wording } from './wording.ts';
import { type Account, type Message, makeWorld, pollFor, type Sim, statusOf } from './world.ts';

interface Caller {
  readonly account: Account;
  readonly key: string;
}

interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  readonly limit: number | undefined;
  readonly run: (caller: Caller, id: string, call: Call) => Answer;
}

function get(path: RegExp, run: Endpoint['run'], limit?: number): Endpoint {
  return { method: 'GET', path, limit, run };
}

function post(path: RegExp, run: Endpoint['run']): Endpoint {
  return { method: 'POST', path, limit: 120, run };
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly address: string;
  readonly body: Buffer;
}

interface Remembered {
  readonly atMs: number;
  readonly answer: Answer;
  readonly fields: string;
}

const dayMs = 86_400_000;

export class ForeignService {
  readonly #variation: Variation;
  readonly #now: () => number;
  readonly #wording: Wording;
  readonly #world = makeWorld();
  readonly #buckets = new Map<string, ReferenceBucket>();
  readonly #remembered = new Map<string, Remembered>();
  readonly #endpoints: Readonly<Record<string, Endpoint>>;

  constructor(variation: Variation, now: () => number = Date.now) {
    this.#variation = variation;
    this.#now = now;
    this.#wording = new Wording(variation);
    const send =
      (name: string): Endpoint['run'] =>
      (caller, _, call) =>
        this.#send(caller, name, call);
    const inbox = ({ account }: Caller) =>
      this.#wording.list(
        'results',
        account.inbound.map((each) => this.#wording.received(each)),
      );
    this.#endpoints = {
      send: post(/^\/api\/v1\/sms\/send\/$/, send('send')),
      dashboard: post(/^\/api\/sms\/send\/$/, send('dashboard')),
      external: post(/^\/api\/external\/send\/$/, send('external')),
      received: get(/^\/api\/v1\/sms\/received\/$/, inbox, 120),
      tasks: get(
        /^\/api\/devices\/([^/]+)\/tasks\/$/,
        ({ account }, id) => this.#tasks(account, id),
        60,
      ),
      stats: get(/^\/api\/v1\/account\/stats\/$/, ({ account }) =>
        this.#wording.stats(account.messages.length, account.inbound.length),
      ),
      read: get(/^\/api\/v1\/sms\/([^/]+)\/$/, ({ account }, id) => this.#read(account, id)),
    };
  }

  get contentType(): string {
    return this.#wording.contentType;
  }

  get flags(): Readonly<Record<string, string>> {
    return this.#world.flags;
  }

  answer(call: Call): Answer {
    const found = this.#find(call.path);
    const caller = this.#authenticate(call);
    if (caller === undefined && this.#variation.asksKeyFirst && !found?.endpoint.limit) {
      return this.#wording.error(401, 'auth_invalid_keyy');
    }
    if (found === undefined) {
      const target = `${call.path}/`;
      return this.#variation.redirectsToSlash && this.#find(target) !== undefined
        ? { status: 301, body: {}, headers: { location: target } }
        : this.#wording.unknownPath(call.path);
    }
    const { name, endpoint, id } = found;
    const isHead = call.method === 'HEAD' && !this.#variation.refusesHead;
    const isWrong = (isHead ? 'GET' : call.method) !== endpoint.method;
    if (isWrong && (caller !== undefined || !this.#variation.asksKeyFirst)) {
      return this.#variation.wrongMethodIs404
        ? this.#wording.unknownPath(call.path)
        : this.#wording.wrongMethod(endpoint.method);
    }
    if (caller === undefined) return this.#unauthenticated(name, endpoint, call);
    const early = this.#variation.replayBeforeThrottle
      ? this.#replay(caller, name, call)
      : undefined;
    if (early !== undefined) return early;
    return this.#throttled(`${name} ${caller.account.id}`, endpoint, () =>
      endpoint.run(caller, id, call),
    );
  }

  #find(asked: string) {
    const { servesWithoutSlash, readsAnyPathCase } = this.#variation;
    const whole = servesWithoutSlash && !asked.endsWith('/') ? `${asked}/` : asked;
    const path = readsAnyPathCase ? whole.toLowerCase() : whole;
    for (const [name, endpoint] of Object.entries(this.#endpoints)) {
      const match = endpoint.path.exec(path);
      if (match !== null) return { name, endpoint, id: match[1] ?? '' };
    }
    return undefined;
  }

  #authenticate({ headers }: Call): Caller | undefined {
    const key = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
    const account = this.#world.accounts.find(
      ({ keys }) => key !== undefined && keys.includes(key),
    );
    return account === undefined || key === undefined ? undefined : { account, key };
  }

  #unauthenticated(name: string, endpoint: Endpoint, { address: peer, headers }: Call): Answer {
    const forwarded = this.#variation.readsForwardedFor && headers['x-forwarded-for'];
    const address = forwarded ? String(forwarded) : peer;
    const refusal = this.#wording.error(401, 'auth_invalid_keyy');
    if (this.#variation.unauthenticatedIsNever429) return refusal;
    return this.#throttled(`${name} ${address}`, endpoint, () => refusal);
  }

  #throttled(caller: string, { limit }: Endpoint, run: () => Answer): Answer {
    if (limit === undefined) return run();
    const { refill: limiterRefill = 'sliding', refusalsSpend = false } = this.#variation;
    const bucket = this.#buckets.get(caller) ?? fullBucket();
    const before = structuredClone(bucket);
    this.#buckets.set(caller, bucket);
    const refusedSpendsToken = refusalsSpend ? 'yes' : 'no';
    const how = { limiterRefill, refusedSpendsToken } as const;
    const waitSeconds = waitForToken(bucket, limit, this.#now(), how) / 1_000;
    if (waitSeconds > 0) {
      const header = String(Math.ceil(waitSeconds));
      const stated = this.#variation.statesFractions ? waitSeconds.toFixed(3) : header;
      return {
        status: 429,
        body: { detail: `Request was throttled. Expected available in ${stated} seconds.` },
        headers: { 'retry-after': header },
      };
    }
    const answer = run();
    if (answer.status >= 400 && this.#variation.errorsAreFree) this.#buckets.set(caller, before);
    return answer;
  }

  /** The gates in order: type, JSON, replay, fields, sender, SIM, quota. */
  #send(caller: Caller, endpoint: string, call: Call): Answer {
    const type = call.headers['content-type'] ?? '';
    if (!this.#variation.readsAnyContentType && !/^application\/json\b/i.test(type)) {
      return this.#wording.error(415, 'unsupported_media_type');
    }
    const isEmpty = call.body.length === 0 && this.#variation.emptyBodyHasNoFields;
    const body = isEmpty ? {} : objectOf(call.body);
    if (body === undefined) return this.#wording.noJson();
    const replayed = this.#replay(caller, endpoint, call);
    if (replayed !== undefined) return replayed;
    const fields = readFields(body, this.#now(), this.#variation);
    if (!('to' in fields)) return this.#wording.invalid(fields);
    const { account } = caller;
    const sender = this.#sender(account, fields.from);
    const remember = (answer: Answer) => {
      if (fields.requestId === '') return;
      const known = this.#scope(account, endpoint, fields.requestId);
      this.#remembered.set(known, { atMs: this.#now(), answer, fields: call.body.toString() });
    };
    const refuse = (status: number, code: string) => {
      const refusal = this.#wording.error(status, code);
      if (this.#variation.burnsRequestIds) remember(refusal);
      return refusal;
    };
    if (typeof sender === 'string') return refuse(403, sender);
    if (!sender.active) return refuse(503, 'device_inactive');
    if (account.used >= account.quota) return refuse(402, 'quota_exceeded');
    account.used += 1;
    const accepted = this.#accept(account, sender, fields);
    remember({ status: 200, body: accepted });
    return { status: 202, body: accepted };
  }

  /** The Message body of a new message. */
  #accept(account: Account, sim: Sim, fields: SendFields): string {
    const nowMs = this.#now();
    const dueAtMs = Math.max(fields.sendAtMs, nowMs);
    const message: Message = {
      id: randomUUID(),
      account,
      sim,
      from: fields.from,
      to: fields.to,
      text: fields.message,
      requestId: fields.requestId,
      createdAtMs: nowMs,
      dueAtMs,
      pollAtMs: pollFor(sim, dueAtMs, this.#variation),
      pickedUpAtMs: undefined,
    };
    account.messages.push(message);
    const lines = this.#variation.answersInChunks ? 2 : 0;
    return JSON.stringify(this.#shown(message, 'queued'), undefined, lines);
  }

  #scope(account: Account, endpoint: string, requestId: string): string {
    const path = this.#variation.replayPerEndpoint ? endpoint : '';
    return JSON.stringify([account.id, path, requestId]);
  }

  #replay({ account }: Caller, endpoint: string, call: Call): Answer | undefined {
    const requestId = objectOf(call.body)?.['request_id'];
    if (typeof requestId !== 'string' || requestId === '') return undefined;
    const known = this.#remembered.get(this.#scope(account, endpoint, requestId));
    if (known === undefined || this.#now() - known.atMs >= dayMs) return undefined;
    if (this.#variation.replayOfOtherBodyIs409 && known.fields !== call.body.toString()) {
      return this.#wording.error(409, 'request_id_conflict');
    }
    return known.answer;
  }

  #sender(
    account: Account,
    number: string,
  ): Sim | 'from_number_not_found' | 'from_number_access_deniedd' {
    const own = account.sims.find((sim) => sim.number === number);
    if (own !== undefined) return own;
    const { accounts, pool } = this.#world;
    if (number === pool.number && account.sims.length === 0) return pool;
    const isKnown =
      number === pool.number ||
      accounts.some(({ sims }) => sims.some((sim) => sim.number === number));
    return isKnown && !this.#variation.foreignNumberIsUnknown
      ? 'from_number_access_deniedd'
      : 'from_number_not_found';
  }

  #read(account: Account, id: string): Answer {
    const wanted = this.#variation.upperCaseIds ? id.toLowerCase() : id;
    const message = account.messages.find((each) => each.id === wanted);
    if (message === undefined) return this.#wording.notFound();
    return {
      status: 200,
      body: this.#shown(message, statusOf(message, this.#now(), this.#variation)),
    };
  }

  #tasks(account: Account, id: string): Answer {
    const sim = account.sims.find((each) => each.id === id);
    if (sim === undefined) return this.#wording.notFound();
    const nowMs = this.#now();
    const taken = account.messages.filter(
      (message) =>
        message.sim === sim &&
        message.dueAtMs <= nowMs &&
        statusOf(message, nowMs, this.#variation) === 'queued',
    );
    for (const message of taken) message.pickedUpAtMs = nowMs;
    const tasks = taken.map((one) => this.#wording.task(one.id, one.to, one.from, one.text));
    return this.#wording.list('tasks', tasks);
  }

  /** RES-1: the seven fields of the Message body. */
  #shown(message: Message, status: string): Readonly<Record<string, string>> {
    return {
      message_id: message.id,
      status,
      request_id: message.requestId,
      to: message.to,
      from_number: message.from,
      device_id: this.#variation.upperCaseIds ? message.sim.id.toUpperCase() : message.sim.id,
      created_at: new Date(message.createdAtMs).toISOString(),
    };
  }
}

function objectOf(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
