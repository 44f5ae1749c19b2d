/**
 * The world of the soak and its callers: accounts with several SIMs and keys, one with an external
 * device, one without a SIM, one with a small quota. Endpoints and limits are transcribed, so that
 * the soak shares no code with the service.
 */
import type { ReadyFile } from '../../src/simulator.ts';
import { type SendPath, sendPaths } from '../testkit/request.ts';

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

export const limitsPerMinute = {
  send: 120,
  dashboard_send: 120,
  external_send: 120,
  received: 120,
  tasks: 60,
} as const;
export type LimitedEndpoint = keyof typeof limitsPerMinute;

/** Undefined for endpoints without a limit. */
export function limitedEndpoint(path: string): LimitedEndpoint | undefined {
  for (const endpoint of sendEndpoints) if (sendPaths[endpoint] === path) return endpoint;
  if (path === '/api/v1/sms/received/') return 'received';
  return /^\/api\/devices\/[^/]+\/tasks\/$/.test(path) ? 'tasks' : undefined;
}
