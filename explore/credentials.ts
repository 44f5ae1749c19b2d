/** The API key and the sender's number that each run gives its client. */
import { UsageError } from '#io/command-error.ts';
import type { ReadyNumbers } from '#src/operations/worlds/world-view.ts';

/**
 * Prefers an account with a SIM of its own. Throws a UsageError if the world has no account with a
 * key, or no number to send from.
 */
export function credentialsOf({ accounts, pool }: ReadyNumbers) {
  const usable = accounts.filter(({ api_key }) => api_key !== '');
  const account = usable.find(({ sims }) => sims.length > 0) ?? usable[0];
  if (account === undefined) {
    throw new UsageError(
      'the world has no account with a key: add { "name": "acme" } to accounts, or a key to one of them',
    );
  }
  const from = account.sims[0]?.number ?? pool[0]?.number;
  if (from === undefined) {
    throw new UsageError(
      'the world has no number to send from: add a SIM to an account, or a number to pool',
    );
  }
  return { apiKey: account.api_key, from };
}
