/**
 * The fuzzed world, and the ids and keys that a hostile caller knows, so that requests pass the
 * first gate. They are the same after every reset.
 */
import type { SettingsInput } from '../../src/simulator.ts';

export const keys: Readonly<Record<'acme' | 'second' | 'revoked' | 'globex' | 'pooled', string>> = {
  acme: 'smst_fuzzAcme0000000000000000000000000000000000',
  second: 'smst_fuzzSecond00000000000000000000000000000000',
  revoked: 'smst_fuzzRevoked0000000000000000000000000000000',
  globex: 'smst_fuzzGlobex00000000000000000000000000000000',
  pooled: 'smst_fuzzPooled00000000000000000000000000000000',
};

export const numbers = ['+12025550101', '+12025550102', '+12025550111', '+12025550190'] as const;

const fuzzedWorld = {
  accounts: [
    {
      name: 'acme',
      keys: [
        { name: 'main', key: keys.acme },
        { name: 'second', key: keys.second },
        { name: 'revoked', key: keys.revoked },
      ],
      sims: [{ number: numbers[0] }, { number: numbers[1], polling: 'external' }],
    },
    { name: 'globex', keys: [{ name: 'main', key: keys.globex }], sims: [{ number: numbers[2] }] },
    { name: 'pooled', monthly_quota: 40, keys: [{ name: 'main', key: keys.pooled }], sims: [] },
  ],
  pool: [{ number: numbers[3] }],
  limits: { external_send: 5, tasks: 9, stats: null },
} satisfies SettingsInput['world'];

export const fuzzedSettings = { clock: 'manual', seed: 1, world: fuzzedWorld } as const;

export interface Facts {
  readonly accountIds: readonly string[];
  readonly deviceIds: readonly string[];
  readonly keyIds: readonly string[];
  readonly revokedKeyId: string;
  /** The ids of the first messages accepted after a reset. */
  readonly messageIds: readonly string[];
  /** The whole state directly after a reset, as text. */
  readonly snapshot: string;
}
