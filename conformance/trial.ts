/**
 * A trial is one run of one case or recording: the requests that it can make, and the record of its
 * exchanges. With a control port each trial creates its own accounts, so cases cannot affect each
 * other. Without one, all trials share the accounts that the flags name.
 */
import { minuteMs } from '../src/ledger/time-units.ts';
import { endpointOf, type Spends } from './buckets.ts';
import type { Reply } from './client.ts';
import type { RequestOptions } from './connections.ts';
import type { ApiKey, Control, Sim } from './control.ts';
import type { Exchange as ShownExchange } from './exchange.ts';
import type { Exchange } from './judges/exchange.ts';
import type { CreatedKey, Listing, Trace } from './judges/judge.ts';
import { exchangeOf } from './known.ts';
import { bucketOf, isExplained } from './spending.ts';
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

/** The account that a trial creates on a control port. */
export interface AccountPlan {
  /** The number of its SIMs; default: 1. */
  readonly sims?: number;
  /** Undefined: one that no case reaches. `plan`: the quota of the target's own plan. */
  readonly quota?: number | 'plan';
  /** Settings of each SIM, as the control port takes them. */
  readonly sim?: Readonly<Record<string, unknown>>;
}

type SimChange = Readonly<Partial<Record<'active' | 'allowed' | 'connected', boolean>>>;

/** The fields of a request's JSON body. */
export type Fields = Readonly<Record<string, unknown>>;

type Headers = Readonly<Record<string, string>>;

/** The documented paths. */
export const paths = {
  send: '/api/v1/sms/send/',
  dashboard_send: '/api/sms/send/',
  external_send: '/api/external/send/',
  received: '/api/v1/sms/received/',
  stats: '/api/v1/account/stats/',
  read: (messageId: string) => `/api/v1/sms/${messageId}/`,
  tasks: (deviceId: string) => `/api/devices/${deviceId}/tasks/`,
} as const;

export const sendPaths = [paths.send, paths.dashboard_send, paths.external_send];

/** So large that no case reaches it unless it asks for a smaller one. */
const ampleQuota = 1_000_000;
/** The longest wait in all for a request that another client's traffic throttles. */
const longestThrottledMs = 2 * minuteMs + 10_000;
/** Added to a wait for `Retry-After`, so that the next request does not come too early. */
const waitMarginMs = 50;

/** Sends the requests of one run and records their exchanges. Only it writes its fields. */
export class Trial {
  readonly target: Target;
  /** The exchanges as reports show them. */
  readonly shown: ShownExchange[] = [];
  /** The same exchanges as judges see them. */
  readonly exchanges: Exchange[] = [];
  readonly listings: Listing[] = [];
  readonly createdKeys: CreatedKey[] = [];
  /** The trial waits out a 429 of these buckets, as the case did not provoke it. */
  readonly #waitsOut: Spends;
  readonly #joined = new Set<Trial>();
  readonly #startedMs = performance.now();
  #tookMs = 0;
  #requestIds = 0;
  /** How often a connection broke and the request was retried. */
  interruptions = 0;
  /** The first reply that exceeded a bound of the client. */
  unusable: Reply | undefined;
  /** Real time that the joined trials took. */
  joinedMs = 0;
  /** Set by `describeSends`. */
  sendsInstead: string | undefined;

  constructor(target: Target, waitsOut: Spends = {}) {
    this.target = target;
    this.#waitsOut = waitsOut;
  }

  /** Replaces the case's own description of what it sends. */
  describeSends(sends: string): void {
    this.sendsInstead = sends;
  }

  get controlled(): boolean {
    return this.target.control !== undefined;
  }

  get control(): Control {
    return this.target.control ?? this.lack('--control-url');
  }

  /** Ends the case: it is skipped, because it needs this. */
  lack(what: string): never {
    throw new Lacking(what);
  }

  /** A setting that the simulator reports; undefined if unknown. */
  assumption(name: string): unknown {
    return this.target.control?.assumptions[name];
  }

  /** A new account on the control port; without one, the account of the flags. */
  async account({ sims: count = 1, quota, sim }: AccountPlan = {}): Promise<Subject> {
    const { control } = this.target;
    if (control === undefined) {
      if (quota !== undefined) this.lack('an account with a quota of its own (--control-url)');
      return this.#accountOfFlags();
    }
    const accountId = await control.createAccount(
      quota === 'plan' ? undefined : (quota ?? ampleQuota),
    );
    const { key, keyId } = await control.createKey(accountId, 'conformance');
    const sims: Sim[] = [];
    for (let i = 0; i < count; i += 1) sims.push(await control.createSim(accountId, sim));
    return { key, keyId, accountId, sims, from: sims[0]?.number ?? '' };
  }

  #accountOfFlags(): Subject {
    const { apiKey, from = '', deviceId } = this.target.flags;
    const sims = deviceId === undefined ? [] : [{ number: from, deviceId }];
    return { key: apiKey ?? this.lack('--api-key'), from, sims };
  }

  /**
   * The rows of a table that this run sends: all with a control port, otherwise `most` of them. The
   * next `--seed` selects the rows that follow.
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

  /** Creates a key on the control port, and reads every place where the port shows keys later. */
  async createdKey({ accountId: id = '' }: Subject, name: string): Promise<string> {
    const { key, made } = await this.control.createKey(id, name);
    const shown = [
      await this.control.call('accounts.keys', { id }),
      await this.control.call('accounts.get', { id }),
    ];
    this.createdKeys.push({ key, name, creation: made, shown });
    return key;
  }

  /** Notes how many messages the account has, if there is a control port to ask. */
  async noteMessageCount({ accountId: account }: Subject): Promise<void> {
    if (this.target.control === undefined || account === undefined) return;
    const messages = await this.control.messageCount(account);
    if (messages === undefined) this.lack('a list of messages on the control port');
    this.listings.push({ account, messages, after: this.target.log.length });
  }

  /**
   * A `request_id` that the account has not used. Short, because the target's limit may be low.
   * With a control port the account is new, so short ids are enough; otherwise earlier runs have
   * used it, so the id contains time and chance.
   */
  requestId(): string {
    this.#requestIds += 1;
    const ordinal = this.#requestIds;
    if (this.controlled)
      return ordinal <= letters.length ? letters.charAt(ordinal - 1) : `id-${ordinal}`;
    const time = Math.floor(this.target.clock.now()).toString(36);
    const random = Math.floor(Math.random() * 36 ** 3).toString(36);
    return `st${time}${random}${ordinal}`;
  }

  /** The recipient of messages whose recipient does not matter. */
  get recipient(): string {
    return recipientOf(this.target) ?? this.lack('--to');
  }

  /** The body of an acceptable send, with these fields replaced or added. */
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
      headers: { 'content-type': 'application/json', ...more, ...authorization(key) },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  get(path: string, key: string | undefined, more: Headers = {}): Promise<Reply> {
    return this.request({ method: 'GET', path, headers: { ...more, ...authorization(key) } });
  }

  read(subject: Subject, messageId: string): Promise<Reply> {
    return this.get(paths.read(messageId), subject.key);
  }

  /** Sends a request. Waits out a 429 and sends it again if the case did not provoke the 429. */
  async request(options: RequestOptions): Promise<Reply> {
    const first = await this.#once(options);
    const bucket = bucketOf(options, first.status);
    const isWaitedOut = bucket !== undefined && this.#waitsOut[bucket] !== undefined;
    if (first.status !== 429 || this.controlled || !isWaitedOut) return first;
    this.#noteUnexplained429(first);
    let reply = first;
    // Another client of the account may take what has come back, so one wait may not be enough.
    for (let waitedMs = 0; reply.status === 429; ) {
      const waitSeconds = Math.max(1, Number(reply.headers['retry-after'] ?? '60'));
      const waitMs = waitSeconds * 1_000 + waitMarginMs;
      waitedMs += waitMs;
      // NaN, from a Retry-After that is no number, ends the loop too.
      if (!(waitedMs <= longestThrottledMs)) break;
      await this.advance(waitMs);
      reply = await this.#once(options);
    }
    return reply;
  }

  /** Notes a 429 for which this run had left room. Unknown in the first minute of the run. */
  #noteUnexplained429(reply: Reply): void {
    const { startedAt, unexplained429s, log } = this.target;
    const refused = this.exchanges.find((exchange) => exchange.reply === reply);
    if (refused === undefined || reply.sentAt - startedAt <= minuteMs) return;
    if (!isExplained(refused, log)) unexplained429s.add(refused);
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

  /** Notes for the schedule that a request may have spent from a bucket. */
  #noteSpending({ method, path, headers, caller, reply, answeredAt }: Exchange): void {
    const { status } = reply;
    const bucket = bucketOf({ method, path, headers }, status);
    // Of the calls without a valid key, only those for received messages have a limit.
    const isCounted =
      bucket === 'address' ? endpointOf(path) === 'received' : caller.account === 'own';
    if (bucket === undefined || !isCounted) return;
    const isReplay = method === 'POST' && status === 200;
    const isSuccess = status >= 200 && status < 300 && !isReplay;
    this.target.ledger.note(bucket, answeredAt, isSuccess);
  }

  /** Does the work when the run's earlier work of that kind is over. */
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

  /** Lets time pass: moves a simulator's clock, or waits if `--timeout` allows such a wait. */
  async advance(ms: number): Promise<void> {
    if (!this.controlled && ms > this.target.timeoutMs)
      this.lack(`a wait of ${Math.ceil(ms / 1000)} s, ${longerThanAllowed}`);
    await this.pause(ms, 'time to pass');
  }

  /** Waits on the run's clock. `what` names the purpose for the progress line. */
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

  /** Adds the record of another trial, once. */
  join(other: Trial): void {
    if (this.#joined.has(other)) return;
    this.#joined.add(other);
    this.shown.push(...other.shown);
    this.exchanges.push(...other.exchanges);
    this.listings.push(...other.listings);
    this.joinedMs += other.#tookMs;
  }

  /** Call it when the trial is over: its duration counts for the trials that join it later. */
  end(): void {
    this.#tookMs = performance.now() - this.#startedMs;
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

const letters = 'abcdefghijklmnopqrstuvwxyz';

function authorization(key: string | undefined): Headers {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

/** A message that the target has accepted. */
export interface Queued {
  readonly reply: Reply;
  readonly body: Record<string, unknown>;
  readonly messageId: string;
}
