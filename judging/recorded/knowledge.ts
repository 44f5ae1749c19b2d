/**
 * What recorded traffic shows of callers and sender numbers: a key that is refused is wrong, a key
 * that passes belongs to an account, and the refusal of a number says what the number is. Each key
 * counts as an account of its own, except keys that `--same-account` joins, so a judge must not
 * conclude anything from a difference of accounts.
 */
import type { TrafficExchange } from '#contract/exchange.ts';
import { type Ahead, ClockOffset, Clocks } from '../evidence/clock-offset.ts';
import {
  type Caller,
  type Exchange,
  exchangeOf,
  type RequestKnowledge,
  type Sender,
} from '../evidence/exchange.ts';
import { keyIn } from '../evidence/reading.ts';
import { isSuccess, RecordedReply, type Reply } from '../evidence/reply.ts';
import { codeOf, isNear } from '../service/expectations.ts';

/** The most keys of which it remembers whether the service accepts them. */
const mostTellingKeys = 100_000;

interface KnownKey {
  /** One object for all its exchanges. */
  readonly caller: Caller;
  /** Whether the service accepted the key when a reply last showed that. */
  isAccepted: boolean;
}

export class TrafficKnowledge implements RequestKnowledge<TrafficExchange> {
  /** The accounts of joined keys, by key. */
  readonly #accounts = new Map<string, string>();
  /** Joined keys that no exchange has had yet. */
  readonly unseen = new Set<string>();
  /** At most two accounts of keys that `joined` does not name; they may be one account. */
  readonly #undeclared = new Set<string>();
  /** True if a key that `joined` names was noted. */
  #hasDeclared = false;
  /** By host and key. */
  readonly #keys = new Map<string, KnownKey>();
  readonly clocks = new Clocks();
  /** The offset of the clock by which the exchange that is made was recorded. */
  #clock = new ClockOffset({ needsDate: false });
  /** The number of requests whose credential was not recorded. */
  #nameless = 0;

  /** `joined`: lists of keys, each of one account. */
  constructor(joined: readonly (readonly string[])[]) {
    for (const keys of joined) {
      for (const key of keys) {
        this.#accounts.set(key, `account of ${keys[0]}`);
        this.unseen.add(key);
      }
    }
  }

  aheadOf(reply: Reply): Ahead {
    this.#clock.note(reply);
    return this.#clock.widest;
  }

  noteAccount({ caller, headers }: Exchange): void {
    if (caller.account === undefined) return;
    const isDeclared =
      this.#accounts.size > 0 && this.#accounts.has(keyIn(headers['authorization']) ?? '');
    if (isDeclared) this.#hasDeclared = true;
    else if (this.#undeclared.size < 2) this.#undeclared.add(caller.account);
  }

  /** True if all exchanges that were noted are of one account. */
  get isOneAccount(): boolean {
    return this.#undeclared.size === 0 || (this.#undeclared.size === 1 && !this.#hasDeclared);
  }

  /** The exchange as judges see it. It does not hold the recorded one, as many are held at once. */
  exchangeOf(recorded: TrafficExchange): Exchange {
    this.#clock = this.clocks.of(recorded.clock);
    // A scripted 429 does not say whether the limiter counted the request.
    const reply = new RecordedReply(recorded, recorded.isScripted ? 0 : recorded.reply?.status);
    const exchange = exchangeOf(recorded, reply, this);
    reply.owner = exchange;
    return exchange;
  }

  callerOf({ headers, address, showsCredential, host }: TrafficExchange, reply: Reply): Caller {
    const { status } = reply;
    // Two requests whose credentials were not recorded may be of two accounts.
    if (!showsCredential)
      return { isNew: false, key: 'valid', account: `nameless ${++this.#nameless}` };
    const key = keyIn(headers['authorization']);
    if (key === undefined) return { isNew: false, key: 'missing', ...(address && { address }) };
    const known = this.#knownKey(host, key);
    if (status === 401) {
      known.isAccepted = false;
      return { isNew: false, key: 'wrong', ...(address && { address }) };
    }
    if (isSuccess(reply)) known.isAccepted = true;
    // A 429 does not show whether the key is valid.
    if (status === 429 && !known.isAccepted)
      return { isNew: false, key: 'valid', address: address ?? 'unknown' };
    return status === 402 ? { ...known.caller, quota: 0 } : known.caller;
  }

  senderOf(_account: string | undefined, _number: string, reply: Reply): Sender | undefined {
    if (isSuccess(reply)) return ownSender;
    const code = codeOf(reply) ?? '';
    const refusal = refusedSenders.find(
      (row) => row.status === reply.status && isNear(code, row.code),
    );
    return refusal && { is: refusal.is };
  }

  /** Forgets the key that it has known longest if there are too many. */
  #knownKey(host: string, key: string): KnownKey {
    const name = `${host}${key}`;
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    this.unseen.delete(key);
    const account = `${host}${this.#accounts.get(key) ?? key}`;
    const added: KnownKey = { caller: { isNew: false, key: 'valid', account }, isAccepted: false };
    this.#keys.set(name, added);
    if (this.#keys.size > mostTellingKeys) {
      const [longestKnown = ''] = this.#keys.keys();
      this.#keys.delete(longestKnown);
    }
    return added;
  }
}

const ownSender: Sender = { is: 'own' };

/** What each documented refusal of a sender says of its number. */
const refusedSenders = [
  { status: 403, code: 'from_number_not_found', is: 'unknown' },
  { status: 403, code: 'from_number_access_deniedd', is: 'denied' },
  { status: 503, code: 'device_inactive', is: 'inactive' },
] as const;

/** True if the service itself answered, not a gateway: below 500, or with the documented 503. */
export function isOfService({ reply }: Exchange): boolean {
  return reply.status < 500 || isNear(codeOf(reply) ?? '', 'device_inactive');
}
