/**
 * Wrong replays: wrong answers to a `request_id` that was used before, and windows of remembered
 * ids that end too early or too late, or compare ids inexactly. Rules: SEND-4.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import { hourMs } from '#contract/time.ts';
import { type ApiKey, type FirstUse, Message } from '#src/sim/accounts/account.ts';
import { Registry } from '#src/sim/accounts/registry.ts';
import { ReplayWindow } from '#src/sim/sends/replay-window.ts';
import { findReplay } from '#src/sim/sends/send.ts';
import { readSend } from '#src/sim/sends/send-request.ts';
import { messageBody } from '#src/sim/store/message-view.ts';
import {
  type Answered,
  invalid,
  isReplay,
  messageOf,
  objectOf,
  refusal,
  type Sending,
} from './call.ts';
import {
  answeringSends,
  because,
  breaking,
  type DefectRow,
  handling,
  type Planted,
  replying,
  understanding,
} from './planted.ts';

const rememberedIds = 50;
/**
 * Real milliseconds: less than the gap between two polite sends, more than a burst takes to arrive.
 */
const lateMs = 5;

/** Replaces replies to replays by the result of `change`. */
function changingReplays(change: (exchange: Answered) => Partial<ApiReply> | undefined): Planted {
  return replying((exchange) => ({ ...exchange.reply, ...change(exchange) }), isReplay);
}

/** The message that a send would replay. */
function firstUse({ key, fields, simulation: { world } }: Sending): Message | undefined {
  const { account } = key;
  const read = readSend(fields, world.assumptions);
  if (findReplay(world, { account, key, endpoint: 'send', fields: read }) === undefined) {
    return undefined;
  }
  const use = account.replays.find(String(fields['request_id']), key, 'send', world.assumptions);
  return use?.outcome instanceof Message ? use.outcome : undefined;
}

/** Applies a check for new messages to replays. */
function checkingReplays(check: (first: Message, call: Sending) => ApiReply | undefined): Planted {
  return answeringSends((call) => {
    const first = firstUse(call);
    return first && check(first, call);
  });
}

/** True if the account's quota is spent. */
function isSpent({ account }: Message, { simulation: { world } }: Sending): boolean {
  const quota = world.quotaOf(account);
  return quota !== 'unlimited' && account.quota.used(world.now(), world.assumptions) >= quota;
}

/** The window of an account: it remembers each `request_id` for 24 h. The defects extend it. */
const AccountWindow = ReplayWindow<ApiKey, Message>;
type AccountWindow = InstanceType<typeof AccountWindow>;
type RememberedUse = Parameters<AccountWindow['keep']>[0];

type Find = (requestId: string) => FirstUse | undefined;
type Keep = (use: RememberedUse) => void;

/** What a wrong window does in place of `find` and `keep`; it gets those of the sound window. */
interface WrongWindow {
  readonly find?: (requestId: string, find: Find, keep: Keep) => FirstUse | undefined;
  readonly keep?: (use: RememberedUse, keep: Keep) => void;
}

/** Gives every account a wrong window. */
function wrongWindow(create: (now: () => number) => WrongWindow): Planted {
  class PlantedWindow extends AccountWindow {
    readonly #wrong: WrongWindow;

    constructor(now: () => number) {
      super(now);
      this.#wrong = create(now);
    }

    override find(...[requestId, ...scope]: Parameters<AccountWindow['find']>) {
      const find: Find = (id) => super.find(id, ...scope);
      if (this.#wrong.find === undefined) return find(requestId);
      return this.#wrong.find(requestId, find, (use) => super.keep(use));
    }

    override keep(use: RememberedUse): void {
      const keep: Keep = (remembered) => super.keep(remembered);
      if (this.#wrong.keep === undefined) keep(use);
      else this.#wrong.keep(use, keep);
    }
  }
  class RegistryOfWrongWindows extends Registry {
    override createAccount(...args: Parameters<Registry['createAccount']>) {
      return Object.assign(super.createAccount(...args), { replays: new PlantedWindow(this.now) });
    }
  }
  return { parts: { Registry: RegistryOfWrongWindows } };
}

/** A window that finds a use until the time that `endsAtMs` returns. */
function rememberingUntil(endsAtMs: (use: RememberedUse) => number): Planted {
  return wrongWindow((now) => {
    const uses = new Map<string, RememberedUse>();
    return {
      find: (requestId, find) => {
        const use = uses.get(requestId);
        const isLive = use !== undefined && now() <= endsAtMs(use);
        return isLive ? { ...use, older: undefined } : find(requestId);
      },
      keep: (use, keep) => {
        uses.set(use.requestId, use);
        keep(use);
      },
    };
  });
}

/**
 * A window that remembers an id as `fold` returns it, such as in lower case, and looks for an id as
 * `lookUp` returns it.
 */
function comparingIdsAs(fold: (requestId: string) => string, lookUp = fold): Planted {
  return wrongWindow(() => ({
    find: (requestId, find) => find(lookUp(requestId)),
    keep: (use, keep) => keep({ ...use, requestId: fold(use.requestId) }),
  }));
}

/** A window in which a use is identified by the id and another field together. */
function perField(name: string): Planted {
  // Handling is synchronous, so this is the value of the request that the window serves.
  let value = '';
  const notingValue = handling(() => ({ request, fields }, next) => {
    value = String(fields?.[name] ?? '');
    return next(request);
  });
  return { ...comparingIdsAs((requestId) => `${requestId} ${value}`), ...notingValue };
}

/** A window that also knows all ids that were used. `findAmong` gets the sound window's `find`. */
function knowingIds(
  findAmong: (requestId: string, ids: readonly string[], find: Find) => FirstUse | undefined,
): Planted {
  return wrongWindow(() => {
    const ids: string[] = [];
    return {
      find: (requestId, find) => findAmong(requestId, ids, find),
      keep: (use, keep) => {
        ids.push(use.requestId);
        keep(use);
      },
    };
  });
}

/** One window for all accounts. */
class SharedWindowRegistry extends Registry {
  readonly #shared = new AccountWindow(this.now);

  override createAccount(...args: Parameters<Registry['createAccount']>) {
    return Object.assign(super.createAccount(...args), { replays: this.#shared });
  }
}

export const replayDefects: readonly DefectRow[] = breaking('SEND-4', {
  'zero-is-no-id': [
    'the request_id "0" is taken for none',
    understanding(({ request_id: id }) => (id === '0' ? { request_id: undefined } : {})),
  ],
  'replay-answers-202': ['a replay is answered 202', changingReplays(() => ({ status: 202 }))],
  'replay-current-status': [
    'a replay shows the current status instead of the first body',
    changingReplays((exchange) => {
      const message = messageOf(exchange);
      return message && { body: messageBody(message, message.status) };
    }),
  ],
  'replay-of-latest': [
    "a replay shows the account's latest message",
    changingReplays(({ key }) => {
      const latest = key?.account.messages.at(-1);
      return latest && { body: messageBody(latest, 'queued') };
    }),
  ],
  'replay-other-spacing': [
    'a replay has the same fields with other white space',
    changingReplays(({ reply }) => ({ body: JSON.stringify(objectOf(reply.body), undefined, 1) })),
  ],
  'replay-forgotten-after-23-hours': [
    'a request_id is forgotten after 23 hours',
    wrongWindow((now) => ({
      find: (requestId, find) => {
        const use = find(requestId);
        return use !== undefined && now() - use.atMs > 23 * hourMs ? undefined : use;
      },
    })),
    because.aDay,
  ],
  'replay-kept-25-hours': [
    'a request_id still replays 25 hours later',
    rememberingUntil(({ atMs }) => atMs + 25 * hourMs),
    because.aDay,
  ],
  'replay-prolongs-window': [
    'each replay starts the 24 hours again',
    wrongWindow((now) => ({
      find: (requestId, find, keep) => {
        const use = find(requestId);
        if (use !== undefined) keep({ ...use, atMs: now() });
        return use;
      },
    })),
    because.aDay,
  ],
  'replay-shared-across-accounts': [
    "a request_id replays another account's message",
    { parts: { Registry: SharedWindowRegistry } },
  ],
  'replay-lost-under-concurrency': [
    'simultaneous sends with one request_id create several messages',
    wrongWindow(() => ({ keep: (use, keep) => void setTimeout(() => keep(use), lateMs) })),
  ],
  'replay-forgotten-when-crowded': [
    'a request_id is forgotten after 50 later ones',
    knowingIds((requestId, ids, find) =>
      ids.slice(-rememberedIds).includes(requestId) ? find(requestId) : undefined,
    ),
  ],
  'replay-any-letter-case': [
    'request_ids that differ in letter case are the same',
    comparingIdsAs((requestId) => requestId.toLowerCase()),
  ],
  'replay-ascii-only': [
    'a request_id beyond ASCII is not found again',
    wrongWindow(() => ({ find: (id, find) => (/^[ -~]*$/.test(id) ? find(id) : undefined) })),
  ],
  'id-ascii-only': [
    'a request_id beyond ASCII is refused',
    answeringSends((call) =>
      /^[ -~]*$/.test(String(call.fields['request_id'] ?? ''))
        ? undefined
        : invalid('request_id', call),
    ),
  ],
  'replay-window-from-send-at': [
    'the 24 hours of a held message start at send_at',
    rememberingUntil(({ atMs, outcome }) => {
      const sendAtMs = outcome instanceof Message ? outcome.sendAtMs : 0;
      return Math.max(atMs, sendAtMs) + 24 * hourMs;
    }),
    because.aDay,
  ],
  'replay-per-text': [
    'a request_id with another text creates another message',
    perField('message'),
  ],
  'replay-per-recipient': [
    'a request_id with another recipient creates another message',
    perField('to'),
    because.aRecipient,
  ],
  'replay-id-cut': [
    'request_ids with the same first 128 characters are the same',
    comparingIdsAs((requestId) => requestId.slice(0, 128)),
  ],
  'replay-id-stored-trimmed': [
    'a request_id is stored without spaces around it',
    comparingIdsAs(
      (requestId) => requestId.trim(),
      (requestId) => requestId,
    ),
  ],
  'replay-ignored': ['request_id is ignored', wrongWindow(() => ({ find: () => undefined }))],
  'replay-creates-second-message': [
    'a replay answers right but a second message exists',
    changingReplays((exchange) => {
      const first = messageOf(exchange);
      if (first === undefined) return undefined;
      const { account, key, device, endpoint, to, text, requestId } = first;
      const send = { account, key, device, endpoint, to, text, requestId, sendAtMs: 0 };
      exchange.simulation.world.acceptMessage(send);
      return undefined;
    }),
  ],
  'replay-refused-after-send-at': [
    'a replay is refused once its send_at has passed',
    checkingReplays(({ sendAtMs }, call) =>
      sendAtMs > 0 && sendAtMs <= call.simulation.clock.now()
        ? invalid('send_at', call)
        : undefined,
    ),
  ],
  'replay-refused-when-inactive': [
    'a replay is refused when the SIM was deactivated',
    checkingReplays(({ device }, call) =>
      device.active ? undefined : refusal({ kind: 'device_inactive' }, call),
    ),
    because.aChange,
  ],
  'replay-refused-when-not-allowed': [
    'a replay is refused when the account may not use the number any more',
    checkingReplays(({ device }, call) =>
      device.allowed ? undefined : refusal({ kind: 'number_access_denied' }, call),
    ),
    because.aChange,
  ],
  'replay-refused-when-quota-spent': [
    'a replay is refused when the quota is spent',
    checkingReplays((first, call) =>
      isSpent(first, call) ? refusal({ kind: 'quota_exceeded' }, call) : undefined,
    ),
    because.aQuota,
  ],
});
