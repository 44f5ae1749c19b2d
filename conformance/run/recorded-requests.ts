/**
 * The requests of one run of a case or recording, and the record of their exchanges. A 429 that the
 * case did not provoke is waited out, because another client of the account may have caused it.
 */
import { limitedEndpoints } from '#contract/limits.ts';
import { minuteMs, secondMs } from '#contract/time.ts';
import { type Exchange, exchangeOf, routeIn } from '#judging/evidence/exchange.ts';
import {
  headerOf,
  type Reply,
  type ReportedExchange,
  type RequestOptions,
} from '#judging/evidence/reply.ts';
import { Lacking, waitIn } from '#judging/service/expectations.ts';
import { bearerHeader } from '../target/client.ts';
import { isBroken, noReply, timedOut } from '../target/connections.ts';
import { type Target, tooLong } from '../target/target.ts';
import type { Bucket, Spends } from './budget.ts';

type Headers = Readonly<Record<string, string>>;

/** The longest wait in all for a request that another client's traffic throttles. */
const longestThrottledMs = 2 * minuteMs + 10_000;
/** Added to a wait for `Retry-After`, so that the next request does not come too early. */
const waitMarginMs = 50;

/** The case needs a wait that `--timeout` does not cover. */
export class OutOfTime extends Lacking {}

/** A request of which each try broke the connection, or that had no reply in time. */
export interface UnansweredRequest {
  readonly options: RequestOptions;
  readonly exchange: Exchange;
}

/** Sends requests and records their exchanges. Only this class and `Trial` write its fields. */
export class RecordedRequests {
  readonly target: Target;
  /** The exchanges as reports show them. */
  readonly reported: ReportedExchange[] = [];
  /** The same exchanges as judges see them. */
  readonly exchanges: Exchange[] = [];
  /** The buckets whose 429s it waits out, because the case does not provoke them. */
  readonly #waitsOut: Spends;
  /** How often a connection broke and the request was retried. */
  interruptions = 0;
  /** Requests without a reply. */
  readonly unanswered: UnansweredRequest[] = [];
  /** The first reply that exceeded a bound of the client. */
  unusableReply: Reply | undefined;

  constructor(target: Target, waitsOut: Spends = {}) {
    this.target = target;
    this.#waitsOut = waitsOut;
  }

  get hasControl(): boolean {
    return this.target.control !== undefined;
  }

  /** Ends the case as skipped. `what`: what it needs and the target lacks. */
  lack(what: string): never {
    throw new Lacking(what);
  }

  post(path: string, key: string | undefined, body: unknown, added: Headers = {}): Promise<Reply> {
    return this.request({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', ...added, ...bearerHeader(key) },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  get(path: string, key: string | undefined, added: Headers = {}): Promise<Reply> {
    return this.request({ method: 'GET', path, headers: { ...added, ...bearerHeader(key) } });
  }

  /** Sends a request. Waits out a 429 and sends it again if the case did not provoke the 429. */
  async request(options: RequestOptions): Promise<Reply> {
    const first = await this.#once(options);
    const bucket = bucketOf(options, first.status);
    const isWaitedOut = bucket !== undefined && this.#waitsOut[bucket] !== undefined;
    // A 429 without a wait is not a throttle of another client: the judges decide about it.
    if (waitIn(first) === undefined || this.hasControl || !isWaitedOut) return first;
    const refused = this.exchanges.find((exchange) => exchange.reply === first);
    if (refused !== undefined) this.target.waitedOut.add(refused);
    let reply = first;
    let waitedMs = 0;
    // Another client of the account may take the tokens that return, so one wait may not be enough.
    for (let seconds = waitIn(first); seconds !== undefined; seconds = waitIn(reply)) {
      const waitMs = Math.max(1, seconds) * secondMs + waitMarginMs;
      waitedMs += waitMs;
      if (waitedMs > longestThrottledMs) break;
      await this.advance(waitMs);
      reply = await this.#once(options);
    }
    return reply;
  }

  async #once(options: RequestOptions): Promise<Reply> {
    const { client, clock, underWay } = this.target;
    const request = { options, sentAt: clock.now() };
    underWay.add(request);
    try {
      return this.#note(options, await client.request(options));
    } finally {
      underWay.delete(request);
    }
  }

  #note(options: RequestOptions, reply: Reply): Reply {
    this.reported.push(reply.exchange);
    const exchange = exchangeOf(options, reply, this.target.facts);
    this.exchanges.push(exchange);
    this.target.log.push(exchange);
    if (!this.hasControl) this.#noteSpending(exchange);
    this.interruptions += reply.interruptions;
    if (isBroken(reply) || reply.failure === timedOut) this.unanswered.push({ options, exchange });
    if (reply.isUnusable === true) this.unusableReply ??= reply;
    return reply;
  }

  /** The run's requests without a reply so far: each may have spent, also at an earlier try. */
  protected underWay(): Exchange[] {
    const { client, clock, facts, underWay } = this.target;
    return [...underWay].map(({ options, sentAt }) => {
      const answeredAt = clock.now();
      const outcome = { ...noReply, failure: 'no reply yet' };
      const exchange = client.masks.record(client.baseUrl, options, outcome, answeredAt - sentAt);
      const reply = { ...outcome, interruptions: 1, sentAt, answeredAt, exchange };
      return exchangeOf(options, reply, facts);
    });
  }

  /** Notes for the schedule that a request may have spent from a bucket. */
  #noteSpending({ method, endpoint, path, headers, caller, reply, answeredAt }: Exchange): void {
    const { status } = reply;
    const bucket = bucketOf({ method, path, headers }, status);
    // Of the calls without a valid key, only those for received messages have a limit.
    const isCounted = bucket === 'address' ? endpoint === 'received' : caller.account === 'own';
    if (bucket === undefined || !isCounted) return;
    const isReplay = method === 'POST' && status === 200;
    const isSuccess = status >= 200 && status < 300 && !isReplay;
    const isWaitedOut = status === 429 && this.#waitsOut[bucket] !== undefined;
    this.target.ledger.note(bucket, answeredAt, { isSuccess, isWaitedOut });
  }

  /** Does the work once all earlier work of this kind in the run is over. */
  inTurn<T>(kind: string, work: () => Promise<T>): Promise<T> {
    const { turns } = this.target;
    const done = (turns.get(kind) ?? Promise.resolve()).then(work);
    turns.set(
      kind,
      done.catch(() => {}),
    );
    return done;
  }

  /** The time of the run's clock: simulated time with a control port. */
  now(): number {
    return this.target.clock.now();
  }

  /** Lets time pass: moves a simulator's clock, or waits if `--timeout` allows such a wait. */
  async advance(ms: number): Promise<void> {
    if (!this.hasControl && ms > this.target.timeoutMs)
      throw new OutOfTime(tooLong(`a wait of ${Math.ceil(ms / secondMs)} s`));
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
}

/** The bucket that a request spends from: without a key, or after a 401, the address's (AUTH-6). */
function bucketOf(request: RequestOptions, status: number): Bucket | undefined {
  const [plain = ''] = request.path.split('?');
  const endpoint = limitedEndpoints.find((name) => name === routeIn(plain)?.route.endpoint);
  const hasKey = Boolean(headerOf(request, 'authorization')) && status !== 401;
  return endpoint === undefined || hasKey ? endpoint : 'address';
}
