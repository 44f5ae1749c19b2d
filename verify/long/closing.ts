/**
 * The end of a soak: advances time until every message is final, audits everything, replays the
 * journals, and checks after a reset that the process holds no more than before the load.
 */
import { statSync } from 'node:fs';
import { replayJournal } from '#cli/replay/replay-journal.ts';
import { dayMs } from '#contract/time.ts';
import type { Holdings } from '../testkit/processes/probe.ts';
import { handlesOf } from '../testkit/processes/served-process.ts';
import { audit, type FoundMessage } from './audit.ts';
import type { Control } from './control.ts';
import { admittedIn } from './journal-record.ts';
import type { Ledger } from './ledger.ts';
import type { Service } from './service.ts';
import { longestHoldMs } from './traffic.ts';
import type { SoakAccount } from './world.ts';

export interface Closing {
  readonly acknowledged: number;
  readonly messages: Readonly<Record<string, number>>;
  readonly admitted: number;
  readonly journalBytes: number;
  /** Inputs of all journals, all replayed. */
  readonly inputs: number;
  readonly heapBytes: Readonly<Record<'atStart' | 'loaded' | 'afterReset', number>>;
  readonly handles: string;
}

/** A device polls every 20 s; a second more, so that each step holds a poll of each device. */
const pollEveryMs = 21_000;
/** A slow message takes three steps of three polls each; the other three polls are a margin. */
const lastPolls = 12;
/** What a reset may leave: the log of recent requests, and code compiled under load. */
const heapAllowanceBytes = 8 * 1024 * 1024;
const settleWithinMs = 15_000;

/** The parts of a soak that its end uses. */
interface SoakParts {
  readonly control: Control;
  readonly service: Service;
  readonly ledger: Ledger;
  readonly accounts: readonly SoakAccount[];
  /** The resources of the process before the load. */
  readonly atStart: Holdings | undefined;
  readonly poll: () => Promise<void>;
  readonly holdings: () => Promise<Holdings>;
}

export async function closeSoak(soak: SoakParts): Promise<Closing> {
  const { control, service, ledger, poll } = soak;
  await control.stopClock();
  await control.advanceTo((await control.now()) + longestHoldMs + dayMs);
  for (let polls = 0; polls < lastPolls; polls++) {
    await poll();
    await control.advanceTo((await control.now()) + pollEveryMs);
  }
  const messages = await control.messages();
  const keyOwners = await keyOwnersOf(soak);
  const holdings = await holdingsAfterReset(soak);
  await service.end('SIGTERM');
  const admitted = admittedIn(service.journals, keyOwners);
  for (const complaint of audit({ ...ledger, messages, admitted })) ledger.complain(complaint);
  return {
    acknowledged: ledger.messageIds.size,
    messages: countsOf(messages),
    admitted: admitted.length,
    journalBytes: service.journals.reduce((sum, journal) => sum + statSync(journal).size, 0),
    inputs: replayAll(service.journals, ledger),
    ...holdings,
  };
}

/** The name of the account of each key, by the key's id. */
async function keyOwnersOf({ control, accounts }: SoakParts): Promise<Map<string, string>> {
  const owners = new Map<string, string>();
  for (const { key_id: keyId, account_id: owner } of await control.keys()) {
    const name = accounts.find(({ accountId }) => accountId === owner)?.name;
    if (name !== undefined) owners.set(keyId, name);
  }
  return owners;
}

/** Resets the service, and complains if it then holds more than before the load. */
async function holdingsAfterReset({
  atStart,
  control,
  ledger,
  holdings,
}: SoakParts): Promise<Pick<Closing, 'heapBytes' | 'handles'>> {
  if (atStart === undefined) throw new Error('no measurement from the start');
  const loaded = await holdings();
  await control.ask('simulator.reset');
  let after = await holdings();
  const deadlineMs = performance.now() + settleWithinMs;
  while (handlesOf(after) !== handlesOf(atStart) && performance.now() < deadlineMs) {
    after = await holdings();
  }
  if (handlesOf(after) !== handlesOf(atStart)) {
    ledger.complain(`handles: ${handlesOf(after)} after, ${handlesOf(atStart)} at the start`);
  }
  const grownBytes = after.heapBytes - atStart.heapBytes;
  if (grownBytes > heapAllowanceBytes)
    ledger.complain(`heap: ${grownBytes} bytes more after a reset`);
  return {
    heapBytes: {
      atStart: atStart.heapBytes,
      loaded: loaded.heapBytes,
      afterReset: after.heapBytes,
    },
    handles: handlesOf(after),
  };
}

/** Replays the journals; returns the number of inputs. */
function replayAll(journals: readonly string[], ledger: Ledger): number {
  let inputs = 0;
  for (const journal of journals) {
    const replay = replayJournal(journal);
    inputs += replay.inputs;
    if (replay.differing === 0) continue;
    ledger.complain(`replay: ${replay.differing} differ: ${JSON.stringify(replay.differences[0])}`);
  }
  return inputs;
}

function countsOf(messages: readonly FoundMessage[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of messages) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
