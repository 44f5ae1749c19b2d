/**
 * The world of the soak and its callers: accounts with several SIMs and keys, one with an external
 * device, one without a SIM, one with a small quota.
 */
import type { ReadyFile } from '#src/simulator.ts';
import { type SendPath, sendPaths } from '../testkit/twin/request.ts';

export const soakWorld = {
  accounts: [
    {
      name: 'alpha',
      monthly_quota: 'unlimited',
      sims: [{ number: '+12025551001' }, { number: '+12025551002' }],
    },
    { name: 'bravo', monthly_quota: 'unlimited', sims: [{ number: '+12025551011' }] },
    {
      name: 'charlie',
      monthly_quota: 'unlimited',
      sims: [{ number: '+12025551021', polling: 'external' }],
    },
    { name: 'delta', monthly_quota: 'unlimited' },
    { name: 'echo', monthly_quota: 150, sims: [{ number: '+12025551041' }] },
  ],
  pool: [{ number: '+12025551090' }],
} as const;

export interface SoakAccount {
  readonly name: (typeof soakWorld.accounts)[number]['name'];
  readonly accountId: string;
  readonly keys: string[];
  /** Numbers to send from. */
  readonly numbers: readonly string[];
  /** The SIM of the external device. */
  readonly polledId: string | undefined;
}

export function accountsOf({ accounts, pool }: ReadyFile): SoakAccount[] {
  return soakWorld.accounts.map(({ name }) => {
    const found = accounts.find((account) => account.name === name);
    if (found === undefined) throw new Error(`there is no account ${name}`);
    const sims = found.sims.length > 0 ? found.sims : pool;
    return {
      name,
      accountId: found.account_id,
      keys: [found.api_key],
      numbers: sims.map(({ number }) => number),
      polledId: name === 'charlie' ? sims[0]?.device_id : undefined,
    };
  });
}

/** Recipients by the fate of their messages; most are delivered. */
export const ordinaryRecipient = '+12025550123';
export const failingRecipients = ['+12025550160', '+12025550161', '+12025550162'] as const;
export const stuckRecipients = ['+12025550163', '+12025550164', '+12025550165'] as const;
export const slowRecipient = '+12025550166';

export const sendEndpoints = Object.keys(sendPaths) as readonly SendPath[];
