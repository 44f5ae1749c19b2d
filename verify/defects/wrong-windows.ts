/**
 * How a wrong window of remembered `request_id`s is planted: accounts get windows that find or keep
 * other uses than the service's own.
 */

import type { ApiKey, FirstUse, Message } from '#src/sim/accounts/account.ts';
import { Registry } from '#src/sim/accounts/registry.ts';
import { ReplayWindow } from '#src/sim/sends/replay-window.ts';
import { handling, type Planted } from './planted.ts';

/** The window of an account: it remembers each `request_id` for 24 h. The defects extend it. */
const AccountWindow = ReplayWindow<ApiKey, Message>;
type AccountWindow = InstanceType<typeof AccountWindow>;
type RememberedUse = Parameters<AccountWindow['keep']>[0];

type Find = (requestId: string) => FirstUse | undefined;
type Keep = (use: RememberedUse) => void;

/** What a wrong window does in place of `find` and `keep`; it gets those of the sound window. */
interface WindowDefect {
  readonly find?: (requestId: string, find: Find, keep: Keep) => FirstUse | undefined;
  readonly keep?: (use: RememberedUse, keep: Keep) => void;
}

/** Gives every account a wrong window. */
export function wrongWindow(create: (now: () => number) => WindowDefect): Planted {
  class OddWindow extends AccountWindow {
    readonly #defect: WindowDefect;

    constructor(now: () => number) {
      super(now);
      this.#defect = create(now);
    }

    override find(...[requestId, ...scope]: Parameters<AccountWindow['find']>) {
      const find: Find = (id) => super.find(id, ...scope);
      if (this.#defect.find === undefined) return find(requestId);
      return this.#defect.find(requestId, find, (use) => super.keep(use));
    }

    override keep(use: RememberedUse): void {
      const keep: Keep = (remembered) => super.keep(remembered);
      if (this.#defect.keep === undefined) keep(use);
      else this.#defect.keep(use, keep);
    }
  }
  class WrongWindowRegistry extends Registry {
    override createAccount(...args: Parameters<Registry['createAccount']>) {
      return Object.assign(super.createAccount(...args), { replays: new OddWindow(this.now) });
    }
  }
  return { parts: { Registry: WrongWindowRegistry } };
}

/** A window that finds a use until the time that `endsAtMs` returns. */
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

/** A window in which a use is identified by the id and the text together. */
export function perText(): Planted {
  // Handling is synchronous, so this is the text of the request that the window serves.
  let text = '';
  const notingText = handling(() => ({ request, fields }, next) => {
    text = String(fields?.['message'] ?? '');
    return next(request);
  });
  return { ...comparingIdsAs((requestId) => `${requestId} ${text}`), ...notingText };
}

/** A window that also knows all ids that were used. `findAmong` gets the sound window's `find`. */
export function knowingIds(
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
export class SharedWindowRegistry extends Registry {
  readonly #shared = new AccountWindow(this.now);

  override createAccount(...args: Parameters<Registry['createAccount']>) {
    return Object.assign(super.createAccount(...args), { replays: this.#shared });
  }
}
