/**
 * What recorded traffic shows of who sent a request: a key that is refused is wrong, one that passed
 * belongs to an account, and a refusal of a sender number says what the number is. Two keys are two
 * accounts unless they are joined, so no judge may conclude from a difference of accounts.
 */
import type { TrafficExchange } from '../../src/commands/recorded-traffic.ts';
import type { Reply } from '../client.ts';
import { type Ahead, unknown } from '../clock-offset.ts';
import type { Caller, Exchange, Sender } from '../judges/exchange.ts';
import { parse } from '../kept-bodies.ts';
import { exchangeOf, type Knowledge } from '../known.ts';
import { codeOf, isNear, isObject, textOf } from '../verify.ts';

/** How far recorded times may be wrong. */
const wrongMs = 4_000;
/** Keys whose last verdict is remembered. */
const mostKeys = 100_000;

export class TrafficKnowledge implements Knowledge {
  readonly #accounts = new Map<string, string>();
  /** Joined keys that no exchange has had yet. */
  readonly unseen = new Set<string>();
  /** Whether the service took the key when it last said so. */
  readonly #isTaken = new Map<string, boolean>();
  #recorded: TrafficExchange | undefined;
  #nameless = 0;

  /** `joined`: lists of keys, each of one account. */
  constructor(joined: readonly (readonly string[])[]) {
    for (const keys of joined)
      for (const key of keys) {
        this.#accounts.set(key, `account of ${keys[0]}`);
        this.unseen.add(key);
      }
  }

  /** Every offset that a new message has shown, and what clocks of a cluster may differ. */
  ahead: Ahead = unknown;
  #seen: Ahead | undefined;

  /** Narrower than `ahead`: what was seen alone. */
  get seenAhead(): Ahead {
    return this.#seen ?? unknown;
  }

  aheadOf({ status, json, sentAt, answeredAt }: Reply): Ahead {
    const created = Date.parse(textOf(isObject(json) ? json['created_at'] : undefined));
    if (status === 202 && !Number.isNaN(created)) {
      const seen = { least: created - answeredAt - wrongMs, most: created - sentAt + wrongMs };
      this.#seen = around(this.#seen ?? seen, seen);
      this.ahead = around(this.ahead, seen);
    }
    return this.ahead;
  }

  /** True if its key was said to belong to an account of its own, or to share one. */
  isDeclared({ headers }: Exchange): boolean {
    return this.#accounts.has(keyIn(headers['authorization']) ?? '');
  }

  /** The exchange as judges see it. */
  exchangeOf(recorded: TrafficExchange): Exchange {
    this.#recorded = recorded;
    const { method, path, query, headers, body } = recorded;
    const target = query === '' ? path : `${path}?${query}`;
    const request = { method, path: target, headers, ...(body !== undefined && { body }) };
    return exchangeOf(request, replyOf(recorded), this);
  }

  callerOf(_: unknown, { status }: Reply): Caller {
    const { headers, address, showsCredential, host } = this.#recorded ?? nothing;
    const unknown = { isNew: false, ...(address !== undefined && { address }) };
    // Two requests without a credential may be of two accounts.
    if (!showsCredential)
      return { isNew: false, key: 'valid', account: `nameless ${++this.#nameless}` };
    const key = keyIn(headers['authorization']);
    if (key === undefined) return { ...unknown, key: 'missing' };
    this.unseen.delete(key);
    const name = `${host}${key}`;
    if (status === 401) {
      this.#note(name, false);
      return { ...unknown, key: 'wrong' };
    }
    const isTaken = status >= 200 && status < 300;
    if (isTaken) this.#note(name, true);
    // A 429 does not say whether the key is valid.
    if (status === 429 && this.#isTaken.get(name) !== true)
      return { isNew: false, key: 'valid', address: address ?? 'unknown' };
    const account = `${host}${this.#accounts.get(key) ?? key}`;
    const spent = status === 402 ? { quota: 0 } : {};
    return { isNew: false, key: 'valid', account, ...spent };
  }

  senderOf(_account: string | undefined, _number: string, reply: Reply): Sender | undefined {
    const { status } = reply;
    if (status >= 200 && status < 300) return { is: 'own' };
    const is = refusedSenders.find(
      ([of, code]) => of === status && isNear(codeOf(reply) ?? '', code),
    );
    return is && { is: is[2] };
  }

  #note(name: string, isTaken: boolean): void {
    this.#isTaken.delete(name);
    this.#isTaken.set(name, isTaken);
    const [oldest = ''] = this.#isTaken.keys();
    if (this.#isTaken.size > mostKeys) this.#isTaken.delete(oldest);
  }
}

function keyIn(authorization = ''): string | undefined {
  return /^bearer[ \t]+([^\s,]+)$/i.exec(authorization)?.[1];
}

function around(a: Ahead, b: Ahead): Ahead {
  return { least: Math.min(a.least, b.least), most: Math.max(a.most, b.most) };
}

const refusedSenders: readonly (readonly [number, string, Sender['is']])[] = [
  [403, 'from_number_not_found', 'unknown'],
  [403, 'from_number_access_deniedd', 'denied'],
  [503, 'device_inactive', 'inactive'],
];

const nothing = { headers: {}, address: undefined, showsCredential: false, host: '' } as const;

function replyOf(recorded: TrafficExchange): Reply {
  const { reply, sentAt, answeredAt, method, path, query, headers, body } = recorded;
  const text = reply?.body ?? '';
  const failure = reply === undefined ? { failure: 'none was recorded' } : {};
  return {
    status: reply?.status ?? 0,
    headers: reply?.headers ?? {},
    // Recorded texts are whole, so they compare as well as their digests.
    digest: text,
    text,
    json: parse(text),
    ...failure,
    interruptions: 0,
    sentAt,
    answeredAt,
    exchange: {
      method,
      url: query === '' ? path : `${path}?${query}`,
      requestHeaders: headers,
      ...(body !== undefined && { requestBody: body }),
      status: reply?.status ?? 0,
      replyHeaders: reply?.headers ?? {},
      replyBody: text,
      ...failure,
      durationMs: answeredAt - sentAt,
    },
  };
}

/** True for a refusal that the document names, or any reply below 500: no gateway made it. */
export function isOfService({ reply }: Exchange): boolean {
  return reply.status < 500 || isNear(codeOf(reply) ?? '', 'device_inactive');
}

export function isJsonObject({ reply }: Exchange): boolean {
  return isObject(reply.json);
}
