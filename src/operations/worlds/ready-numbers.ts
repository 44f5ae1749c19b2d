/**
 * The keys and numbers that a client needs to use a world, as the ready file and the operations on
 * worlds show them.
 */
import { z } from 'zod';
import type { ApiKey } from '../../sim/accounts/records.ts';
import type { Registry } from '../../sim/accounts/registry.ts';

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

/** The content of `--ready-file`: where the simulator listens, and the keys and numbers to use. */
export interface ReadyFile extends ReadyNumbers {
  /** The URL of the service; empty while it does not listen. */
  readonly base_url: string;
  /** The URL of the control port; null if it is not open. */
  readonly control_url: string | null;
  /** The process that serves. */
  readonly pid: number;
  /** The certificate to trust; only of `serve --tls self-signed`. */
  readonly tls_ca_file?: string;
  /** The seed of keys, ids and random outcomes. */
  readonly seed: number;
}

/** `isShown`: whether the text of a key may be shown. Default: always, as at creation. */
export function readyNumbers(
  world: Registry,
  isShown: (key: ApiKey) => boolean = () => true,
): ReadyNumbers {
  return {
    accounts: [...world.accounts.values()].map(
      ({ name, accountId, keys: [firstKey], devices }) => ({
        name,
        account_id: accountId,
        api_key: firstKey !== undefined && isShown(firstKey) ? firstKey.key : '',
        sims: devices.map(readyNumber),
      }),
    ),
    pool: world.pool.map(readyNumber),
  };
}

function readyNumber({ number, deviceId }: { readonly number: string; readonly deviceId: string }) {
  return { number, device_id: deviceId };
}
