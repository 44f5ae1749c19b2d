/**
 * Wrong quota counts: by one, by day, by key, or of refused or replayed sends. Rules: ERR-1,
 * SEND-4.
 */

import { msPerDay } from '../sim/limits.ts';
import { QuotaCount } from '../sim/quota.ts';
import type { Account, HeldMessages, Message } from '../sim/records.ts';
import { World } from '../sim/world.ts';
import { callerOf, fieldsOf, isAccepted, isReplay, isSend, messageOf, senderOf } from './edge.ts';
import type { Defects, Exchange, Planted } from './planted.ts';

/** A count that can include more than messages, or other messages. */
class OtherCount extends QuotaCount {
  readonly #messages: HeldMessages;
  /** Units that do not belong to a message. */
  extra = 0;
  /** Which messages count; undefined for the correct ones. */
  counts: ((message: Message, nowMs: number) => boolean) | undefined;

  constructor(now: () => number, messages: HeldMessages) {
    super(now);
    this.#messages = messages;
  }

  override used(...[nowMs, assumptions]: Parameters<QuotaCount['used']>): number {
    const { counts } = this;
    if (counts === undefined) return super.used(nowMs, assumptions) + this.extra;
    return [...this.#messages].filter((message) => counts(message, nowMs)).length;
  }
}

class CountingWorld extends World {
  override createAccount(...given: Parameters<World['createAccount']>): Account {
    const account = super.createAccount(...given);
    return Object.assign(account, { quota: new OtherCount(this.now, account.messages) });
  }
}

/** Also counts requests whose reply satisfies `when`. */
function alsoCounting(when: (exchange: Exchange) => boolean): Planted {
  return {
    parts: { World: CountingWorld },
    around: (next, simulation) => (request) => {
      const handled = next(request);
      const quota = handled.key?.account.quota;
      if (quota instanceof OtherCount && when({ ...handled, request, simulation }))
        quota.extra += 1;
      return handled;
    },
  };
}

/** Decides for each send which messages count. */
function countingOnly(
  choose: (keyId: string, sender: unknown) => (message: Message, nowMs: number) => boolean,
  noted: (message: Message, keyId: string) => void = () => {},
): Planted {
  return {
    parts: { World: CountingWorld },
    around: (next, simulation) => (request) => {
      const key = callerOf(request, simulation);
      if (key === undefined || !isSend(request)) return next(request);
      const { quota, messages } = key.account;
      if (quota instanceof OtherCount) quota.counts = choose(key.keyId, senderOf(request));
      const before = messages.length;
      const handled = next(request);
      const message = messages.at(before);
      if (message !== undefined) noted(message, key.keyId);
      return handled;
    },
  };
}

function perKey(): Planted {
  const keys = new Map<string, string>();
  return countingOnly(
    (keyId) =>
      ({ messageId }) =>
        keys.get(messageId) === keyId,
    ({ messageId }, keyId) => keys.set(messageId, keyId),
  );
}

/** Does not see sends that were accepted in the same turn. */
function racing(): Planted {
  const unseen = new Set<string>();
  const monthOf = (ms: number) => new Date(ms).toISOString().slice(0, 7);
  return countingOnly(
    () => (message, nowMs) =>
      !unseen.has(message.messageId) && monthOf(message.createdAtMs) === monthOf(nowMs),
    ({ messageId }) => {
      unseen.add(messageId);
      setImmediate(() => unseen.delete(messageId));
    },
  );
}

/** A plan with another quota. */
function sized(change: (quota: number) => number | 'unlimited'): Planted {
  class OddWorld extends World {
    override quotaOf(account: Account): number | 'unlimited' {
      const quota = super.quotaOf(account);
      return quota === 'unlimited' ? quota : change(quota);
    }
  }
  return { parts: { World: OddWorld } };
}

export const quotaDefects: Defects = {
  'quota-plus-one': sized((quota) => quota + 1),
  'quota-minus-one': sized((quota) => quota - 1),
  'quota-ignored': sized(() => 'unlimited'),
  'quota-counts-refusals': alsoCounting(
    ({ request, reply }) =>
      isSend(request) && fieldsOf(request) !== undefined && reply.status >= 400,
  ),
  'replay-counts-quota': alsoCounting(isReplay),
  'quota-counts-held-twice': alsoCounting(
    (exchange) => isAccepted(exchange) && (messageOf(exchange)?.sendAtMs ?? 0) > 0,
  ),
  'quota-daily': countingOnly(
    () => (message, nowMs) =>
      Math.floor(message.createdAtMs / msPerDay) === Math.floor(nowMs / msPerDay),
  ),
  'quota-never-resets': countingOnly(() => () => true),
  'quota-lost-under-concurrency': racing(),
  'quota-per-key': perKey(),
  'quota-per-sim': countingOnly((_, sender) => (message) => message.device.number === sender),
};
