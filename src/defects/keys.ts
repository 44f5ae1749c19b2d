/**
 * Wrong checks and displays of API keys. Rules: AUTH-1, AUTH-2, AUTH-3.
 */
import type { ApiRequest } from '../http/service/messages.ts';
import { matchRoute } from '../http/service/routes.ts';
import type { EndpointName } from '../sim/limits.ts';
import type { ApiKey } from '../sim/records.ts';
import { World } from '../sim/world.ts';
import type { Simulation } from '../simulation/simulation.ts';
import { fieldsOf, invalid, isSend, namedDevice, namedMessage } from './edge.ts';
import { answering, type Defects, endpointOf, type Planted, reading } from './planted.ts';

/** Also accepts every text for which `opens` returns true. */
function accepting(opens: (given: string, key: ApiKey, nowMs: number) => boolean): Planted {
  class LaxWorld extends World {
    override validKey(text: string): ApiKey | undefined {
      const right = super.validKey(text);
      if (right !== undefined) return right;
      const nowMs = this.now();
      return [...this.keys.values()].find((key) => opens(text, key, nowMs));
    }
  }
  return { parts: { World: LaxWorld } };
}

function isLive(key: ApiKey): boolean {
  return key.revokedAtMs === undefined;
}

const cacheMs = 60_000;

/** Replaces the Authorization header. */
function header(understand: (request: ApiRequest) => string | undefined): Planted {
  return reading((request) => ({
    ...request,
    authorization: understand(request) ?? request.authorization,
  }));
}

/** An endpoint without a key check acts for the owner of the requested thing. */
function withoutKey(
  endpoint: EndpointName,
  ownerOf: (request: ApiRequest, simulation: Simulation) => readonly ApiKey[],
): Planted {
  return reading((request, simulation) => {
    if (endpointOf(request) !== endpoint || request.authorization !== undefined) return request;
    const key = ownerOf(request, simulation).find(isLive);
    return key === undefined ? request : { ...request, authorization: `Bearer ${key.key}` };
  });
}

/** Compares keys by `opens` on one endpoint. */
function acceptingOn(endpoint: EndpointName, opens: (given: string, key: string) => boolean) {
  return reading((request, { world }) => {
    const given = request.authorization?.slice('Bearer '.length);
    if (endpointOf(request) !== endpoint || given === undefined) return request;
    const key = [...world.keys.values()].find((one) => isLive(one) && opens(given, one.key));
    return key === undefined ? request : { ...request, authorization: `Bearer ${key.key}` };
  });
}

const shownLetters = 9;

/** The part of a key that lists show: its beginning and its end. */
function endsOf(key: string): string {
  return `${key.slice(0, shownLetters)}…${key.slice(-4)}`;
}

/** Treats letters and digits that look alike as equal. */
function withoutLookalikes(key: string): string {
  return key.replace(/[oO]/g, '0').replace(/[lI]/g, '1');
}

/** One endpoint still accepts revoked keys. */
function revokedWorksOn(endpoint: EndpointName): Planted {
  return reading((request, { world }) => {
    if (endpointOf(request) !== endpoint) return request;
    const text = request.authorization?.slice('Bearer '.length);
    const key = [...world.keys.values()].find((one) => one.key === text);
    const other = key === undefined || isLive(key) ? undefined : key.account.keys.find(isLive);
    return other === undefined ? request : { ...request, authorization: `Bearer ${other.key}` };
  });
}

/** Fields are checked before the key. */
const validatedFirst: Planted = answering((request, simulation) => {
  const fields = isSend(request) ? fieldsOf(request) : undefined;
  return fields !== undefined && fields['to'] === undefined ? invalid('to', simulation) : undefined;
});

/** Shows the full key in place of its prefix. */
class TalkativeWorld extends World {
  override createKey(...given: Parameters<World['createKey']>): ApiKey {
    const key = super.createKey(...given);
    key.digest = { sha256: '', prefix: key.key };
    return key;
  }
}

class NamelessWorld extends World {
  override createKey(...[account, , text]: Parameters<World['createKey']>): ApiKey {
    return super.createKey(account, 'default', text);
  }
}

/** One key per account: a new one replaces the others. */
class SingleKeyWorld extends World {
  override createKey(...given: Parameters<World['createKey']>): ApiKey {
    for (const earlier of given[0].keys) this.revokeKey(earlier);
    return super.createKey(...given);
  }
}

/** Revoking one key revokes all keys of the account. */
class ThoroughWorld extends World {
  override revokeKey(key: ApiKey): void {
    for (const one of key.account.keys) super.revokeKey(one);
  }
}

export const keyDefects: Defects = {
  'revoked-key-works': accepting((given, { key }) => key === given),
  'revoked-key-cached': accepting(
    (given, { key, revokedAtMs = 0 }, nowMs) => key === given && nowMs - revokedAtMs < cacheMs,
  ),
  'revoked-key-reads': revokedWorksOn('read'),
  'revoked-key-sends-externally': revokedWorksOn('external_send'),
  'validated-before-key': validatedFirst,
  'key-any-case': accepting(
    (given, key) => isLive(key) && key.key.toLowerCase() === given.toLowerCase(),
  ),
  'key-prefix-enough': accepting(
    (given, key) => isLive(key) && given.length >= key.key.length / 2 && key.key.startsWith(given),
  ),
  'key-ends-enough': accepting((given, key) => isLive(key) && endsOf(key.key) === endsOf(given)),
  'key-lookalikes': accepting(
    (given, key) => isLive(key) && withoutLookalikes(key.key) === withoutLookalikes(given),
  ),
  'key-any-case-for-tasks': acceptingOn(
    'tasks',
    (given, key) => given.toLowerCase() === key.toLowerCase(),
  ),
  'key-prefix-for-external-send': acceptingOn(
    'external_send',
    (given, key) => given.length >= key.length / 2 && key.startsWith(given),
  ),
  'key-trimmed-end': accepting((given, key) => isLive(key) && given.startsWith(key.key)),
  'scheme-any': header(({ authorization }) => {
    const [, rest] = authorization?.split(' ') ?? [];
    return rest === undefined ? undefined : `Bearer ${rest}`;
  }),
  'key-without-scheme': header(({ authorization }) =>
    authorization === undefined || authorization.includes(' ')
      ? undefined
      : `Bearer ${authorization}`,
  ),
  'key-in-query': header(({ authorization, query }) => {
    const key = new URLSearchParams(query).get('api_key');
    return authorization !== undefined || key === null ? undefined : `Bearer ${key}`;
  }),
  'stats-without-key': withoutKey('stats', (_, { world }) => [...world.keys.values()]),
  'tasks-without-key': withoutKey('tasks', ({ path }, { world }) => {
    return world.devices.get(matchRoute(path)?.id ?? '')?.account?.keys ?? [];
  }),
  'received-without-key': withoutKey('received', (_, { world }) => [...world.keys.values()]),
  'external-send-without-key': withoutKey('external_send', (request, simulation) => {
    return namedDevice(request, simulation)?.account?.keys ?? [];
  }),
  'read-without-key': withoutKey('read', (request, simulation) => {
    return namedMessage(request, simulation)?.account.keys ?? [];
  }),
  'new-key-revokes-others': { parts: { World: SingleKeyWorld } },
  'keys-revoked-together': { parts: { World: ThoroughWorld } },
  'key-listed': { parts: { World: TalkativeWorld } },
  'key-name-lost': { parts: { World: NamelessWorld } },
};
