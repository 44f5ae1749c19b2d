/**
 * Wrong quotas: too large, too small, or with a wrong count of what uses them. Rules: ERR-1,
 * SEND-4.
 */
import type { Account, Message } from '#src/sim/accounts/account.ts';
import { Registry } from '#src/sim/accounts/registry.ts';
import { QuotaCount } from '#src/sim/sends/quota.ts';
import { type AnsweredCall, isAccepted, isReplay, messageOf } from './call.ts';
import { acceptAnyway, handling, queueDespiteRefusal, refusing, replying } from './combinators.ts';
import { because, breaking, type DefectRow, type Planted } from './planted.ts';

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

class CountingRegistry extends Registry {
  override createAccount(...args: Parameters<Registry['createAccount']>): Account {
    const account = super.createAccount(...args);
    return Object.assign(account, { quota: new WrongQuotaCount(this.now, account) });
  }
}

function alsoCounting(when: (exchange: AnsweredCall) => boolean): Planted {
  const counting = replying((exchange) => {
    const quota = exchange.key?.account.quota;
    if (quota instanceof WrongQuotaCount && when(exchange)) quota.extraUnits += 1;
    return exchange.reply;
  });
  return { ...counting, parts: { Registry: CountingRegistry } };
}

/** A wrong rule for what counts against a quota. */
interface CountingRule {
  /** True if the message counts for a send with this key. */
  readonly isCounted: (message: Message, nowMs: number, keyId: string) => boolean;
  readonly onAccepted?: (message: Message, keyId: string) => void;
}

/** Decides for each send which messages count, by a rule that is created for each simulation. */
function countingOnly(create: () => CountingRule): Planted {
  const counting = handling(() => {
    const rule = create();
    return ({ request, key, fields }, next) => {
      if (key === undefined || fields === undefined) return next(request);
      const { account, keyId } = key;
      const { quota } = account;
      if (quota instanceof WrongQuotaCount)
        quota.isCounted = (message, nowMs) => rule.isCounted(message, nowMs, keyId);
      const before = account.messages.length;
      const handled = next(request);
      const message = account.messages.at(before);
      if (message !== undefined) rule.onAccepted?.(message, keyId);
      return handled;
    };
  });
  return { ...counting, parts: { Registry: CountingRegistry } };
}

const quotaPerKey = countingOnly(() => {
  const keyOfMessage = new Map<string, string>();
  return {
    isCounted: ({ messageId }, _nowMs, keyId) => keyOfMessage.get(messageId) === keyId,
    onAccepted: ({ messageId }, keyId) => keyOfMessage.set(messageId, keyId),
  };
});

/** Does not count sends that were accepted in the same turn of the event loop. */
const quotaCountedLater = countingOnly(() => {
  const monthOf = (ms: number) => new Date(ms).toISOString().slice(0, 7);
  const uncounted = new Set<string>();
  return {
    isCounted: (message, nowMs) =>
      !uncounted.has(message.messageId) && monthOf(message.createdAtMs) === monthOf(nowMs),
    onAccepted: ({ messageId }) => {
      uncounted.add(messageId);
      setImmediate(() => uncounted.delete(messageId));
    },
  };
});

/** Adds to the quota of every plan. */
function quotaPlus(more: number): Planted {
  class OtherQuotaRegistry extends Registry {
    override quotaOf(account: Account): number | 'unlimited' {
      const quota = super.quotaOf(account);
      return quota === 'unlimited' ? quota : quota + more;
    }
  }
  return { parts: { Registry: OtherQuotaRegistry } };
}

export const quotaDefects: readonly DefectRow[] = [
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
      quotaCountedLater,
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
      countingOnly(() => ({ isCounted: () => true })),
      because.aMonth,
    ],
    'quota-alias-free': [
      'a send with from_number in place of from needs no quota',
      refusing(402, (exchange) => {
        const { reply, key, fields, device, simulation } = exchange;
        const isFree = fields !== undefined && fields['from'] === undefined;
        if (!isFree || key === undefined || device === undefined) return reply;
        return acceptAnyway({ key, fields, simulation }, device) ?? reply;
      }),
    ],
    'quota-of-one-endpoint': [
      'the dashboard send needs no quota',
      refusing(402, (exchange) => {
        const { reply, endpoint, key, fields, device, simulation } = exchange;
        if (endpoint !== 'dashboard_send' || fields === undefined) return reply;
        if (key === undefined || device === undefined) return reply;
        return acceptAnyway({ key, fields, simulation }, device) ?? reply;
      }),
    ],
    'quota-stops-reads': [
      'an account whose quota is spent is answered 402 by every endpoint',
      replying(
        ({ reply }) => ({ ...reply, status: 402 }),
        ({ endpoint, key, simulation: { world } }) =>
          endpoint === 'read' &&
          key !== undefined &&
          key.account.quota.used(world.now(), world.assumptions) >=
            Number(world.quotaOf(key.account)),
      ),
    ],
    'quota-per-key': ['each key has a quota of its own', quotaPerKey, because.aQuota],
  }),
  ...breaking('SEND-4', {
    'replay-counts-quota': [
      'a replay counts against the quota',
      alsoCounting(isReplay),
      because.aQuota,
    ],
  }),
];
