/**
 * The end of a long run: time passes until every message is final, then the product's own judges
 * look at all that is left. `invariants` checks the state, the rules' judges (those of
 * `conform --traffic`) the journals, and a replay of the journals every reply. The run itself only
 * compares the messages found with its sends, and the memory with that at the start.
 */
import { replayJournal } from '#cli/replay/replay-journal.ts';
import { rules } from '#contract/rules.ts';
import { readTraffic } from '#judging/evidence/read-traffic.ts';
import { TrafficJudge } from '#judging/recorded/judge-recorded.ts';
import type { Holdings } from '../testkit/processes/probe.ts';
import { handlesOf } from '../testkit/processes/served-process.ts';
import type { Load } from './load.ts';
import type { Service } from './service.ts';

const pastAllHolds = '6d';
/** A device polls every 20 s. One second more, so that every device polls in each step. */
const pollEvery = '21s';
/** A slow message takes three steps of three polls each; the other three polls are a margin. */
const lastPolls = 12;
const finalStatus = /^(delivered|failed)$/;
/** Recipients whose scripted outcome prevents a final status. */
const endlessRecipient = /^\+1202555016[345]$/;
/** What a reset may leave: the log of recent requests, and code compiled under load. */
const heapAllowanceBytes = 8 * 1024 * 1024;
const settleWithinMs = 60_000;

/** Advances time until every message is final; those of an external device need its polls. */
export async function finishMessages(service: Service, load: Load): Promise<void> {
  await service.ask('clock.setMode', '', { mode: 'manual' });
  await service.ask('clock.advance', '', { by: pastAllHolds });
  for (let polls = 0; polls < lastPolls; polls++) {
    for (const account of load.accounts) await load.poll(account);
    await service.ask('clock.advance', '', { by: pollEvery });
  }
}

interface Page {
  readonly messages: readonly Readonly<
    Record<'message_id' | 'message' | 'to' | 'status', string>
  >[];
  readonly next_cursor: string | null;
}

/** Every accepted message must exist once and be final, and no other; returns how many exist. */
export async function auditMessages(service: Service, load: Load): Promise<number> {
  const ids = new Set<string>();
  const texts = new Set<string>();
  for (let query: string | undefined = '?limit=1000'; query !== undefined; ) {
    const page: Page = await service.ask('messages.page', query);
    for (const { message_id: id, message: text, to, status } of page.messages) {
      if (!load.possibleTexts.has(text)) service.complain(`${text} was not accepted, but exists`);
      if (texts.has(text)) service.complain(`${text} exists twice`);
      if (!finalStatus.test(status) && !endlessRecipient.test(to))
        service.complain(`${text} ends as ${status}`);
      ids.add(id);
      texts.add(text);
    }
    const { next_cursor: cursor } = page;
    query = cursor === null ? undefined : `?limit=1000&cursor=${cursor}`;
  }
  for (const { messageId } of load.messages)
    if (!ids.has(messageId)) service.complain(`the message ${messageId} is lost`);
  const { broken } = await service.ask<{ broken: string[] }>('simulator.invariants');
  for (const finding of broken) service.complain(finding);
  return ids.size;
}

/** Resets the service, which then must not hold more than before the load. */
export async function resetAndCompareHoldings(service: Service, atStart: Holdings) {
  await service.ask('simulator.reset');
  let after = await service.holdings();
  const deadlineMs = performance.now() + settleWithinMs;
  while (handlesOf(after) !== handlesOf(atStart) && performance.now() < deadlineMs)
    after = await service.holdings();
  if (handlesOf(after) !== handlesOf(atStart))
    service.complain(`handles: ${handlesOf(after)} after, ${handlesOf(atStart)} at the start`);
  const grownBytes = after.heapBytes - atStart.heapBytes;
  if (grownBytes > heapAllowanceBytes) service.complain(`heap: grew by ${grownBytes} bytes`);
  return { atStart: atStart.heapBytes, afterReset: after.heapBytes };
}

/** `isComplete`: the journals hold all that limits count. */
export async function judgeJournals(service: Service, load: Load, isComplete: boolean) {
  let inputs = 0;
  for (const journal of service.journals) {
    const replayed = replayJournal(journal);
    inputs += replayed.inputs;
    if (replayed.differing > 0)
      service.complain(`the replay differs: ${JSON.stringify(replayed.differences[0])}`);
  }
  const ids = rules.map(({ id }) => id);
  const joined = load.accounts.map(({ keyIds }) => keyIds);
  const judge = new TrafficJudge({ isComplete, joined, rules: ids });
  const events = readTraffic(service.journals, (notice) => service.complain(notice));
  for await (const list of events) for (const event of list) judge.take(event);
  judge.end();
  const keptRules: string[] = [];
  for (const [rule, { broken, exercised }] of judge.findings) {
    if (broken !== undefined) {
      service.complain(`${rule}: expected ${broken.expected}; actual ${broken.actual}`);
    } else if (exercised > 0) keptRules.push(rule);
  }
  return { inputs, judgedExchanges: judge.exchanges, keptRules };
}
