/**
 * The end of a soak: time runs until nothing is held or under way any more, everything is audited, the journals
 * are played again, and after a reset the process must hold what it held before the load.
 */
import { statSync } from 'node:fs';
import { replayJournal } from '../../src/cli/replay-journal.ts';
import { handlesOf } from '../testkit/served-process.ts';
import { audit, type FoundMessage } from './audit.ts';
import type { Books } from './books.ts';
import { recordOf } from './journal-record.ts';
import type { Life } from './life.ts';
import { longestHoldMs } from './traffic.ts';
import type { SoakAccount } from './world.ts';

export interface Closing {
  readonly acknowledged: number;
  readonly messages: Readonly<Record<string, number>>;
  readonly admitted: number;
  readonly journalBytes: number;
  /** Of all journals, all played again. */
  readonly inputs: number;
  readonly heapBytes: Readonly<Record<'atStart' | 'loaded' | 'afterReset', number>>;
  readonly handles: string;
}

const dayMs = 24 * 60 * 60 * 1_000;
const pollEveryMs = 21_000;
/** Pickup, and three steps that take up to three polls each. */
const lastPolls = 12;
/** What a reset may leave: the log of the last requests, and code compiled under load. */
const heapAllowanceBytes = 8 * 1024 * 1024;
const settleWithinMs = 15_000;

export async function closeBooks(
  life: Life,
  books: Books,
  accounts: readonly SoakAccount[],
  poll: () => Promise<void>,
): Promise<Closing> {
  const { levers } = life;
  await levers.hold();
  await levers.advanceTo((await levers.now()) + longestHoldMs + dayMs);
  for (let polls = 0; polls < lastPolls; polls++) {
    await poll();
    await levers.advanceTo((await levers.now()) + pollEveryMs);
  }
  const messages = await levers.messages();
  const keyOwners = new Map<string, string>();
  for (const { name, accountId } of accounts) {
    for (const keyId of await levers.keyIds(accountId)) keyOwners.set(keyId, name);
  }
  const held = await heldAfterReset(life, books);
  await life.end('SIGTERM');
  const record = recordOf(life.journals, keyOwners);
  for (const complaint of audit({ ...books, messages, ...record })) books.complain(complaint);
  return {
    acknowledged: books.messageIds.size,
    messages: countsOf(messages),
    admitted: record.admitted.length,
    journalBytes: life.journals.reduce((sum, journal) => sum + statSync(journal).size, 0),
    inputs: playAgain(life.journals, books),
    ...held,
  };
}

async function heldAfterReset(
  life: Life,
  books: Books,
): Promise<Pick<Closing, 'heapBytes' | 'handles'>> {
  const { atStart } = life;
  if (atStart === undefined) throw new Error('nothing was measured at the start');
  const loaded = await life.holdings();
  await life.levers.reset();
  let after = await life.holdings();
  const until = performance.now() + settleWithinMs;
  while (handlesOf(after) !== handlesOf(atStart) && performance.now() < until) {
    after = await life.holdings();
  }
  if (handlesOf(after) !== handlesOf(atStart)) {
    books.complain(`handles: ${handlesOf(after)} after, ${handlesOf(atStart)} at the start`);
  }
  const grownBytes = after.heapBytes - atStart.heapBytes;
  if (grownBytes > heapAllowanceBytes)
    books.complain(`heap: ${grownBytes} bytes more after a reset`);
  return {
    heapBytes: {
      atStart: atStart.heapBytes,
      loaded: loaded.heapBytes,
      afterReset: after.heapBytes,
    },
    handles: handlesOf(after),
  };
}

/** How many inputs were answered as they had been. */
function playAgain(journals: readonly string[], books: Books): number {
  let inputs = 0;
  for (const journal of journals) {
    const played = replayJournal(journal);
    inputs += played.inputs;
    if (played.differing === 0) continue;
    books.complain(`replay: ${played.differing} differ: ${JSON.stringify(played.differences[0])}`);
  }
  return inputs;
}

function countsOf(messages: readonly FoundMessage[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of messages) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
