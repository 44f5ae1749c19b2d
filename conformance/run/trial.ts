/**
 * A trial is one run of one case or recording: the accounts that it uses, the messages that it can
 * send, and what the judges look at. With a control port each trial creates its own accounts, so
 * cases cannot affect each other. Without one, all trials share the accounts that the flags name.
 */
import type { Ahead } from '#judging/evidence/clock-offset.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { accepted, given, textOf } from '#judging/service/expectations.ts';
import type { CreatedKey, Listing, Trace } from '#judging/service/judge.ts';
import type { ApiKey, Control, Sim } from '../target/control.ts';
import { type Capabilities, recipientOf } from '../target/target.ts';
import { RecordedRequests } from './recorded-requests.ts';

/** A usable account: its key and its numbers. */
export interface AccountUnderTest {
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
  /** Default: a quota that no case reaches. `plan`: the quota of the target's own plan. */
  readonly quota?: number | 'plan';
  /** Settings of each SIM, as the control port takes them. */
  readonly sim?: Readonly<Record<string, unknown>>;
  /** True if any account will do: see `usesSecondAccount`. */
  readonly isAny?: boolean;
}

/**
 * True if a case spends from the second account of the flags, because any will do: cases that need
 * the first one wait for its limits.
 */
export function usesSecondAccount(plan: AccountPlan | undefined, target: Capabilities): boolean {
  const { secondApiKey, secondFrom } = target.flags;
  const hasSecond = secondApiKey !== undefined && secondFrom !== undefined;
  return plan?.isAny === true && hasSecond && !target.hasControl;
}

type SimChange = Readonly<Partial<Record<'active' | 'allowed' | 'connected', boolean>>>;

/** The fields of a request's JSON body. */
export type Fields = Readonly<Record<string, unknown>>;

/** Written out, because the simulator serves the paths of `contract/routes.ts`, mistakes included. */
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

/** No message has this id. */
export const unknownId = '00000000-0000-4000-8000-000000000000';

/** The default quota: more than any case sends. */
const ampleQuota = 1_000_000;

/** One run of a case or recording. Other code only reads its fields. */
export class Trial extends RecordedRequests {
  readonly listings: Listing[] = [];
  readonly createdKeys: CreatedKey[] = [];
  readonly #joined = new Set<Trial>();
  readonly #startedMs = performance.now();
  #tookMs = 0;
  #requestIds = 0;
  /** Real time that the joined trials took. */
  joinedMs = 0;
  /** What it sends, if that differs from the case's own description (`describeSends`). */
  sendsInstead: string | undefined;

  /** Replaces the case's own description of what it sends. */
  describeSends(sends: string): void {
    this.sendsInstead = sends;
  }

  get control(): Control {
    return this.target.control ?? this.lack('--control-url');
  }

  /** How far the target's clock is ahead of `now`; with a control port they are one clock. */
  get ahead(): Ahead {
    return this.hasControl ? { least: 0, most: 0 } : this.target.facts.clock.ahead;
  }

  /** A setting that the simulator reports; undefined if unknown. */
  assumption(name: string): unknown {
    return this.target.control?.assumptions[name];
  }

  /** A new account on the control port; without one, the account of the flags. */
  async account(plan: AccountPlan = {}): Promise<AccountUnderTest> {
    const { sims: count = 1, quota, sim } = plan;
    const { control } = this.target;
    if (usesSecondAccount(plan, this.target)) return this.otherAccount();
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

  #accountOfFlags(): AccountUnderTest {
    const { apiKey, from = '', deviceId } = this.target.flags;
    const sims = deviceId === undefined ? [] : [{ number: from, deviceId }];
    return { key: apiKey ?? this.lack('--api-key'), from, sims };
  }

  /**
   * The rows of a table that this run sends: all with a control port, otherwise `most` of them. The
   * next `--seed` selects the rows that follow.
   */
  someOf<T>(table: readonly T[], most: number): readonly T[] {
    if (this.hasControl) return table;
    const start = ((this.target.seed - 1) * most) % table.length;
    return [...table.slice(start), ...table.slice(0, start)].slice(0, most);
  }

  /** An account other than that of `account()`. */
  async otherAccount(): Promise<AccountUnderTest> {
    if (this.hasControl) return this.account();
    const { flags } = this.target;
    const key = flags.secondApiKey ?? this.lack('--second-api-key');
    return { key, from: flags.secondFrom ?? '', sims: [] };
  }

  /** An account whose quota is spent; undefined if there is none. `from`: its number by default. */
  async exhaustedAccount(from = ''): Promise<AccountUnderTest | undefined> {
    if (this.hasControl) return this.account({ quota: 0 });
    const { exhaustedApiKey: key, exhaustedFrom = from } = this.target.flags;
    return key === undefined ? undefined : { key, from: exhaustedFrom, sims: [] };
  }

  /** Another key of the account. */
  async secondKey(account: AccountUnderTest): Promise<ApiKey> {
    if (!this.hasControl)
      return { keyId: '', key: this.target.flags.otherApiKey ?? this.lack('--other-api-key') };
    return this.control.createKey(account.accountId ?? '', 'conformance-second');
  }

  /** A key of the account that is not the one of its other requests, as far as the run has one. */
  async anotherKey(account: AccountUnderTest): Promise<string> {
    const { apiKey, otherApiKey } = this.target.flags;
    if (this.hasControl) return (await this.secondKey(account)).key;
    return account.key === apiKey ? (otherApiKey ?? apiKey) : account.key;
  }

  async revoke({ keyId }: ApiKey): Promise<void> {
    await this.control.revokeKey(keyId);
  }

  /** Changes a SIM of the account on the control port. */
  async patchSim({ sims }: AccountUnderTest, index: number, input: SimChange): Promise<void> {
    await this.control.patchSim(sims[index]?.deviceId ?? '', input);
  }

  /** A number that no SIM has. */
  unusedNumber(): string {
    return this.target.flags.unknownFrom ?? this.control.unusedNumber();
  }

  /** Creates a key on the control port, and reads every place where the port shows keys later. */
  async createdKey({ accountId: id = '' }: AccountUnderTest, name: string): Promise<string> {
    const { key, created } = await this.control.createKey(id, name);
    const views = [
      await this.control.port.call('accounts.keys', { id }),
      await this.control.port.call('accounts.get', { id }),
    ];
    this.createdKeys.push({ key, name, creation: created, shown: views });
    return key;
  }

  /** Notes how many messages the account has, if there is a control port to ask. */
  async noteMessageCount({ accountId: account }: AccountUnderTest): Promise<void> {
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
    if (this.hasControl)
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
  fields(account: AccountUnderTest, fields: Fields = {}): Record<string, unknown> {
    return { to: this.recipient, from: account.from, message: 'conformance', ...fields };
  }

  send(account: AccountUnderTest, fields: Fields = {}): Promise<Reply> {
    return this.post(paths.send, account.key, this.fields(account, fields));
  }

  /** Sends a message that must be accepted; otherwise the case's precondition is missing. */
  async mustSend(account: AccountUnderTest, fields: Fields = {}): Promise<Queued> {
    const reply = await this.send(account, fields);
    const body = given(() => accepted(reply));
    return { reply, body, messageId: textOf(body['message_id']) };
  }

  read(account: AccountUnderTest, messageId: string): Promise<Reply> {
    return this.get(paths.read(messageId), account.key);
  }

  /** Asks for the tasks of the account's first SIM. */
  poll({ key, sims }: AccountUnderTest): Promise<Reply> {
    return this.get(paths.tasks(sims[0]?.deviceId ?? ''), key);
  }

  /** Adds the record of another trial to this one; a second call for it does nothing. */
  join(other: Trial): void {
    if (this.#joined.has(other)) return;
    this.#joined.add(other);
    this.reported.push(...other.reported);
    this.exchanges.push(...other.exchanges);
    this.listings.push(...other.listings);
    this.unanswered.push(...other.unanswered);
    this.joinedMs += other.#tookMs;
  }

  /** Marks the trial as over, and notes its duration for the trials that join it later. */
  end(): void {
    this.#tookMs = performance.now() - this.#startedMs;
  }

  /** What the judges look at. */
  trace(): Trace {
    const { log, startedAt } = this.target;
    // With a control port, the requests of other cases spend from other accounts.
    const underWay = this.hasControl ? [] : this.underWay();
    return {
      exchanges: this.exchanges.toSorted((a, b) => a.sentAt - b.sentAt),
      log: underWay.length === 0 ? log : [...log, ...underWay],
      listings: this.listings,
      createdKeys: this.createdKeys,
      knownSince: this.hasControl ? Number.NEGATIVE_INFINITY : startedAt,
      hasExactTimes: this.hasControl,
      assumption: (name) => this.assumption(name),
    };
  }
}

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** A message that the target has accepted. */
export interface Queued {
  readonly reply: Reply;
  readonly body: Record<string, unknown>;
  readonly messageId: string;
}
