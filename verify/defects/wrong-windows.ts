/**
 * Wrong windows of remembered `request_id`s: they end at a wrong time, compare ids inexactly, or
 * are shared by accounts. Rules: SEND-4.
 */
import type { ApiKey, FirstUse, Message } from '#src/sim/accounts/account.ts';
import { Registry } from '#src/sim/accounts/registry.ts';
import { ReplayWindow } from '#src/sim/sends/replay-window.ts';
import { handling } from './combinators.ts';
import type { Planted } from './planted.ts';

/** The window of an account: it remembers each `request_id` for 24 h. The defects extend it. */
const AccountWindow = ReplayWindow<ApiKey, Message>;
type AccountWindow = InstanceType<typeof AccountWindow>;
type RememberedUse = Parameters<AccountWindow['keep']>[0];

type Finder = (requestId: string) => FirstUse | undefined;
type Keeper = (use: RememberedUse) => void;

/** What a wrong window does in place of the sound `find` and `keep`, which are its arguments. */
interface WrongWindow {
  readonly find?: (requestId: string, find: Finder, keep: Keeper) => FirstUse | undefined;
  readonly keep?: (use: RememberedUse, keep: Keeper) => void;
}

export function wrongWindow(create: (now: () => number) => WrongWindow): Planted {
  class PlantedWindow extends AccountWindow {
    readonly #wrong: WrongWindow;

    constructor(now: () => number) {
      super(now);
      this.#wrong = create(now);
    }

    override find(...[requestId, ...scope]: Parameters<AccountWindow['find']>) {
      const find: Finder = (id) => super.find(id, ...scope);
      if (this.#wrong.find === undefined) return find(requestId);
      return this.#wrong.find(requestId, find, (use) => super.keep(use));
    }

    override keep(use: RememberedUse): void {
      const keep: Keeper = (remembered) => super.keep(remembered);
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

export function rememberingUntil(endsAtMs: (use: RememberedUse) => number): Planted {
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
export function comparingIdsAs(fold: (requestId: string) => string, lookUp = fold): Planted {
  return wrongWindow(() => ({
    find: (requestId, find) => find(lookUp(requestId)),
    keep: (use, keep) => keep({ ...use, requestId: fold(use.requestId) }),
  }));
}

/** A window in which a use is identified by the id and another field together. */
export function perField(name: string): Planted {
  // Handling is synchronous, so this is the value of the request that the window serves.
  let value = '';
  const notingValue = handling(() => ({ request, fields }, next) => {
    value = String(fields?.[name] ?? '');
    return next(request);
  });
  return { ...comparingIdsAs((requestId) => `${requestId} ${value}`), ...notingValue };
}

export class SharedWindowRegistry extends Registry {
  readonly #shared = new AccountWindow(this.now);

  override createAccount(...args: Parameters<Registry['createAccount']>) {
    return Object.assign(super.createAccount(...args), { replays: this.#shared });
  }
}
