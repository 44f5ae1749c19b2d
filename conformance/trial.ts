/**
 * One run of one case: the requests that it can make, and the record of what it did.
 * With a control port each trial has its own accounts, so cases cannot affect each other. Otherwise
 * all share the accounts of the flags.
 */
import { minuteMs } from '../src/ledger/time-units.ts';
import { type Endpoint, endpointOf, limitOf, type Spends } from './buckets.ts';
import type { Reply, RequestOptions } from './client.ts';
import type { ApiKey, Control, Sim } from './control.ts';
import type { Exchange as ShownExchange } from './exchange.ts';
import { type Exchange, isUncertain } from './judges/exchange.ts';
import type { CreatedKey, Listing, Trace } from './judges/judge.ts';
import { weightedCounterExplains } from './judges/limiter.ts';
import { exchangeOf } from './known.ts';
import { longerThanAllowed, recipientOf, type Target } from './target.ts';
import { accepted, given, Lacking, textOf } from './verify.ts';

/** A usable account: its key and its numbers. */
export interface Subject {
  readonly key: string;
  /** Its first number; empty if it has no SIM. */
  readonly from: string;
  readonly sims: readonly Sim[];
  readonly accountId?: string;
  readonly keyId?: string;
}

export interface AccountPlan {
  readonly sims?: number;
  /** Undefined: one that no case reaches. `plan`: the quota of the target's own plan. */
  readonly quota?: number | 'plan';
  readonly sim?: Readonly<Record<string, unknown>>;
}

type SimChange = Readonly<Partial<Record<'active' | 'allowed' | 'connected', boolean>>>;

export type Fields = Readonly<Record<string, unknown>>;

type Headers = Readonly<Record<string, string>>;

function bearing(key: string | undefined): Headers {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

const json = { 'content-type': 'application/json' };
export const paths = {
  send: '/api/v1/sms/send/',
  dashboard_send: '/api/sms/send/',
  external_send: '/api/external/send/',
  received: '/api/v1/sms/received/',
  stats: '/api/v1/account/stats/',
  read: (messageId: string) => `/api/v1/sms/${messageId}/`,
  tasks: (deviceId: string) => `/api/devices/${deviceId}/tasks/`,
} as const;

/** So large that no case reaches it unless it asks for a smaller one. */
const ampleQuota = 1_000_000;
/** The longest wait in all for a request that another client's traffic throttles. */
const longestWaitMs = 2 * minuteMs + 10_000;

export class Trial {
  readonly target: Target;
  /** As reports show them. */
  readonly shown: ShownExchange[] = [];
  /** As judges see them. */
  readonly exchanges: Exchange[] = [];
  readonly listings: Listing[] = [];
  readonly createdKeys: CreatedKey[] = [];
  /** How often the case's precondition came true. */
  exercised = 0;
  /** Connections that broke and were retried. */
  interruptions = 0;
  /** What proves a failure, as judges see it. */
  proof: readonly Exchange[] = [];
  /** Real time that the recordings it judges took. */
  recordedMs = 0;
  /** What it sent, if that is not what the case says. */
  said: string | undefined;
  /** The first reply that exceeded a bound. */
  unusable: Reply | undefined;
  /**
   * Buckets for which the case waits out a 429 that it did not provoke, as a documented client
   * does.
   */
  readonly #patientAt: Spends;
  readonly #joined = new Set<Trial>();
  readonly #startedMs = performance.now();
  /** Real time until it ended. */
  tookMs = 0;
  #requestIds = 0;

  constructor(target: Target, patientAt: Spends = {}) {
    this.target = target;
    this.#patientAt = patientAt;
  }

  get controlled(): boolean {
    return this.target.control !== undefined;
  }

  get control(): Control {
    return this.target.control ?? this.lack('--control-url');
  }

  lack(what: string): never {
    throw new Lacking(what);
  }

  /** A setting that the simulator reports; undefined if unknown. */
  assumption(name: string): unknown {
    return this.target.control?.assumptions[name];
  }

  async account(plan: AccountPlan = {}): Promise<Subject> {
    const { control, flags } = this.target;
    if (control === undefined) {
      if (plan.quota !== undefined) this.lack('an account with a quota of its own (--control-url)');
      const from = flags.from ?? '';
      const sims = flags.deviceId === undefined ? [] : [{ number: from, deviceId: flags.deviceId }];
      return { key: flags.apiKey ?? this.lack('--api-key'), from, sims };
    }
    const quota = plan.quota === 'plan' ? undefined : (plan.quota ?? ampleQuota);
    const accountId = await control.createAccount(quota);
    const { key, keyId } = await control.createKey(accountId, 'conformance');
    const sims: Sim[] = [];
    for (let i = 0; i < (plan.sims ?? 1); i += 1)
      sims.push(await control.createSim(accountId, plan.sim));
    return { key, keyId, accountId, sims, from: sims[0]?.number ?? '' };
  }

  /**
   * What this run sends of a table: all of it with a control port, otherwise `most` rows, others
   * under the next `--seed`.
   */
  someOf<T>(table: readonly T[], most: number): readonly T[] {
    if (this.controlled) return table;
    const start = ((this.target.seed - 1) * most) % table.length;
    return [...table.slice(start), ...table.slice(0, start)].slice(0, most);
  }

  /** An account other than that of `account()`. */
  async otherAccount(): Promise<Subject> {
    if (this.controlled) return this.account();
    const { flags } = this.target;
    const key = flags.secondApiKey ?? this.lack('--second-api-key');
    return { key, from: flags.secondFrom ?? '', sims: [] };
  }

  async secondKey(subject: Subject): Promise<ApiKey> {
    if (!this.controlled)
      return { keyId: '', key: this.target.flags.otherApiKey ?? this.lack('--other-api-key') };
    return this.control.createKey(subject.accountId ?? '', 'conformance-second');
  }

  async revoke({ keyId }: ApiKey): Promise<void> {
    await this.control.must('accounts.revokeKey', { id: keyId });
  }

  /** Changes a SIM of the account on the control port. */
  async patchSim({ sims }: Subject, index: number, input: SimChange): Promise<void> {
    await this.control.must('sims.patch', { id: sims[index]?.deviceId, input });
  }

  /** A number that no SIM has. */
  unusedNumber(): string {
    return this.target.flags.unknownFrom ?? this.control.unusedNumber();
  }

  /** Creates a key on the control port, and looks wherever keys are shown later. */
  async createdKey({ accountId: id = '' }: Subject, name: string): Promise<string> {
    const { key, made } = await this.control.createKey(id, name);
    const shown = [
      await this.control.call('accounts.keys', { id }),
      await this.control.call('accounts.get', { id }),
    ];
    this.createdKeys.push({ key, name, creation: made, shown });
    return key;
  }

  /** Asks a control port how many messages the account has; without one, judges do not know. */
  async list({ accountId: account }: Subject): Promise<void> {
    if (this.target.control === undefined || account === undefined) return;
    const messages = await this.control.messageCount(account);
    if (messages === undefined) this.lack('a list of messages on the control port');
    this.listings.push({ account, messages, after: this.target.log.length });
  }

  /** A new id. Short, because the target's limit may be low. */
  requestId(): string {
    this.#requestIds += 1;
    const n = this.#requestIds;
    if (this.controlled) return n <= 26 ? String.fromCharCode(96 + n) : `id-${n}`;
    return `st${Math.floor(this.target.clock.now()).toString(36)}${Math.floor(Math.random() * 46_656).toString(36)}${n}`;
  }

  get recipient(): string {
    return recipientOf(this.target) ?? this.lack('--to');
  }

  fields(subject: Subject, fields: Fields = {}): Record<string, unknown> {
    return { to: this.recipient, from: subject.from, message: 'conformance', ...fields };
  }

  send(subject: Subject, fields: Fields = {}): Promise<Reply> {
    return this.post(paths.send, subject.key, this.fields(subject, fields));
  }

  /** Sends a message that must be accepted; otherwise the precondition is missing. */
  async queued(subject: Subject, fields: Fields = {}): Promise<Queued> {
    const reply = await this.send(subject, fields);
    const body = given(() => accepted(reply));
    return { reply, body, messageId: textOf(body['message_id']) };
  }

  post(path: string, key: string | undefined, body: unknown, more: Headers = {}): Promise<Reply> {
    return this.request({
      method: 'POST',
      path,
      headers: { ...json, ...more, ...bearing(key) },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  get(path: string, key: string | undefined, more: Headers = {}): Promise<Reply> {
    return this.request({
      method: 'GET',
      path,
      headers: { ...more, ...bearing(key) },
    });
  }

  read(subject: Subject, messageId: string): Promise<Reply> {
    return this.get(paths.read(messageId), subject.key);
  }

  async request(options: RequestOptions): Promise<Reply> {
    let reply = await this.#once(options);
    if (this.controlled || !this.#isPatient(options)) return reply;
    const { startedAt, strange429s } = this.target;
    const last = this.exchanges.find((one) => one.reply === reply);
    const isLate = reply.sentAt - startedAt > minuteMs;
    if (reply.status === 429 && last && isLate && !isExplained(last, this.target.log))
      strange429s.add(last);
    // Another client of the account may take what has come back, so one wait may not be enough.
    for (let waitedMs = 0; reply.status === 429; ) {
      const waitMs = Math.max(1, Number(reply.headers['retry-after'] ?? '60')) * 1000 + 50;
      waitedMs += waitMs;
      // Also ends a wait for a Retry-After that is no number.
      if (!(waitedMs <= longestWaitMs)) break;
      await this.advance(waitMs);
      reply = await this.#once(options);
    }
    return reply;
  }

  async #once(options: RequestOptions): Promise<Reply> {
    const reply = await this.target.client.request(options);
    this.shown.push(reply.exchange);
    const exchange = exchangeOf(options, reply, this.target.known);
    this.exchanges.push(exchange);
    this.target.log.push(exchange);
    if (!this.controlled) this.#noteSpending(exchange);
    this.interruptions += reply.interruptions;
    if (reply.unusable === true) this.unusable ??= reply;
    return reply;
  }

  /** Notes for the schedule what spends from the shared account or the address. */
  #noteSpending({ method, path, headers, caller, reply, answeredAt }: Exchange): void {
    const { status } = reply;
    const endpoint = endpointOf(path);
    const isOwn = caller.account === 'own' && status !== 401;
    const isOfAddress = endpoint === 'received' && (status === 401 || !headers['authorization']);
    if (endpoint === undefined || !(isOwn || isOfAddress)) return;
    const isReplay = method === 'POST' && status === 200;
    const isSuccess = status >= 200 && status < 300 && !isReplay;
    this.target.ledger.note(isOwn ? endpoint : 'address', answeredAt, isSuccess);
  }

  #isPatient({ path, headers }: RequestOptions): boolean {
    const endpoint = endpointOf(path);
    if (endpoint === undefined) return false;
    const bucket = headers?.['authorization'] === undefined ? 'address' : endpoint;
    return this.#patientAt[bucket] !== undefined;
  }

  /** Work of one kind is done once the run's earlier work of that kind is over. */
  inTurn<T>(kind: string, work: () => Promise<T>): Promise<T> {
    const { turns } = this.target;
    const done = (turns.get(kind) ?? Promise.resolve()).then(work);
    turns.set(
      kind,
      done.catch(() => {}),
    );
    return done;
  }

  /** The target's time, as far as it is known. */
  async now(): Promise<number> {
    return this.target.clock.now();
  }

  /** Lets time pass: the run's clock moves a simulator's, or waits if `--timeout` allows it. */
  async advance(ms: number): Promise<void> {
    if (!this.controlled && ms > this.target.timeoutMs)
      this.lack(`a wait of ${Math.ceil(ms / 1000)} s, ${longerThanAllowed}`);
    await this.pause(ms, 'time to pass');
  }

  /** Waits on the run's own clock, and reports for what. */
  async pause(ms: number, what: string): Promise<void> {
    const { clock, waits, signal } = this.target;
    if (ms <= 0) return;
    const wait = { what, until: clock.now() + ms };
    waits.add(wait);
    try {
      await clock.sleep(ms, signal);
    } finally {
      waits.delete(wait);
    }
  }

  /** Adds what another trial recorded, once. */
  join(other: Trial): void {
    if (this.#joined.has(other)) return;
    this.#joined.add(other);
    this.shown.push(...other.shown);
    this.exchanges.push(...other.exchanges);
    this.listings.push(...other.listings);
    this.recordedMs += other.tookMs;
  }

  end(): void {
    this.tookMs = performance.now() - this.#startedMs;
  }

  /** What the judges look at. */
  trace(): Trace {
    const { log, startedAt } = this.target;
    return {
      exchanges: this.exchanges.toSorted((a, b) => a.sentAt - b.sentAt),
      log,
      listings: this.listings,
      createdKeys: this.createdKeys,
      knownSince: this.controlled ? Number.NEGATIVE_INFINITY : startedAt,
      hasExactTimes: this.controlled,
      assumption: (name) => this.assumption(name),
    };
  }
}

/** True if the run's own requests may explain a 429: some were repeated, or weigh on. */
function isExplained(refused: Exchange, log: readonly Exchange[]): boolean {
  const { endpoint, caller, sentAt } = refused;
  const exchanges = log.filter(
    (one) =>
      one.endpoint === endpoint &&
      one.caller.account === caller.account &&
      one.sentAt > sentAt - 3 * minuteMs,
  );
  const limit = limitOf(endpoint as Endpoint);
  return (
    exchanges.some(isUncertain) ||
    weightedCounterExplains({ exchanges, limit }, { exchange: refused, isTooFew: true })
  );
}

export interface Queued {
  readonly reply: Reply;
  readonly body: Record<string, unknown>;
  readonly messageId: string;
}
