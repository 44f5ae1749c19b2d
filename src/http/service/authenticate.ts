/**
 * Bearer header -> caller. Rules: AUTH-1, AUTH-3. Assumes: bearerSpace.
 */
import type { ApiKey } from '../../sim/records.ts';
import type { World } from '../../sim/world.ts';

const bearer = { any: /^bearer[ \t]+(\S+)$/i, one: /^bearer (\S+)$/i };

/** The key that the request carries; undefined when it is missing, malformed, wrong or revoked. */
export function authenticate(world: World, authorization: string | undefined): ApiKey | undefined {
  if (authorization === undefined) return undefined;
  const key = world.validKeyOfHeader(authorization);
  if (key !== undefined) return key;
  const token = bearer[world.assumptions.bearerSpace].exec(authorization)?.[1];
  return token === undefined ? undefined : world.validKey(token);
}
