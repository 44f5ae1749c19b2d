/**
 * The keys, numbers and ids in the world of a fuzzed server. They follow from the seed and are the
 * same after every reset, so a simulator in this process knows those of every fuzzed server.
 */
import { Simulator } from '#src/simulator.ts';
import { sendBy } from '../testkit/twin/twin.ts';
import { settings } from './served.ts';

export type Facts = ReturnType<typeof gatherFacts>;

const messagesPerAccount = 8;

/** Reads the facts from a simulator of this process. */
export function gatherFacts() {
  const simulator = new Simulator(settings, { journal: false });
  const { accounts, pool } = simulator.readyFile();
  const sims = [...accounts.flatMap((account) => account.sims), ...pool];
  const keyIds = simulator.accounts.allKeys().map(({ key_id: id }) => id);
  const sends = [0, 1].flatMap((account) =>
    Array.from({ length: messagesPerAccount }, () => sendBy(simulator, account, {})),
  );
  simulator.reset();
  return {
    keys: accounts.map((account) => account.api_key),
    keyIds,
    accountIds: accounts.map((account) => account.account_id),
    numbers: sims.map(({ number }) => number),
    deviceIds: sims.map((sim) => sim.device_id),
    /** The ids of the first messages accepted after a reset. */
    messageIds: sends.map(({ body }): string => JSON.parse(body).message_id),
    /** The whole state directly after a reset, as text. */
    snapshot: JSON.stringify(simulator.snapshots.take()),
  };
}
