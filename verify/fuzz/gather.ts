/**
 * The ids and keys of the fuzzed world directly after a reset. They follow from the seed, so a
 * simulator in this process has the same ones as the fuzzed server.
 */
import { Simulator } from '../../src/simulator.ts';
import { sendBy } from '../testkit/control-fixture.ts';
import { rowOf } from './control-rows.ts';
import { type Facts, fuzzedSettings } from './facts.ts';
import type { FuzzWorker } from './worker.ts';

const messagesEach = 8;

export function gatherFacts(): Facts {
  const simulator = new Simulator(fuzzedSettings, { journal: false });
  const { accounts, pool } = simulator.readyFile();
  const sims = [...accounts.flatMap((account) => account.sims), ...pool];
  const keys = simulator.accounts.allKeys();
  const revokedKeyId = keys.find(({ name }) => name === 'revoked')?.key_id ?? '';
  const messageIds = [0, 1].flatMap((account) =>
    Array.from({ length: messagesEach }, () => sendBy(simulator, account, {})),
  );
  simulator.reset();
  simulator.accounts.revokeKey(revokedKeyId);
  return {
    accountIds: accounts.map((account) => account.account_id),
    deviceIds: sims.map((sim) => sim.device_id),
    keyIds: keys.map(({ key_id: id }) => id),
    revokedKeyId,
    messageIds: messageIds.map(({ body }) => JSON.parse(body).message_id),
    snapshot: JSON.stringify(simulator.snapshots.take()),
  };
}

/** Restores the start state, except for one revoked key. */
export async function resetWorld(worker: FuzzWorker, revokedKeyId: string): Promise<void> {
  await worker.askControl(rowOf('simulator.reset'));
  await worker.askControl(rowOf('accounts.revokeKey', revokedKeyId));
}
