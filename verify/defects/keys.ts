/** Wrong checks and displays of API keys. Rules: AUTH-1, AUTH-2, AUTH-3. */
import type { EndpointName } from '#contract/limits.ts';
import type { ApiKey } from '#src/sim/accounts/account.ts';
import { Registry } from '#src/sim/accounts/registry.ts';
import type { Call } from './call.ts';
import { breaking, type DefectRow, type Planted, reading } from './planted.ts';

/** Also accepts a text as a key if `opens` returns true for it and any key. */
function accepting(opens: (given: string, key: ApiKey) => boolean): Planted {
  class LaxRegistry extends Registry {
    override validKey(text: string): ApiKey | undefined {
      return super.validKey(text) ?? [...this.keys.values()].find((key) => opens(text, key));
    }
  }
  return { parts: { Registry: LaxRegistry } };
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

/** One endpoint takes the key that the caller gave for the one that `find` returns. */
function acceptingOn(
  endpoint: EndpointName,
  find: (given: string, keys: readonly ApiKey[]) => ApiKey | undefined,
): Planted {
  return readingKeyAs(({ endpoint: called, request, simulation }) => {
    const given = request.authorization?.slice('Bearer '.length);
    const keys = [...simulation.world.keys.values()];
    return called === endpoint && given !== undefined ? find(given, keys)?.key : undefined;
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

class NamelessRegistry extends Registry {
  override createKey(...[account, , text]: Parameters<Registry['createKey']>): ApiKey {
    return super.createKey(account, 'default', text);
  }
}

/** One key per account: a new one replaces the others. */
class SingleKeyRegistry extends Registry {
  override createKey(...given: Parameters<Registry['createKey']>): ApiKey {
    for (const earlier of given[0].keys) this.revokeKey(earlier);
    return super.createKey(...given);
  }
}

export const keyDefects: readonly DefectRow[] = [
  ...breaking('AUTH-1', {
    'scheme-any': [
      'any scheme is accepted',
      readingKeyAs(({ request }) => request.authorization?.split(' ')[1]),
    ],
    'tasks-without-key': [
      'device tasks need no key',
      withoutKey('tasks', ({ id, simulation }) => simulation.world.devices.get(id)?.account?.keys),
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
    'revoked-key-works': [
      'a revoked key still works',
      accepting((given, { key }) => key === given),
    ],
    'key-prefix-enough': [
      'the first half of a key is enough',
      accepting((given, key) => {
        const isLong = given.length >= key.key.length / 2;
        return isLive(key) && isLong && key.key.startsWith(given);
      }),
    ],
    'key-any-case-for-tasks': [
      'device tasks compare keys without letter case',
      acceptingOn('tasks', (given, keys) =>
        keys.find((one) => isLive(one) && one.key.toLowerCase() === given.toLowerCase()),
      ),
    ],
  }),
];
