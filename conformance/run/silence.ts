/**
 * Requests of a case that the service never answers, while it answers others: their connections
 * break, or no reply comes in time. Each is sent again, until chance explains it no more. Every
 * documented request has a reply, so that is a failure.
 */
import { type Exchange, isSend, methodOf, requestIdOf } from '#judging/evidence/exchange.ts';
import { objectIn } from '#judging/evidence/reading.ts';
import type { Reply, RequestOptions } from '#judging/evidence/reply.ts';
import type { Trace } from '#judging/service/judge.ts';
import { validityOf } from '#judging/service/validity.ts';
import { bearerHeader, wallClock } from '../target/client.ts';
import { isUnanswered, timedOut } from '../target/connections.ts';
import type { Found } from './case-result.ts';
import type { UnansweredRequest } from './recorded-requests.ts';
import { paths, type Trial, unknownId } from './trial.ts';

/** The most requests of a case that are sent again because none of their tries was answered. */
const mostAskedAgain = 3;
/**
 * The tries of a request whose connection broke, with another request before and after each. A
 * service that breaks one connection of 50 at random breaks nine in a row, and none of the others,
 * less often than once in 10^15 requests; one that breaks every fifth, less often than once in 10^6.
 */
const triesOfBroken = 8;
/**
 * The tries, all at once, of a request whose reply did not come in time, with other requests before,
 * among and after them. A service that loses one reply of 50 loses all of these less often than once
 * in 10^8 requests.
 */
const triesOfHung = 4;
/** Lets the client see that the connection of the other request was closed after its reply. */
const apartMs = 250;

/** Requests that were sent again: several cases may judge the recording that has them. */
const askedAgain = new WeakMap<object, Promise<Found | undefined>>();

/**
 * A request that the service never answers while it answers others, as a failure. Undefined if
 * there is none, or if chance may explain each.
 */
export async function silenceIn(trial: Trial): Promise<Found | undefined> {
  if (trial.unanswered.length === 0) return undefined;
  const trace = trial.trace();
  const mayAsk = ({ options, exchange }: UnansweredRequest) =>
    options.localAddress === undefined && isPlain(exchange);
  for (const one of trial.unanswered.filter(mayAsk).slice(0, mostAskedAgain)) {
    const asking = askedAgain.get(one.options) ?? new Repetition(trial, one, trace).run();
    askedAgain.set(one.options, asking);
    const silence = await asking;
    if (silence !== undefined) return silence;
  }
  return undefined;
}

/** Characters that a Bearer key (RFC 6750) and an id may have; nothing in between refuses them. */
const plainKey = /^Bearer [\w.~+/-]{1,256}=*$/;
const plainId = /^[\w.~-]{1,100}$/;
/** No server reads less of a body. */
const shortBytes = 32_768;

/** True for a documented request that no proxy or parser refuses by closing the connection. */
function isPlain({ endpoint, method, id, query, headers, body = '' }: Exchange): boolean {
  const credentials = headers['authorization'];
  return (
    endpoint !== undefined &&
    method === methodOf(endpoint) &&
    (id === undefined || plainId.test(id)) &&
    (credentials === undefined || plainKey.test(credentials)) &&
    headers['transfer-encoding'] === undefined &&
    query.length + Buffer.byteLength(body) <= shortBytes
  );
}

/** Sends a request again, among others that are answered. */
class Repetition {
  readonly #trial: Trial;
  readonly #first: Reply;
  readonly #options: RequestOptions;
  readonly #other: RequestOptions;

  constructor(trial: Trial, { options, exchange }: UnansweredRequest, trace: Trace) {
    const { flags } = trial.target;
    const known = trial.exchanges.find(({ caller }) => caller.key === 'valid');
    const authorization = known?.headers['authorization'];
    const headers = authorization === undefined ? bearerHeader(flags.apiKey) : { authorization };
    const path = exchange.endpoint === 'stats' ? paths.read(unknownId) : paths.stats;
    this.#trial = trial;
    this.#first = exchange.reply;
    this.#options = { ...repeatable(options, exchange, trace, trial), mayRetry: false };
    this.#other = { method: 'GET', path, headers, mayRetry: false };
  }

  /** The failure, or undefined as soon as a try is answered, or another request is not. */
  async run(): Promise<Found | undefined> {
    const { client, maxSends = Number.POSITIVE_INFINITY } = this.#trial.target;
    const isHung = this.#first.failure === timedOut;
    const tries = isHung ? triesOfHung : triesOfBroken;
    if (this.#options.method === 'POST' && client.sends + tries > maxSends) return undefined;
    const reply = await (isHung ? this.#tryAtOnce() : this.#tryInTurn());
    if (reply === undefined || !(await this.#isOtherAnswered())) return undefined;
    client.hasSeenSilence = true;
    const times = tries + Math.max(1, this.#first.interruptions);
    const why = `none, ${times} times (${reply.failure}), while ${tries + 1} others were answered`;
    return { verdict: 'failed', expected: 'a reply', actual: why, broken: reply.exchange };
  }

  /** The last try. Undefined if a try was answered, or if another request before one was not. */
  async #tryInTurn(): Promise<Reply | undefined> {
    let last: Reply | undefined;
    for (let tries = 0; tries < triesOfBroken; tries += 1) {
      last = await this.#tryAfterOther();
      if (last === undefined) return undefined;
    }
    return last;
  }

  async #tryAtOnce(): Promise<Reply | undefined> {
    const tries: Promise<Reply | undefined>[] = [];
    for (let i = 0; i < triesOfHung; i += 1) {
      tries.push(this.#tryAfterOther());
      await this.#pause();
    }
    const replies = await Promise.all(tries);
    return replies.includes(undefined) ? undefined : replies.at(-1);
  }

  async #tryAfterOther(): Promise<Reply | undefined> {
    if (this.#trial.target.signal.aborted || !(await this.#isOtherAnswered())) return undefined;
    await this.#pause();
    const reply = await this.#trial.request(this.#options);
    return isUnanswered(reply) && reply.isLate !== true ? reply : undefined;
  }

  async #isOtherAnswered(): Promise<boolean> {
    return (await this.#trial.target.client.request(this.#other)).status !== 0;
  }

  async #pause(): Promise<void> {
    await wallClock.sleep(apartMs, this.#trial.target.signal).catch(() => {});
  }
}

/** The request in a form whose tries create at most one message: a send gets a `request_id`. */
function repeatable(
  options: RequestOptions,
  exchange: Exchange,
  trace: Trace,
  trial: Trial,
): RequestOptions {
  const isHarmless =
    !isSend(exchange) ||
    requestIdOf(exchange) !== undefined ||
    exchange.caller.key !== 'valid' ||
    validityOf(exchange, trace).invalid.length > 0;
  if (isHarmless) return options;
  const fields = { ...objectIn(options.body), request_id: trial.requestId() };
  return { ...options, body: JSON.stringify(fields) };
}
