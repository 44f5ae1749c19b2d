/**
 * Wrong answers to the questions who calls, and from which SIM or pool number an account may send.
 * Rules: SVC-1, AUTH-1 to AUTH-5, ERR-2.
 */
import type { EndpointName } from '#contract/limits.ts';
import type { ApiKey, Device } from '#src/sim/accounts/account.ts';
import type { SimSettings } from '#src/sim/accounts/device.ts';
import { Registry } from '#src/sim/accounts/registry.ts';
import type { Call, SendCall } from './call.ts';
import {
  acceptingFrom,
  answering,
  answeringSends,
  brokenConnection,
  reading,
  refusal,
  rewriting,
} from './combinators.ts';
import { because, breaking, type DefectRow, type Planted } from './planted.ts';

/** Also accepts a text as a key if `opens` returns true for it and any key. */
function accepting(opens: (given: string, key: ApiKey) => boolean): Planted {
  class LaxRegistry extends Registry {
    override validKey(text: string): ApiKey | undefined {
      return super.validKey(text) ?? [...this.keys.values()].find((key) => opens(text, key));
    }
  }
  return { parts: { Registry: LaxRegistry } };
}

const notJson = { kind: 'malformed_json', mistake: 'malformed_json', detail: 'No JSON.' } as const;

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function isLive(key: ApiKey): boolean {
  return key.revokedAtMs === undefined;
}

/** Reads the Authorization header as if it held the returned key; undefined leaves it. */
function readingKeyAs(understand: (call: Call) => string | undefined): Planted {
  return reading((call) => {
    const key = understand(call);
    return key === undefined ? undefined : { authorization: `Bearer ${key}` };
  });
}

/** An endpoint without a key check acts for the owner of the requested thing. */
function withoutKey(
  endpoint: EndpointName,
  keysOf: (call: Call) => readonly ApiKey[] | undefined,
): Planted {
  return readingKeyAs((call) => {
    const isMeant = call.endpoint === endpoint && call.request.authorization === undefined;
    return isMeant ? keysOf(call)?.find(isLive)?.key : undefined;
  });
}

/** Gives every key the same name. */
class NamelessRegistry extends Registry {
  override createKey(...[account, , text]: Parameters<Registry['createKey']>): ApiKey {
    return super.createKey(account, 'default', text);
  }
}

/** One key per account: a new one replaces the others. */
class SingleKeyRegistry extends Registry {
  override createKey(...[account, ...rest]: Parameters<Registry['createKey']>): ApiKey {
    for (const earlier of account.keys) this.revokeKey(earlier);
    return super.createKey(account, ...rest);
  }
}

/** A revoked key passes once more: a cache of keys looks it up only after its first use. */
class CachedKeyRegistry extends Registry {
  readonly #used = new Set<string>();

  override validKey(text: string): ApiKey | undefined {
    const isFirst = !this.#used.has(text);
    this.#used.add(text);
    const cached = isFirst ? [...this.keys.values()].find(({ key }) => key === text) : undefined;
    return super.validKey(text) ?? cached;
  }
}

/** The number of a SIM with the last seven digits of `from`; `from` itself if a SIM has it. */
function withSameEnd(from: string, { simulation: { world } }: Call): string {
  const end = from.slice(-7);
  if (end.length < 7 || world.deviceByNumber(from) !== undefined) return from;
  return [...world.devices.values()].find(({ number }) => number.endsWith(end))?.number ?? from;
}

function isOwn({ key, device }: SendCall): boolean {
  return device?.account === key.account;
}

function isForeign({ key, device }: SendCall): boolean {
  return device?.account !== undefined && device.account !== key.account;
}

/** Accepts sends from their SIM, although the service may refuse it. */
function acceptingIf(isAccepted: (call: SendCall) => boolean): Planted {
  return acceptingFrom((call) => (isAccepted(call) ? call.device : undefined));
}

/** Refuses the pool's number to some accounts: those with a SIM, or those without. */
function refusingPool(
  to: 'accounts with a SIM' | 'accounts without a SIM',
  kind: 'number_not_found' | 'number_access_denied',
): Planted {
  return answeringSends((call) => {
    const isPool = call.device !== undefined && call.device.account === undefined;
    const hasSim = call.key.account.devices.length > 0;
    const isRefused = isPool && hasSim === (to === 'accounts with a SIM');
    return isRefused ? refusal({ kind }, call) : undefined;
  });
}

/** A reactivated SIM keeps behaving as deactivated. */
class NeverReactivatingRegistry extends Registry {
  override patchDevice(device: Device, state: SimSettings): void {
    super.patchDevice(device, { ...state, active: device.active ? state.active : false });
  }
}

export const callerDefects: readonly DefectRow[] = [
  ...breaking('SVC-1', {
    'pool-refused': [
      'the pool number is refused to an account without a SIM',
      refusingPool('accounts without a SIM', 'number_not_found'),
      because.noSim,
    ],
    'pool-refused-when-disconnected': [
      'the pool number is refused to an account whose only SIM is not connected',
      refusingPool('accounts with a SIM', 'number_access_denied'),
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
  ...breaking('ERR-2', {
    'inactive-accepted': [
      'a deactivated SIM still takes messages',
      acceptingIf((call) => isOwn(call) && call.device?.active === false),
    ],
    'inactive-for-good': [
      'a SIM that is activated again is still answered 503',
      { parts: { Registry: NeverReactivatingRegistry } },
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
  ...breaking('AUTH-1', {
    'scheme-any': [
      'any scheme is accepted',
      readingKeyAs(({ request }) => request.authorization?.split(' ')[1]),
    ],
    'key-among-fields': [
      'a key among the fields of a send is accepted',
      readingKeyAs(({ request, fields }) =>
        request.authorization === undefined ? textIn(fields?.['api_key']) : undefined,
      ),
    ],
    'tasks-without-key': [
      'device tasks need no key',
      withoutKey('tasks', ({ id, simulation }) => simulation.world.devices.get(id)?.account?.keys),
    ],
    'capitals-without-key': [
      'a path in capitals needs no key',
      reading(({ request, simulation }) => {
        const path = request.path.toLowerCase();
        if (path === request.path || request.authorization !== undefined) return undefined;
        const message = simulation.world.messages.get(path.split('/')[4] ?? '');
        const key = message?.account.keys.find(isLive)?.key;
        return key === undefined ? undefined : { path, authorization: `Bearer ${key}` };
      }),
    ],
    'read-without-key': [
      'reading needs no key',
      withoutKey('read', ({ message }) => message?.account.keys),
    ],
  }),
  ...breaking('AUTH-2', {
    'new-key-revokes-others': [
      'a new key takes the place of the others',
      { parts: { Registry: SingleKeyRegistry } },
    ],
    'key-name-lost': [
      'the name chosen for a key is lost',
      { parts: { Registry: NamelessRegistry } },
      'keys are created and listed on the dashboard, which is not in the document',
    ],
  }),
  ...breaking('AUTH-3', {
    'key-short-breaks': [
      'a key of less than 12 characters breaks the connection',
      answering(({ request: { authorization: given = '' } }) =>
        /^Bearer .{1,11}$/.test(given) ? brokenConnection : undefined,
      ),
    ],
    'revoked-key-works': [
      'a revoked key still works',
      accepting((given, { key }) => key === given),
    ],
    'revoked-key-works-once': [
      'the first use of a revoked key passes',
      { parts: { Registry: CachedKeyRegistry } },
      // With a control port, the key was in use before it was revoked.
    ],
    'key-prefix-enough': [
      'the first half of a key is enough',
      accepting((given, key) => {
        const isLong = given.length >= key.key.length / 2;
        return isLive(key) && isLong && key.key.startsWith(given);
      }),
    ],
    'key-last-word': [
      'the last word after Bearer is taken for the key',
      reading(({ request: { authorization } }) => ({
        authorization: authorization?.replace(/^Bearer .* (?=\S+$)/, 'Bearer '),
      })),
    ],
    'key-in-quotes': [
      'a key in quotes is taken for the key',
      accepting((given, key) => isLive(key) && given === `"${key.key}"`),
    ],
    'key-quote-500': [
      'a key with a quote is answered 500',
      answering(({ request }) =>
        request.authorization?.includes("'") === true ? { status: 500, body: '{}' } : undefined,
      ),
    ],
    'json-before-key': [
      'a body that is not JSON is answered 400 before the key is checked',
      answering(({ request, key, fields, simulation }) =>
        request.method === 'POST' && key === undefined && fields === undefined
          ? refusal(notJson, { simulation })
          : undefined,
      ),
    ],
    'key-any-case-for-tasks': [
      'device tasks compare keys without letter case',
      readingKeyAs(({ endpoint, request, simulation }) => {
        const given = request.authorization?.slice('Bearer '.length).toLowerCase();
        const keys = endpoint === 'tasks' ? [...simulation.world.keys.values()] : [];
        return keys.find((one) => isLive(one) && one.key.toLowerCase() === given)?.key;
      }),
    ],
  }),
];
