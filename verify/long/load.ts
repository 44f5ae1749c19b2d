/**
 * The mixed load of a long run, and what its clients know of their sends: which texts may be
 * messages, and which bytes a replay must return. The service's journal cannot show that: a process
 * that loses an acknowledged send may lose its journal line, too. Rules: SEND-4.
 */
import { dayMs, hourMs } from '#contract/time.ts';
import { workOn } from '#io/event-loop.ts';
import type { Rng } from '#src/sim/random.ts';
import { alikeIds, oddNumbers, openRecipients } from '../testkit/steps/values.ts';
import { sendPaths } from '../testkit/twin/request.ts';
import type { Service } from './service.ts';

export interface Account {
  readonly accountId: string;
  readonly keys: readonly string[];
  readonly keyIds: readonly string[];
  readonly numbers: readonly string[];
  /** Its first SIM. An account without one has a small quota. */
  readonly deviceId: string | undefined;
}

/** A used `request_id`, and the body that its replay must get; undefined if an answer was lost. */
interface UsedId {
  readonly account: Account;
  readonly requestId: string;
  body: string | undefined;
}

const paths = Object.values(sendPaths);
/** Replays draw from this many of the latest ids, so that most come within 24 h. */
const replayedIds = 400;
const replaysAtOnce = 16;
const longestHoldMs = 5 * dayMs;

export class Load {
  readonly rng: Rng;
  readonly #service: Service;
  readonly accounts: readonly Account[];
  /** The texts of sends that were accepted or got no answer. Each send has a text of its own. */
  readonly possibleTexts = new Set<string>();
  /** The messages that answers named, each at least once. */
  readonly messages: { readonly messageId: string; readonly account: Account }[] = [];
  /** The used ids that are not being replayed: two replays at once could confuse their answers. */
  readonly #usedIds: UsedId[] = [];
  #count = 0;
  /** The latest `created_at` of an answer, which stands for the service's present time. */
  #latestMs = 0;

  constructor(rng: Rng, service: Service, accounts: readonly Account[]) {
    this.rng = rng;
    this.#service = service;
    this.accounts = accounts;
  }

  /** Makes one random request. */
  async next(): Promise<void> {
    const account = this.#pick(this.accounts);
    // Of 100 requests: 50 sends, 12 replays, 13 reads, 5 lists, 5 statistics, 6 polls, 9 odd sends.
    const draw = this.rng.below(100);
    if (draw < 50) await this.send(account);
    else if (draw < 62) await this.#replayOne();
    else if (draw < 75) await this.#read(account);
    else if (draw < 80) await this.#get(account, '/api/v1/sms/received/');
    else if (draw < 85) await this.#get(account, '/api/v1/account/stats/');
    else if (draw < 91) await this.poll(account);
    else await this.#sendOdd(account);
  }

  /** A device asks for its work; only an external one gets some. */
  async poll(account: Account): Promise<void> {
    const { deviceId } = account;
    const path = `/api/devices/${deviceId ?? 'no-such-device'}/tasks/`;
    await this.#get(account, path, deviceId !== undefined);
  }

  async send(account: Account): Promise<void> {
    const fields = {
      to: this.rng.below(100) < 85 ? openRecipients[0] : this.#pick(openRecipients),
    };
    const draw = this.rng.below(100);
    if (draw < 30) await this.#send(account, fields);
    else if (draw < 45 && this.#latestMs > 0) {
      const atMs = this.#latestMs + hourMs + this.rng.below(longestHoldMs);
      const held = { ...fields, send_at: new Date(atMs).toISOString() };
      // Simulated time may pass `send_at` while the request is in flight.
      await this.#send(account, held, [400]);
    } else {
      const requestId = `id-${this.#count}`;
      const answer = await this.#send(account, { ...fields, request_id: requestId });
      if (answer !== undefined && answer.status !== 202) return;
      this.#usedIds.push({ account, requestId, body: answer?.body });
    }
  }

  /** Replays the latest ids: none of them may have been lost. */
  async replayLatest(count: number): Promise<void> {
    const latest = this.#usedIds.splice(-count).reverse();
    await workOn(latest.values(), replaysAtOnce, (used) => this.#replay(used));
  }

  async #replayOne(): Promise<void> {
    const least = Math.max(0, this.#usedIds.length - replayedIds);
    const [used] = this.#usedIds.splice(least + this.rng.below(replayedIds), 1);
    if (used !== undefined) await this.#replay(used);
  }

  /** A replay gets the first bytes for 24 h; after that it creates a message. */
  async #replay(used: UsedId): Promise<void> {
    const { account, requestId, body } = used;
    const answer = await this.#send(account, { request_id: requestId });
    this.#usedIds.push(used);
    if (answer !== undefined && answer.status > 202) return;
    used.body = answer?.body;
    if (answer === undefined || body === undefined) return;
    if (answer.status === 200 && answer.body !== body)
      this.#service.complain(`replay of ${requestId}: ${answer.body}, not ${body}`);
    const ageMs = fieldsOf(answer.body).createdAtMs - fieldsOf(body).createdAtMs;
    if (answer.status === 202 && ageMs <= dayMs)
      this.#service.complain(`replay of ${requestId}: a second message after ${ageMs} ms`);
  }

  /** A send that is odd in one respect. Whether the answer is right is for the judges. */
  async #sendOdd(account: Account): Promise<void> {
    const fields = this.#pick([
      { to: this.#pick(oddNumbers) },
      { from: this.#pick([...oddNumbers, ...this.#pick(this.accounts).numbers]) },
      { message: 'x'.repeat(1_601) },
      { send_at: '2001-01-01T00:00:00Z' },
      { request_id: this.#pick(alikeIds) },
    ]);
    const more = this.#pick([{}, {}, {}, { key: 'unknown' }, { contentType: 'text/plain' }]);
    await this.#send(account, fields, [400, 401, 403, 415], more);
  }

  /** `refusals`: expected statuses besides the usual; `more`: parts of the request as well. */
  async #send(account: Account, fields: object, refusals: readonly number[] = [], more = {}) {
    const count = this.#count++;
    const text = `send ${count}`;
    const { keys, numbers, deviceId } = account;
    const usual = { from: numbers[count % numbers.length], to: openRecipients[0], message: text };
    const body = JSON.stringify({ ...usual, ...fields });
    const path = paths[count % paths.length] ?? '';
    const call = { method: 'POST', path, key: keys[count % keys.length], body, ...more };
    const expected = [200, 202, 429, deviceId === undefined ? 402 : 202, ...refusals];
    this.possibleTexts.add(text);
    const answer = await this.#service.call(call, expected);
    if (answer !== undefined && answer.status !== 202) this.possibleTexts.delete(text);
    if (answer !== undefined && answer.status <= 202) {
      const { messageId, createdAtMs } = fieldsOf(answer.body);
      this.messages.push({ messageId, account });
      this.#latestMs = Math.max(this.#latestMs, createdAtMs);
    }
    return answer;
  }

  /** Reads a message as any account: those of other accounts do not exist for it. */
  async #read(reader: Account): Promise<void> {
    // Draws one index more than there are messages: that one is an id that does not exist.
    const read = this.messages[this.rng.below(this.messages.length + 1)];
    const path = `/api/v1/sms/${read?.messageId ?? 'no-such-message'}/`;
    await this.#get(reader, path, read?.account === reader);
  }

  async #get({ keys }: Account, path: string, exists = true): Promise<void> {
    await this.#service.call({ method: 'GET', path, key: keys[0] }, [exists ? 200 : 404, 429]);
  }

  #pick<T>(list: readonly T[]): T {
    const picked = list[this.rng.below(list.length)];
    if (picked === undefined) throw new Error('nothing to choose from');
    return picked;
  }
}

function fieldsOf(body: string): { readonly messageId: string; readonly createdAtMs: number } {
  const { message_id: messageId, created_at: createdAt } = JSON.parse(body);
  return { messageId, createdAtMs: Date.parse(createdAt) };
}
