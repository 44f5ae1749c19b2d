/**
 * The mixed load of a soak: draws the next request at random and judges its answer. An answer may
 * be missing only while faults are set or a process is replaced (`DisturbedService`).
 */
import { hourMs } from '#contract/time.ts';
import type { Rng } from '#src/sim/random.ts';
import { type SendPath, sendPaths } from '../testkit/twin/request.ts';
import type { Answer, Call, DisturbedService } from './caller.ts';
import { createdAtMs, type Ledger, type RecordedSend } from './ledger.ts';
import {
  failingRecipients,
  ordinaryRecipient,
  type SoakAccount,
  sendEndpoints,
  slowRecipient,
  stuckRecipients,
} from './world.ts';

/** How far ahead of now a `send_at` is at most. */
export const longestHoldMs = 5 * 24 * hourMs;
/** Replays draw from so many of the latest ids, so that most come within 24 h. */
const replayedIds = 400;

export class Traffic {
  readonly #rng: Rng;
  readonly #ledger: Ledger;
  readonly #service: DisturbedService;
  readonly #accounts: readonly SoakAccount[];
  /** The latest `created_at` in any answer, which stands for the service's present time. */
  #latestMs: number;
  #sent = 0;
  /** The number of answers by status. */
  readonly answers = new Map<number, number>();

  constructor(
    rng: Rng,
    ledger: Ledger,
    service: DisturbedService,
    accounts: readonly SoakAccount[],
    startMs: number,
  ) {
    this.#latestMs = startMs;
    this.#rng = rng;
    this.#ledger = ledger;
    this.#service = service;
    this.#accounts = accounts;
  }

  /** Sends one random request. */
  async next(): Promise<void> {
    // The percentages add up: 40 of sends, 12 of replays, 15 of reads, and so on.
    const draw = this.#rng.below(100);
    if (draw < 40) await this.#send();
    else if (draw < 52) await this.#replay();
    else if (draw < 67) await this.#read();
    else if (draw < 72) await this.#get('/api/v1/sms/received/', [200, 429]);
    else if (draw < 80) await this.poll();
    else if (draw < 85) await this.#get('/api/v1/account/stats/', [200]);
    else await this.#refused();
  }

  /** Many simultaneous sends of one account; those over its limit are refused. */
  async burst(account: SoakAccount, endpoint: SendPath, count: number): Promise<void> {
    const sends = Array.from({ length: count }, () => this.#send(account, endpoint));
    await Promise.all(sends);
  }

  /** Polls for the external device. */
  async poll(): Promise<void> {
    const owner = this.#accounts.find(({ polledId }) => polledId !== undefined);
    const path = `/api/devices/${owner?.polledId}/tasks/`;
    await this.#ask({ method: 'GET', path, key: owner?.keys[0] }, [200, 429]);
  }

  async #send(
    account = this.#pick(this.#accounts),
    endpoint = this.#pick(sendEndpoints),
  ): Promise<void> {
    const requestId = this.#rng.below(100) < 70 ? `id-${this.#sent}` : '';
    const to = this.#recipient();
    const isStuck = stuckRecipients.some((number) => number === to);
    const recorded = this.#record(account, requestId, isStuck);
    const answer = await this.#sendAs(account, endpoint, recorded, {
      to,
      ...(this.#rng.below(100) < 15 && { send_at: this.#later() }),
    });
    if (answer?.status === 202) {
      this.#ledger.recordAccepted(recorded, answer.body);
      this.#latestMs = Math.max(this.#latestMs, createdAtMs(answer.body));
    } else if (answer !== undefined) recorded.outcome = 'refused';
    if (requestId === '' || recorded.outcome === 'refused') return;
    this.#ledger.usedIds.push({
      account: account.name,
      requestId,
      originalBody: answer?.body,
      isBusy: false,
    });
  }

  async #replay(): Promise<void> {
    const { usedIds } = this.#ledger;
    const start = Math.max(0, usedIds.length - replayedIds);
    const used = usedIds[start + this.#rng.below(Math.max(1, usedIds.length - start))];
    const account = this.#accounts.find(({ name }) => name === used?.account);
    if (used === undefined || account === undefined || used.isBusy) return;
    used.isBusy = true;
    // The replay has a token of its own, which must not become a message within the 24 h.
    const replay = this.#record(account, used.requestId, false);
    const endpoint = this.#pick(sendEndpoints);
    const answer = await this.#sendAs(account, endpoint, replay, { to: ordinaryRecipient });
    if (answer === undefined) used.originalBody = undefined;
    else if (answer.status >= 400) replay.outcome = 'refused';
    else this.#ledger.recordReplay(used, replay, answer.status, answer.body);
    used.isBusy = false;
  }

  /** Sends the recorded token with these fields. */
  #sendAs(account: SoakAccount, endpoint: SendPath, recorded: RecordedSend, fields: object) {
    const from = this.#pick(account.numbers);
    const id = recorded.requestId === '' ? {} : { request_id: recorded.requestId };
    const body = JSON.stringify({ from, message: recorded.token, ...id, ...fields });
    const expected = [200, 202, 429];
    // This account has a quota, which may be exhausted.
    if (account.name === 'echo') expected.push(402);
    // Simulated time may pass send_at while the request is in flight.
    if ('send_at' in fields) expected.push(400);
    const key = this.#pick(account.keys);
    return this.#ask({ method: 'POST', path: sendPaths[endpoint], key, body }, expected);
  }

  /** Reads a message of any account: 200 for the account's own messages, 404 for others. */
  async #read(): Promise<void> {
    const { sends } = this.#ledger;
    const send = sends[this.#rng.below(Math.max(1, sends.length))];
    if (send === undefined || send.messageId === '') return;
    const reader = this.#pick(this.#accounts);
    const path = `/api/v1/sms/${send.messageId}/`;
    const isOwn = reader.name === send.account;
    const answer = await this.#ask({ method: 'GET', path, key: reader.keys[0] }, [
      isOwn ? 200 : 404,
    ]);
    if (answer?.status !== 200 || answer.body.includes(send.messageId)) return;
    this.#ledger.complain(`read of ${send.token}: another message`);
  }

  async #get(path: string, expected: readonly number[]): Promise<void> {
    await this.#ask({ method: 'GET', path, key: this.#pick(this.#accounts).keys[0] }, expected);
  }

  /** Sends a request that must be refused. */
  async #refused(): Promise<void> {
    const [alpha, bravo] = this.#accounts;
    const valid = { from: alpha?.numbers[0], to: ordinaryRecipient, message: 'refused' };
    const invalid: readonly (readonly [fields: object, status: number])[] = [
      [{ ...valid, to: '12025550123' }, 400],
      [{ ...valid, message: 'x'.repeat(1_601) }, 400],
      [{ ...valid, send_at: '2001-01-01T00:00:00Z' }, 400],
      [{ ...valid, from: '+12025551099' }, 403],
      [{ ...valid, from: bravo?.numbers[0] }, 403],
    ];
    const [fields, status] = this.#pick(invalid);
    const path = sendPaths[this.#pick(sendEndpoints)];
    const call = {
      method: 'POST',
      path,
      key: alpha?.keys[0],
      body: JSON.stringify(fields),
    } as const;
    if (this.#rng.below(3) > 0) await this.#ask(call, [status, 429]);
    else if (this.#rng.below(2) > 0) await this.#ask({ ...call, key: 'unknown' }, [401, 429]);
    else await this.#ask({ ...call, contentType: 'text/plain' }, [415, 429]);
  }

  /** The answer if it is expected; otherwise complains, and returns undefined. */
  async #ask(call: Call, expected: readonly number[]): Promise<Answer | undefined> {
    const answer = await this.#service.call(call);
    if (answer === undefined) return undefined;
    const { status, body, retryAfter } = answer;
    this.answers.set(status, (this.answers.get(status) ?? 0) + 1);
    const isExpected = expected.includes(status) && (status !== 429 || Number(retryAfter) >= 1);
    if (isExpected) return answer;
    this.#ledger.complain(
      `${call.method} ${call.path} is answered ${status} ${body.slice(0, 200)}`,
    );
    return undefined;
  }

  #record(account: SoakAccount, requestId: string, isStuck: boolean): RecordedSend {
    const token = `soak ${this.#sent++}`;
    return this.#ledger.recordSend({ token, account: account.name, requestId, isStuck });
  }

  #recipient(): string {
    const draw = this.#rng.below(100);
    if (draw < 85) return ordinaryRecipient;
    if (draw < 91) return this.#pick(failingRecipients);
    return draw < 96 ? slowRecipient : this.#pick(stuckRecipients);
  }

  /** A time some hours or days ahead. */
  #later(): string {
    const aheadMs = hourMs + this.#rng.below(longestHoldMs - hourMs);
    return new Date(this.#latestMs + aheadMs).toISOString();
  }

  #pick<T>(list: readonly T[]): T {
    const picked = list[this.#rng.below(list.length)];
    if (picked === undefined) throw new Error('nothing to choose from');
    return picked;
  }
}
