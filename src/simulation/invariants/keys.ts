/**
 * Checks the API keys: a valid key is found by its text, a revoked one is not.
 * Rules: AUTH-2, AUTH-3.
 */
import type { Simulation } from '../simulation.ts';
import type { Findings } from './findings.ts';

export function checkKeys({ world, clock }: Simulation, found: Findings): void {
  let owned = 0;
  for (const { keys } of world.accounts.values()) owned += keys.length;
  if (owned !== world.keys.size || world.keyRing.size !== world.keys.size) {
    const ring = `${world.keyRing.size} in the index`;
    found.report('AUTH-3', `accounts have ${owned} keys, the world ${world.keys.size}, ${ring}`);
  }
  for (const [id, key] of world.keys) {
    found.checked.keys++;
    if (key.keyId !== id || !key.account.keys.includes(key) || !world.keyRing.holds(key)) {
      found.report('AUTH-2', `key ${id} is stored in the wrong place`);
    }
    const isRevoked = key.revokedAtMs !== undefined;
    if (key.digest === undefined && (world.validKey(key.key) !== key) !== isRevoked) {
      found.report('AUTH-3', `key ${id} is ${isRevoked ? 'revoked but accepted' : 'not accepted'}`);
    }
    if ((key.revokedAtMs ?? key.createdAtMs) < key.createdAtMs || key.createdAtMs > clock.now()) {
      found.report('AUTH-2', `key ${id} was created after the present or its revocation`);
    }
  }
}
