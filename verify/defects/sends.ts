/**
 * Sends that are read wrongly: fields, holds, senders and quotas. Rules: SEND-1, SEND-2, SEND-3,
 * SEND-5, SEND-6, SEND-7, SVC-1, SVC-4, AUTH-4, AUTH-5, ERR-1, ERR-2, SEND-4.
 */

import type { Handled } from '../../src/http/service/api.ts';
import { dayMs, hourMs, minuteMs } from '../../src/ledger/time-units.ts';
import { isoTime } from '../../src/sim/clock.ts';
import { isPhoneNumber } from '../../src/sim/phone-number.ts';
import { QuotaCount } from '../../src/sim/quota.ts';
import type { Account, Device, Message, SimState } from '../../src/sim/records.ts';
import { parseSendAt } from '../../src/sim/send-at.ts';
import { World } from '../../src/sim/world.ts';
import {
  acceptAnyway,
  acceptingFrom,
  answering,
  answeringSends,
  because,
  breaking,
  type Call,
  changed,
  type DefectRow,
  type Exchange,
  handling,
  invalid,
  isAccepted,
  isReplay,
  isSend,
  messageOf,
  type Planted,
  queueDespiteRefusal,
  refusal,
  refusing,
  replying,
  type Sending,
  textOf,
  understanding,
} from './planted.ts';

const longest = 1_600;
const fiveMinutesMs = 5 * minuteMs;
/** How far the server's local time is behind UTC. */
const localZoneMs = 5 * hourMs;
/** A valid recipient in place of an unchecked one. */
const anyRecipient = '+12025550123';

/** Reads a text field as what `change` returns; undefined removes it. */
function rewriting(
  field: string,
  change: (text: string, call: Call) => string | undefined,
): Planted {
  return understanding(({ [field]: text }, call) =>
    typeof text === 'string' ? { [field]: change(text, call) } : {},
  );
}

/** Refuses sends whose text field satisfies `isRefused`. */
function refusingField(field: string, isRefused: (text: string) => boolean): Planted {
  return answeringSends((call) => {
    const text = call.fields[field];
    return typeof text === 'string' && isRefused(text) ? invalid(field, call) : undefined;
  });
}

function isNumber(value: unknown): boolean {
  return typeof value === 'string' && isPhoneNumber(value, 'possible');
}

function ownNumber({ key }: Call): string | undefined {
  return key?.account.devices[0]?.number;
}

/** Without the signs with which people group the digits of a number. */
function withoutSeparators(number: string): string {
  return number.replace(/(?<=.)[ ().-]/g, '');
}

/**
 * Replaces Arabic-Indic and full-width digits by ASCII ones. In both ranges, the low four bits of
 * the code are the digit.
 */
function withAsciiDigits(text: string): string {
  return text.replace(/[\u0660-\u0669\uff10-\uff19]/g, (digit) =>
    String(digit.charCodeAt(0) & 0xf),
  );
}

/** The number of a SIM with the same last seven digits. */
function withSameEnd(from: string, { simulation: { world } }: Call): string {
  const end = from.slice(-7);
  if (end.length < 7 || world.deviceByNumber(from) !== undefined) return from;
  return [...world.devices.values()].find(({ number }) => number.endsWith(end))?.number ?? from;
}

/** The recipient is not checked, only echoed. */
const unchecked = handling(() => ({ request, fields }, next) => {
  const to = fields?.['to'];
  if (typeof to !== 'string' || isNumber(to)) return next(request);
  const handled = next(changed(request, { body: JSON.stringify({ ...fields, to: anyRecipient }) }));
  const body = handled.reply.body.replace(anyRecipient, to);
  return { ...handled, reply: { ...handled.reply, body } };
});

/** Treats the same body within a minute as the same message. */
const deduplicated = handling(({ clock }) => {
  const earlier = new Map<string, { readonly atMs: number; readonly handled: Handled }>();
  return ({ request, fields }, next) => {
    if (!isSend(request) || fields?.['request_id'] !== undefined) return next(request);
    const content = `${request.authorization} ${textOf(request)}`;
    const first = earlier.get(content);
    if (first !== undefined && clock.now() - first.atMs < minuteMs) return first.handled;
    const handled = next(request);
    if (handled.reply.status === 202) earlier.set(content, { atMs: clock.now(), handled });
    return handled;
  };
});

/** The instant of a valid `send_at`; undefined otherwise. */
function instantOf(sendAt: string): number | undefined {
  const read = parseSendAt(sendAt, { sendAtFormats: 'rfc3339', sendAtZone: 'any_offset' });
  return typeof read === 'number' ? read : undefined;
}

/**
 * Reads `send_at` as what `change` returns; undefined removes it. `atMs` is the instant of a valid
 * one.
 */
function readingSendAt(
  change: (sendAt: string, nowMs: number, atMs: number | undefined) => string | undefined,
): Planted {
  return rewriting('send_at', (sendAt, { simulation }) =>
    change(sendAt, simulation.clock.now(), instantOf(sendAt)),
  );
}

/** Moves the end of each hold; a past end means at once. */
function movingHold(change: (atMs: number, nowMs: number) => number): Planted {
  return readingSendAt((sendAt, nowMs, atMs) => {
    if (atMs === undefined || atMs <= nowMs) return sendAt;
    const movedMs = change(atMs, nowMs);
    return movedMs <= nowMs ? undefined : isoTime(movedMs);
  });
}

/** A task poll with a valid key ends the holds of the account's messages on that SIM. */
function tasksEndHolds({ endpoint, key, id, reply, simulation }: Exchange) {
  const messages = endpoint === 'tasks' ? [...(key?.account.messages ?? [])] : [];
  for (const message of messages) {
    const isHeld = message.device.deviceId === id && message.isHeldAt(simulation.clock.now());
    if (isHeld) simulation.fleet.progress(message);
  }
  return reply;
}

function isOwn({ key, device }: Sending): boolean {
  return device?.account === key.account;
}

function isForeign({ key, device }: Sending): boolean {
  return device?.account !== undefined && device.account !== key.account;
}

/** Refuses the pool's number to accounts with a SIM, or to those without. */
function refusingPool(hasSim: boolean, kind: 'number_not_found' | 'number_access_denied'): Planted {
  return answeringSends((call) => {
    const isPool = call.device !== undefined && call.device.account === undefined;
    const isMeant = call.key.account.devices.length > 0 === hasSim;
    return isPool && isMeant ? refusal({ kind }, call) : undefined;
  });
}

/** A reactivated SIM keeps behaving as deactivated. */
class NeverReactivatingWorld extends World {
  override patchDevice(device: Device, state: SimState): void {
    super.patchDevice(device, { ...state, active: device.active ? state.active : false });
  }
}

/** A quota count that is wrong on purpose. */
class WrongQuotaCount extends QuotaCount {
  readonly #account: Account;
  /** Units that do not belong to a message. */
  extraUnits = 0;
  /** Which messages count; undefined for the correct ones. */
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

class CountingWorld extends World {
  override createAccount(...given: Parameters<World['createAccount']>): Account {
    const account = super.createAccount(...given);
    return Object.assign(account, { quota: new WrongQuotaCount(this.now, account) });
  }
}

/** Also counts requests whose reply satisfies `when`. */
function alsoCounting(when: (exchange: Exchange) => boolean): Planted {
  const counting = replying((exchange) => {
    const quota = exchange.key?.account.quota;
    if (quota instanceof WrongQuotaCount && when(exchange)) quota.extraUnits += 1;
    return exchange.reply;
  });
  return { ...counting, parts: { World: CountingWorld } };
}

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
      const { quota, messages } = key.account;
      if (quota instanceof WrongQuotaCount) quota.isCounted = rule.isCountedFor(key.keyId);
      const before = messages.length;
      const handled = next(request);
      const message = messages.at(before);
      if (message !== undefined) rule.onAccepted?.(message, key.keyId);
      return handled;
    };
  });
  return { ...counting, parts: { World: CountingWorld } };
}

function quotaPerKey(): Planted {
  return countingOnly(() => {
    const keyOf = new Map<string, string>();
    return {
      isCountedFor:
        (keyId) =>
        ({ messageId }) =>
          keyOf.get(messageId) === keyId,
      onAccepted: ({ messageId }, keyId) => keyOf.set(messageId, keyId),
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

/** A plan with another quota. */
function quotaPlus(more: number): Planted {
  class OddWorld extends World {
    override quotaOf(account: Account): number | 'unlimited' {
      const quota = super.quotaOf(account);
      return quota === 'unlimited' ? quota : quota + more;
    }
  }
  return { parts: { World: OddWorld } };
}

export const sendDefects: readonly DefectRow[] = [
  ...breaking('SEND-1', {
    'alias-ignored': [
      'from_number alone is refused',
      understanding(() => ({ from_number: undefined })),
    ],
    'alias-only': ['from alone is refused', understanding(() => ({ from: undefined }))],
    'alias-not-checked': [
      'from_number is not validated',
      understanding(({ from, from_number: alias }, call) =>
        from === undefined && alias !== undefined && !isNumber(alias)
          ? { from_number: ownNumber(call) }
          : {},
      ),
    ],
  }),
  ...breaking('SEND-2', {
    'missing-message-accepted': [
      'a message without text is accepted',
      understanding(({ message = 'No text.' }) => ({ message })),
    ],
    'null-message-accepted': [
      'null is taken for a text',
      understanding(({ message }) => (message === null ? { message: 'No text.' } : {})),
    ],
    'to-normalised': [
      'a recipient with spaces or hyphens is accepted',
      rewriting('to', withoutSeparators),
    ],
    'to-not-checked': ['any text is a recipient', unchecked],
    'from-not-checked': [
      'a malformed sender is answered 403',
      refusing(400, (exchange) =>
        exchange.sender !== undefined && /"from(?:_number)?"/.test(exchange.reply.body)
          ? refusal({ kind: 'number_not_found' }, exchange)
          : exchange.reply,
      ),
    ],
    'to-any-digits': [
      'digits of other scripts are digits of a number',
      rewriting('to', withAsciiDigits),
    ],
    'from-normalised': [
      'a sender with spaces or hyphens is accepted',
      rewriting('from', withoutSeparators),
    ],
    'abroad-refused': [
      'numbers of other countries are refused',
      refusingField('to', (to) => isNumber(to) && !to.startsWith('+1')),
    ],
  }),
  ...breaking('SEND-3', {
    'emoji-500': [
      'a text with an emoji is answered 500',
      answeringSends(({ fields }) =>
        /\p{Emoji_Presentation}/u.test(String(fields['message']))
          ? { status: 500, body: JSON.stringify({ detail: 'Internal server error.' }) }
          : undefined,
      ),
    ],
    'send-deduplicated': ['the same message twice within a minute is one', deduplicated],
  }),
  ...breaking('SEND-5', {
    'malformed-202': [
      'a malformed body is accepted',
      answering(({ request, key, fields, simulation }) => {
        const device = key?.account.devices[0];
        if (!isSend(request) || fields !== undefined || key === undefined || device === undefined)
          return undefined;
        const invented = { to: anyRecipient, message: 'No text.' };
        return acceptAnyway({ key, fields: invented, simulation }, device);
      }),
    ],
    'wrong-type-coerced': [
      'a list is taken for a text',
      understanding((fields) =>
        Object.fromEntries(
          Object.entries(fields).map(([name, value]) => {
            return [name, Array.isArray(value) ? String(value) : value];
          }),
        ),
      ),
    ],
  }),
  ...breaking('SEND-6', {
    'length-1599': [
      '1,600 characters are refused',
      refusingField('message', (message) => message.length === longest),
    ],
    'length-1601': [
      '1,601 characters are accepted',
      rewriting('message', (text) => (text.length === longest + 1 ? text.slice(1) : text)),
    ],
    'length-in-bytes': [
      'the length is counted in bytes',
      refusingField('message', (message) => Buffer.byteLength(message) > longest),
    ],
    'length-truncated': [
      'a message that is too long is cut and accepted',
      rewriting('message', (message) => message.slice(0, longest)),
    ],
    'length-trimmed': [
      'spaces around the text are not counted',
      rewriting('message', (message) => message.trim()),
    ],
  }),
  ...breaking('SEND-7', {
    'send-at-ignored': ['send_at is ignored', readingSendAt(() => undefined)],
    'send-at-now-accepted': [
      'a send_at of this very moment is accepted',
      readingSendAt((sendAt, nowMs, atMs) => (atMs === nowMs ? undefined : sendAt)),
      'no request can be timed to the millisecond of its send_at',
    ],
    'send-at-past-accepted': [
      'a send_at in the past is accepted',
      readingSendAt((sendAt, nowMs, atMs = nowMs) => (atMs < nowMs ? undefined : sendAt)),
    ],
    'send-at-grace': [
      'a send_at of less than five minutes ago is accepted',
      readingSendAt((sendAt, nowMs, atMs = nowMs) =>
        atMs < nowMs && nowMs - atMs < fiveMinutesMs ? undefined : sendAt,
      ),
    ],
    'send-at-offset-dropped': [
      'an offset in send_at is dropped: local time is read as UTC',
      readingSendAt((sendAt) => sendAt.replace(/[+-]\d\d:\d\d$/, 'Z')),
    ],
    'send-at-seconds-only': [
      'a send_at without milliseconds is refused',
      refusingField('send_at', (sendAt) => !/\.\d{3}/.test(sendAt)),
    ],
    'send-at-early': [
      'a held message leaves five minutes early',
      movingHold((at) => at - fiveMinutesMs),
    ],
    'send-at-late': [
      'a held message leaves five minutes late',
      movingHold((at) => at + fiveMinutesMs),
    ],
    'send-at-day-dropped': [
      'a hold of more than a day ends on the first day',
      movingHold((at, nowMs) => nowMs + ((at - nowMs) % dayMs)),
    ],
    'send-at-absent-held': [
      'a message without send_at waits five minutes',
      understanding(({ send_at }, { simulation }) => ({
        send_at: send_at ?? isoTime(simulation.clock.now() + fiveMinutesMs),
      })),
    ],
    'send-at-picked-up-at-once': [
      'a held message is sending from the start',
      replying((exchange) => {
        const message = messageOf(exchange);
        if (message && message.sendAtMs > 0) exchange.simulation.fleet.progress(message);
        return exchange.reply;
      }, isAccepted),
    ],
    'external-forgets-hold': [
      'the external send checks send_at and ignores it',
      rewriting('send_at', (sendAt, { endpoint, simulation }) => {
        const isFuture = (instantOf(sendAt) ?? 0) > simulation.clock.now();
        return endpoint === 'external_send' && isFuture ? undefined : sendAt;
      }),
    ],
    'tasks-end-holds': [
      'a device that asks for tasks ends the holds of its SIM',
      replying(tasksEndHolds),
    ],
    'send-at-an-hour-west': [
      'send_at is read in a zone one hour west of UTC',
      readingSendAt((sendAt, _, atMs) => (atMs === undefined ? sendAt : isoTime(atMs + hourMs))),
    ],
    'send-at-plus-zero-local': [
      'a send_at that ends in +00:00 is read as local time',
      readingSendAt((sendAt, _, atMs) =>
        atMs === undefined || !sendAt.endsWith('+00:00') ? sendAt : isoTime(atMs + localZoneMs),
      ),
    ],
    'send-at-garbage-accepted': [
      'a send_at that is not a time is accepted',
      readingSendAt((sendAt, _, atMs) => (atMs === undefined ? undefined : sendAt)),
    ],
  }),
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
      acceptingFrom((call) =>
        isForeign(call) && call.key.account.devices.length === 0 ? call.device : undefined,
      ),
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
      acceptingFrom((call) => (isOwn(call) && !call.device?.allowed ? call.device : undefined)),
      'no flag names a number of the account that it may not use',
    ],
    'foreign-number-accepted': [
      "another account's number is accepted",
      acceptingFrom((call) => (isForeign(call) ? call.device : undefined)),
    ],
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
      acceptingFrom((call) => (isOwn(call) && !call.device?.active ? call.device : undefined)),
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
