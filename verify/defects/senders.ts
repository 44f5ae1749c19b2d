/**
 * Wrong answers to the question whether an account may send: from which SIM or pool number, and
 * within which quota. Rules: SVC-1, AUTH-4, AUTH-5, ERR-1, ERR-2, SEND-4.
 */
import { QuotaCount } from '../../src/sim/quota.ts';
import type { Account, Device, Message, SimState } from '../../src/sim/records.ts';
import { World } from '../../src/sim/world.ts';
import {
  acceptingFrom,
  answeringSends,
  because,
  breaking,
  type Call,
  type DefectRow,
  type Exchange,
  handling,
  isAccepted,
  isReplay,
  messageOf,
  type Planted,
  queueDespiteRefusal,
  refusal,
  refusing,
  replying,
  rewriting,
  type Sending,
} from './planted.ts';

/** The number of any SIM with the same last seven digits; `from` itself if it is a SIM's. */
function withSameEnd(from: string, { simulation: { world } }: Call): string {
  const end = from.slice(-7);
  if (end.length < 7 || world.deviceByNumber(from) !== undefined) return from;
  return [...world.devices.values()].find(({ number }) => number.endsWith(end))?.number ?? from;
}

/** True if the sender is a SIM of the caller's account. */
function isOwn({ key, device }: Sending): boolean {
  return device?.account === key.account;
}

/** True if the sender is a SIM of another account. */
function isForeign({ key, device }: Sending): boolean {
  return device?.account !== undefined && device.account !== key.account;
}

/** Accepts sends from their SIM, although the service may refuse it. */
function acceptingIf(isAccepted: (call: Sending) => boolean): Planted {
  return acceptingFrom((call) => (isAccepted(call) ? call.device : undefined));
}

/** Refuses the pool's number to accounts with SIMs, or to those without, as `hasSim` says. */
function refusingPool(hasSim: boolean, kind: 'number_not_found' | 'number_access_denied'): Planted {
  return answeringSends((call) => {
    const isPool = call.device !== undefined && call.device.account === undefined;
    const isConcerned = call.key.account.devices.length > 0 === hasSim;
    return isPool && isConcerned ? refusal({ kind }, call) : undefined;
  });
}

/** A reactivated SIM keeps behaving as deactivated. */
class NeverReactivatingWorld extends World {
  override patchDevice(device: Device, state: SimState): void {
    super.patchDevice(device, { ...state, active: device.active ? state.active : false });
  }
}

/** A count of the quota that can be made wrong. */
class WrongQuotaCount extends QuotaCount {
  readonly #account: Account;
  /** Units that count although no message used them. */
  extraUnits = 0;
  /** Which messages count in place of the right ones; undefined for a right count. */
  isCounted: ((message: Message, nowMs: number) => boolean) | undefined;

  constructor(now: () => number, account: Account) {
    super(now);
    this.#account = account;
  }

  override used(...[nowMs, assumptions]: Parameters<QuotaCount['used']>): number {
    const { isCounted } = this;
    if (isCounted === undefined) return super.used(nowMs, assumptions) + this.extraUnits;
    return this.#account.messages.filter((message) => isCounted(message, nowMs)).length;
  }
}

/** Gives every account such a count. */
class CountingWorld extends World {
  override createAccount(...args: Parameters<World['createAccount']>): Account {
    const account = super.createAccount(...args);
    return Object.assign(account, { quota: new WrongQuotaCount(this.now, account) });
  }
}

/** Also counts each request for which `when` is true. */
function alsoCounting(when: (exchange: Exchange) => boolean): Planted {
  const counting = replying((exchange) => {
    const quota = exchange.key?.account.quota;
    if (quota instanceof WrongQuotaCount && when(exchange)) quota.extraUnits += 1;
    return exchange.reply;
  });
  return { ...counting, parts: { World: CountingWorld } };
}

/** A wrong rule for what counts against a quota. */
interface CountingRule {
  /** Which messages count for a send with this key. */
  readonly isCountedFor: (keyId: string) => (message: Message, nowMs: number) => boolean;
  readonly onAccepted?: (message: Message, keyId: string) => void;
}

/** Decides for each send which messages count, by a rule that is created for each simulation. */
function countingOnly(create: () => CountingRule): Planted {
  const counting = handling(() => {
    const rule = create();
    return ({ request, key, fields }, next) => {
      if (key === undefined || fields === undefined) return next(request);
      const { account } = key;
      const { quota } = account;
      if (quota instanceof WrongQuotaCount) quota.isCounted = rule.isCountedFor(key.keyId);
      const before = account.messages.length;
      const handled = next(request);
      const message = account.messages.at(before);
      if (message !== undefined) rule.onAccepted?.(message, key.keyId);
      return handled;
    };
  });
  return { ...counting, parts: { World: CountingWorld } };
}

/** Counts for each key the messages that were sent with it. */
function quotaPerKey(): Planted {
  return countingOnly(() => {
    const keyOfMessage = new Map<string, string>();
    return {
      isCountedFor:
        (keyId) =>
        ({ messageId }) =>
          keyOfMessage.get(messageId) === keyId,
      onAccepted: ({ messageId }, keyId) => keyOfMessage.set(messageId, keyId),
    };
  });
}

/** Does not count sends that were accepted in the same turn. */
function quotaCountedLater(): Planted {
  const monthOf = (ms: number) => new Date(ms).toISOString().slice(0, 7);
  return countingOnly(() => {
    const uncounted = new Set<string>();
    return {
      isCountedFor: () => (message, nowMs) =>
        !uncounted.has(message.messageId) && monthOf(message.createdAtMs) === monthOf(nowMs),
      onAccepted: ({ messageId }) => {
        uncounted.add(messageId);
        setImmediate(() => uncounted.delete(messageId));
      },
    };
  });
}

/** Adds to the quota of every plan. */
function quotaPlus(more: number): Planted {
  class OtherQuotaWorld extends World {
    override quotaOf(account: Account): number | 'unlimited' {
      const quota = super.quotaOf(account);
      return quota === 'unlimited' ? quota : quota + more;
    }
  }
  return { parts: { World: OtherQuotaWorld } };
}

export const senderDefects: readonly DefectRow[] = [
  ...breaking('SVC-1', {
    'pool-refused': [
      'the pool number is refused to an account without a SIM',
      refusingPool(false, 'number_not_found'),
      because.noSim,
    ],
    'pool-refused-when-disconnected': [
      'the pool number is refused to an account whose only SIM is not connected',
      refusingPool(true, 'number_access_denied'),
      because.noSim,
    ],
    'pool-sender-rewritten': [
      "messages leave from the pool although the account's own SIM was named",
      acceptingFrom((call) => (isOwn(call) ? call.simulation.world.pool[0] : undefined)),
    ],
    'foreign-sim-without-own': [
      "an account without a SIM may send from anyone's",
      acceptingIf((call) => isForeign(call) && call.key.account.devices.length === 0),
      because.noSim,
    ],
  }),
  ...breaking('AUTH-4', {
    'from-last-digits': [
      'sender numbers are compared by their last seven digits',
      rewriting('from', withSameEnd),
    ],
    'unknown-number-accepted': [
      'an unknown number is accepted',
      acceptingFrom(({ key, device, sender, simulation }) =>
        device === undefined && /^\+\d{8,15}$/.test(String(sender))
          ? (key.account.devices[0] ?? simulation.world.pool[0])
          : undefined,
      ),
    ],
  }),
  ...breaking('AUTH-5', {
    'not-allowed-accepted': [
      'a number that the account may not use is accepted',
      acceptingIf((call) => isOwn(call) && call.device?.allowed === false),
      'no flag names a number of the account that it may not use',
    ],
    'foreign-number-accepted': ["another account's number is accepted", acceptingIf(isForeign)],
  }),
  ...breaking('ERR-1', {
    'quota-plus-one': ['one message more than the quota passes', quotaPlus(1)],
    'quota-minus-one': ['the last message of the quota is refused', quotaPlus(-1), because.aQuota],
    'quota-counts-refusals': [
      'refused messages count',
      alsoCounting(({ fields, reply }) => fields !== undefined && reply.status >= 400),
      because.aQuota,
    ],
    'quota-lost-under-concurrency': [
      'simultaneous sends pass beyond the quota',
      quotaCountedLater(),
      because.aQuota,
    ],
    'quota-refused-queues': [
      'a send that is answered 402 is queued all the same',
      refusing(402, queueDespiteRefusal),
      'no flag names the device of the exhausted account, whose tasks would show it',
    ],
    'quota-counts-held-twice': [
      'a held message counts twice',
      alsoCounting((exchange) => isAccepted(exchange) && (messageOf(exchange)?.sendAtMs ?? 0) > 0),
      because.aQuota,
    ],
    'quota-never-resets': [
      'the quota never starts again',
      countingOnly(() => ({ isCountedFor: () => () => true })),
      because.aMonth,
    ],
    'quota-per-key': ['each key has a quota of its own', quotaPerKey(), because.aQuota],
  }),
  ...breaking('SEND-4', {
    'replay-counts-quota': [
      'a replay counts against the quota',
      alsoCounting(isReplay),
      because.aQuota,
    ],
  }),
  ...breaking('ERR-2', {
    'inactive-accepted': [
      'a deactivated SIM still takes messages',
      acceptingIf((call) => isOwn(call) && call.device?.active === false),
    ],
    'inactive-for-good': [
      'a SIM that is activated again is still answered 503',
      { parts: { World: NeverReactivatingWorld } },
      because.aChange,
    ],
    'inactive-whole-account': [
      'one deactivated SIM stops the whole account',
      answeringSends((call) =>
        call.key.account.devices.some(({ active }) => !active)
          ? refusal({ kind: 'device_inactive' }, call)
          : undefined,
      ),
    ],
  }),
];
