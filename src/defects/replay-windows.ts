/**
 * Windows of `request_id` that expire too early or too late, or are of the wrong account. Rules:
 * SEND-4.
 */
import { ReplayWindow } from '../sim/idempotency.ts';
import { type ApiKey, type FirstUse, Message } from '../sim/records.ts';
import { World } from '../sim/world.ts';
import { fieldsOf } from './edge.ts';
import type { Defects, Planted } from './planted.ts';

/** The window of an account, which the defects extend. */
const AccountWindow = ReplayWindow<ApiKey, Message>;
type AccountWindow = InstanceType<typeof AccountWindow>;

type Find = Parameters<AccountWindow['find']>;
type Kept = Parameters<AccountWindow['keep']>[0];

const hourMs = 3_600_000;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const rememberedIds = 50;
/**
 * Real milliseconds: less than the gap between two polite sends, more than a burst takes to arrive.
 */
const lateMs = 5;

/** Gives every account a window made by `create`. */
function window(create: (now: () => number) => AccountWindow): Planted {
  class OtherWorld extends World {
    override createAccount(...given: Parameters<World['createAccount']>) {
      return Object.assign(super.createAccount(...given), { replays: create(this.now) });
    }
  }
  return { parts: { World: OtherWorld } };
}

class ForgetfulWindow extends AccountWindow {
  readonly #time: () => number;

  constructor(now: () => number) {
    super(now);
    this.#time = now;
  }

  override find(...call: Find): FirstUse | undefined {
    const use = super.find(...call);
    return use !== undefined && this.#time() - use.atMs > 23 * hourMs ? undefined : use;
  }
}

class LongWindow extends AccountWindow {
  readonly #time: () => number;
  readonly #uses = new Map<string, Kept>();

  constructor(now: () => number) {
    super(now);
    this.#time = now;
  }

  override find(...call: Find): FirstUse | undefined {
    const use = this.#uses.get(call[0]);
    const isAlive = use !== undefined && this.#time() <= this.endsAtMs(use);
    return isAlive ? { ...use, older: undefined } : super.find(...call);
  }

  protected endsAtMs(use: Kept): number {
    return use.atMs + 25 * hourMs;
  }

  override keep(use: Kept): void {
    this.#uses.set(use.requestId, use);
    super.keep(use);
  }
}

class ProlongedWindow extends AccountWindow {
  readonly #time: () => number;

  constructor(now: () => number) {
    super(now);
    this.#time = now;
  }

  override find(...call: Find): FirstUse | undefined {
    const use = super.find(...call);
    if (use !== undefined) this.keep({ ...use, atMs: this.#time() });
    return use;
  }
}

/** Records a use a moment later, so an immediate repeat does not find it. */
class LateWindow extends AccountWindow {
  override keep(use: Kept): void {
    setTimeout(() => super.keep(use), lateMs);
  }
}

class SmallWindow extends AccountWindow {
  readonly #ids: string[] = [];

  override find(...call: Find): FirstUse | undefined {
    return this.#ids.slice(-rememberedIds).includes(call[0]) ? super.find(...call) : undefined;
  }

  override keep(use: Kept): void {
    this.#ids.push(use.requestId);
    super.keep(use);
  }
}

/** Compares ids after folding them. */
function folding(
  fold: (requestId: string) => string,
  lookUp: (requestId: string) => string = fold,
): Planted {
  class FoldedWindow extends AccountWindow {
    override find(...[requestId, ...scope]: Find): FirstUse | undefined {
      return super.find(lookUp(requestId), ...scope);
    }

    override keep(use: Kept): void {
      super.keep({ ...use, requestId: fold(use.requestId) });
    }
  }
  return window((now) => new FoldedWindow(now));
}

function asGiven(requestId: string): string {
  return requestId;
}

/** Removes accents, as some database collations do. */
function withoutAccents(requestId: string): string {
  return requestId.normalize('NFD').replace(/\p{M}/gu, '');
}

function asNumber(requestId: string): string {
  return /^\d{1,18}$/.test(requestId) ? String(BigInt(requestId)) : requestId;
}

/** Compares as SQL's LIKE does with the wildcard `_`. */
function isLike(pattern: string, requestId: string): boolean {
  const signs = [...requestId];
  const parts = [...pattern];
  return (
    parts.length === signs.length && parts.every((part, i) => part === '_' || part === signs[i])
  );
}

/** Finds an id by pattern if no id is equal. */
class PatternWindow extends AccountWindow {
  readonly #ids: string[] = [];

  override find(...[requestId, ...scope]: Find): FirstUse | undefined {
    const equal = super.find(requestId, ...scope);
    const similar = this.#ids.find((id) => isLike(requestId, id));
    return equal ?? (similar === undefined ? undefined : super.find(similar, ...scope));
  }

  override keep(use: Kept): void {
    this.#ids.push(use.requestId);
    super.keep(use);
  }
}

/** The id and the text together identify a use. */
function perText(): Planted {
  let text = '';
  const { parts } = folding((requestId) => `${requestId} ${text}`);
  return {
    ...(parts !== undefined && { parts }),
    around: (next) => (request) => {
      text = String(fieldsOf(request)?.['message'] ?? '');
      return next(request);
    },
  };
}

/** Remembers uses only while their message satisfies `isKept`. */
function keepingWhile(isKept: (message: Message) => boolean): Planted {
  class PickyWindow extends AccountWindow {
    override find(...call: Find): FirstUse | undefined {
      const use = super.find(...call);
      return use?.outcome instanceof Message && !isKept(use.outcome) ? undefined : use;
    }
  }
  return window((now) => new PickyWindow(now));
}

class AsciiWindow extends AccountWindow {
  override find(...call: Find): FirstUse | undefined {
    return /^[ -~]*$/.test(call[0]) ? super.find(...call) : undefined;
  }
}

class HeldWindow extends LongWindow {
  protected override endsAtMs({ atMs, outcome }: Kept): number {
    const sendAtMs = outcome instanceof Message ? outcome.sendAtMs : 0;
    return Math.max(atMs, sendAtMs) + 24 * hourMs;
  }
}

class NoWindow extends AccountWindow {
  override find(): undefined {
    return undefined;
  }
}

/** One window for all accounts. */
class SharedWindowWorld extends World {
  readonly #shared = new AccountWindow(this.now);

  override createAccount(...given: Parameters<World['createAccount']>) {
    return Object.assign(super.createAccount(...given), { replays: this.#shared });
  }
}

export const replayWindowDefects: Defects = {
  'replay-forgotten-after-23-hours': window((now) => new ForgetfulWindow(now)),
  'replay-kept-25-hours': window((now) => new LongWindow(now)),
  'replay-prolongs-window': window((now) => new ProlongedWindow(now)),
  'replay-shared-across-accounts': { parts: { World: SharedWindowWorld } },
  'replay-lost-under-concurrency': window((now) => new LateWindow(now)),
  'replay-forgotten-when-crowded': window((now) => new SmallWindow(now)),
  'replay-forgotten-when-failed': keepingWhile(({ status }) => status !== 'failed'),
  'replay-forgotten-when-held': keepingWhile(({ sendAtMs }) => sendAtMs === 0),
  'replay-any-letter-case': folding((requestId) => requestId.toLowerCase()),
  'replay-ascii-only': window((now) => new AsciiWindow(now)),
  'replay-window-from-send-at': window((now) => new HeldWindow(now)),
  'replay-per-text': perText(),
  'replay-id-cut': folding((requestId) => requestId.slice(0, 128)),
  'replay-id-pattern': window((now) => new PatternWindow(now)),
  'replay-id-as-uuid': folding((requestId) =>
    uuid.test(requestId) ? requestId.toLowerCase() : requestId,
  ),
  'replay-id-question-marks': folding((requestId) => requestId.replace(/[^ -~\s\0]/gu, '?')),
  'replay-id-single-spaced': folding((requestId) => requestId.replace(/\s+/g, ' ')),
  'replay-id-decoded': folding((requestId) => requestId.replaceAll('%20', ' ')),
  'replay-id-visible-only': folding((requestId) => requestId.replace(/\p{Cf}/gu, '')),
  'replay-id-without-controls': folding((requestId) => requestId.replace(/[\0\n\r]/g, '')),
  'replay-id-trimmed': folding((requestId) => requestId.trim()),
  'replay-id-without-accents': folding(withoutAccents),
  'replay-id-as-number': folding(asNumber),
  'replay-id-stored-cut': folding((requestId) => requestId.slice(0, 64), asGiven),
  'replay-id-stored-trimmed': folding((requestId) => requestId.trim(), asGiven),
  'replay-ignored': window((now) => new NoWindow(now)),
};
