/**
 * The fuzzed world, and the ids and keys in it. Requests use them to get past authentication. They
 * are the same after every reset.
 */
import { type SettingsInput, Simulator } from '#src/simulator.ts';
import { sendBy } from '../testkit/twin/twin.ts';

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

export type Facts = ReturnType<typeof gatherFacts>;

const messagesPerAccount = 8;

/** Ids follow from the seed: a simulator in this process has the same as the fuzzed server. */
export function gatherFacts() {
  const simulator = new Simulator(fuzzedSettings, { journal: false });
  const { accounts, pool } = simulator.readyFile();
  const sims = [...accounts.flatMap((account) => account.sims), ...pool];
  const allKeys = simulator.accounts.allKeys();
  const revokedKeyId = allKeys.find(({ name }) => name === 'revoked')?.key_id ?? '';
  const sends = [0, 1].flatMap((account) =>
    Array.from({ length: messagesPerAccount }, () => sendBy(simulator, account, {})),
  );
  simulator.reset();
  simulator.accounts.revokeKey(revokedKeyId);
  return {
    accountIds: accounts.map((account) => account.account_id),
    deviceIds: sims.map((sim) => sim.device_id),
    keyIds: allKeys.map(({ key_id: id }) => id),
    revokedKeyId,
    /** The ids of the first messages accepted after a reset. */
    messageIds: sends.map(({ body }): string => JSON.parse(body).message_id),
    /** The whole state directly after a reset, as text. */
    snapshot: JSON.stringify(simulator.snapshots.take()),
  };
}
