/** Follows messages from deadline to deadline of a simulator, so that all times are exact. */
import * as verify from '#judging/service/expectations.ts';
import { finalStatuses } from '#judging/service/histories.ts';
import { flood } from '../floods/limited-requests.ts';
import type { AccountUnderTest, Trial } from '../run/trial.ts';
import { recipients } from '../target/target.ts';

/** Statuses, and the recipient whose messages are scripted to fail from each. */
export const failingRecipients = [
  ['queued', recipients.failsQueued],
  ['sending', recipients.failsSending],
  ['sent', recipients.failsSent],
] as const;

/** The status that a read of the message shows. */
export async function statusOf(
  t: Trial,
  account: AccountUnderTest,
  messageId: string,
): Promise<string> {
  const reply = await t.read(account, messageId);
  return String(verify.given(() => verify.message(reply, 200))['status']);
}

/** Advances to the next deadline. False if there is none. */
async function reachDeadline(t: Trial): Promise<boolean> {
  const due = await t.control.nextAt();
  if (due === undefined) return false;
  await t.advance(Math.max(1, due - t.now()));
  return true;
}

/** Gives up after this many deadlines, more than any message needs to its end. */
const mostDeadlines = 1_200;

/** A change of a message's status. */
interface Change {
  readonly at: number;
  /** The time since the previous change. */
  readonly gapMs: number;
  readonly from: string;
  readonly to: string;
}

/** Follows a message to its end, from deadline to deadline, so that each time is exact. */
export async function* changesOf(
  t: Trial,
  account: AccountUnderTest,
  messageId: string,
): AsyncGenerator<Change, undefined> {
  let from = await statusOf(t, account, messageId);
  let changedAt = t.now();
  for (let i = 0; i < mostDeadlines && !finalStatuses.includes(from); i += 1) {
    if (!(await reachDeadline(t))) break;
    const to = await statusOf(t, account, messageId);
    if (to === from) continue;
    const at = t.now();
    yield { at, gapMs: at - changedAt, from, to };
    from = to;
    changedAt = at;
  }
}

/** The status from which a message to this recipient fails; undefined if it does not fail. */
export async function failsFrom(t: Trial, account: AccountUnderTest, recipient: string) {
  const { messageId } = await t.mustSend(account, { to: recipient });
  for await (const { from, to } of changesOf(t, account, messageId))
    if (to === 'failed') return from;
  return undefined;
}

/** The statuses from which a message that is scripted to fail there does so. */
export async function failingStatuses(t: Trial): Promise<string[]> {
  const statuses: string[] = [];
  for (const [status, to] of failingRecipients)
    if ((await failsFrom(t, await t.account(), to)) === status) statuses.push(status);
  return statuses;
}

/** The time between two pickups, and the times between the changes of the second message. */
export async function pollTimes(t: Trial, account: AccountUnderTest) {
  const first = await t.mustSend(account);
  const { value: firstPickup } = await changesOf(t, account, first.messageId).next();
  const second = await t.mustSend(account);
  const changes: Change[] = [];
  for await (const change of changesOf(t, account, second.messageId)) changes.push(change);
  const [pickup, ...later] = changes;
  if (firstPickup === undefined || pickup === undefined) return undefined;
  return { intervalMs: pickup.at - firstPickup.at, gapsMs: later.map(({ gapMs }) => gapMs) };
}

/** Gives up after this many deadlines, more than pass until the next poll of a device. */
const mostDeadlinesOfPoll = 40;

/** Advances to the next poll that picks up some of these messages; returns how many it picked up. */
export async function pickedAtNextPoll(
  t: Trial,
  account: AccountUnderTest,
  ids: readonly string[],
) {
  for (let i = 0; i < mostDeadlinesOfPoll && (await reachDeadline(t)); i += 1) {
    const statuses = await flood(ids.length, (index) => statusOf(t, account, ids[index] ?? ''));
    const picked = statuses.filter((status) => status !== 'queued').length;
    if (picked > 0) return picked;
  }
  return 0;
}
