/**
 * The data that a client needs to use a world: accounts with a key and their numbers, and the pool.
 */
import { z } from 'zod';
import type { World } from '../sim/world.ts';

const numberSchema = z.strictObject({ number: z.string(), device_id: z.uuid() });

export const readyNumbersSchema = z.strictObject({
  accounts: z.array(
    z.strictObject({
      name: z.string(),
      account_id: z.uuid(),
      api_key: z.string().describe('The first key; empty if the account has no key.'),
      sims: z.array(numberSchema),
    }),
  ),
  pool: z.array(numberSchema),
});
export type ReadyNumbers = Readonly<z.output<typeof readyNumbersSchema>>;

export function readyNumbers(world: World): ReadyNumbers {
  return {
    accounts: [...world.accounts.values()].map((account) => ({
      name: account.name,
      account_id: account.accountId,
      api_key: account.keys[0]?.key ?? '',
      sims: account.devices.map(readyNumber),
    })),
    pool: world.pool.map(readyNumber),
  };
}

function readyNumber({ number, deviceId }: { readonly number: string; readonly deviceId: string }) {
  return { number, device_id: deviceId };
}
