/**
 * The data that a client needs to use a world: accounts with a key and their numbers, and the pool.
 */
import { z } from 'zod';
import type { ApiKey } from '../sim/records.ts';
import type { World } from '../sim/world.ts';

const numberSchema = z.strictObject({ number: z.string(), device_id: z.uuid() });

export const readyNumbersSchema = z.strictObject({
  accounts: z.array(
    z.strictObject({
      name: z.string(),
      account_id: z.uuid(),
      api_key: z
        .string()
        .describe('The first key; empty if the account has none, or none that may be shown.'),
      sims: z.array(numberSchema),
    }),
  ),
  pool: z.array(numberSchema),
});
export type ReadyNumbers = Readonly<z.output<typeof readyNumbersSchema>>;

/** `isShown`: whether the text of a key may be shown; at creation, that of every key. */
export function readyNumbers(
  world: World,
  isShown: (key: ApiKey) => boolean = () => true,
): ReadyNumbers {
  return {
    accounts: [...world.accounts.values()].map(({ name, accountId, keys, devices }) => ({
      name,
      account_id: accountId,
      api_key: keys.slice(0, 1).find(isShown)?.key ?? '',
      sims: devices.map(readyNumber),
    })),
    pool: world.pool.map(readyNumber),
  };
}

function readyNumber({ number, deviceId }: { readonly number: string; readonly deviceId: string }) {
  return { number, device_id: deviceId };
}
