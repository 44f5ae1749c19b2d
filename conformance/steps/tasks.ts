/**
 * Polls for tasks in place of a device, which pick up queued messages: sends messages until a poll
 * hands one out, and finds out what keeps a late message queued. Rule: STATE-2.
 */
import { isObject } from '#contract/request-and-reply.ts';
import { minuteMs, secondMs } from '#contract/time.ts';
import { bodyOf, isAccepted, isSend, messageIdOf, tasksIn } from '#judging/evidence/exchange.ts';
import { PreconditionMissing } from '#judging/service/expectations.ts';
import { fewestPassing, latestPickupMs } from '#judging/service/pace.ts';
import { flood } from '../floods/limited-requests.ts';
import type { AccountUnderTest, Fields, Trial } from '../run/trial.ts';

/** Several messages, because the real device may poll between our send and our request for tasks. */
const attempts = 4;

/** A message that is queued, or that our own poll has handed out. */
interface QueuedMessage {
  readonly account: AccountUnderTest;
  readonly messageId: string;
  readonly fields?: Fields;
}

/** Reads the message until it is no longer queued. False if a pickup should have come long ago. */
export async function readUntilReported(
  t: Trial,
  { account, messageId }: QueuedMessage,
): Promise<boolean> {
  const end = t.now() + latestPickupMs(t.trace()) + secondMs;
  for (;;) {
    const { json } = await t.read(account, messageId);
    if (isObject(json) && json['status'] !== 'queued') return true;
    if (t.now() > end) return false;
    await t.advance(secondMs);
  }
}

type Send = (account: AccountUnderTest, text: string) => Promise<unknown>;

/**
 * Sends messages until our own poll hands one out, and reads that one. `send` sends a message with
 * this text, and any requests that must not hand it out.
 */
export function sendUntilHandedOut(t: Trial, send: Send): Promise<QueuedMessage> {
  // One case at a time, because a poll hands out the messages of all cases.
  return t.inTurn('tasks', () => sendAndPoll(t, send));
}

async function sendAndPoll(t: Trial, send: Send): Promise<QueuedMessage> {
  const account = await t.account(t.hasControl ? { sims: 2, sim: { polling: 'external' } } : {});
  for (let i = 0; i < attempts; i += 1) {
    const text = `conformance ${t.requestId()}`;
    await send(account, text);
    const tasks = await t.poll(account);
    const isInOurTasks = tasks.text.includes(text);
    const accepted = t.exchanges.findLast((one) => isSend(one) && isAccepted(one));
    const messageId = accepted === undefined ? '' : messageIdOf(accepted);
    const read = await t.read(account, messageId);
    if (isInOurTasks) return { account, messageId };
    const isInAnyTasks = t.target.log.some(
      ({ endpoint, reply }) => endpoint === 'tasks' && reply.text.includes(text),
    );
    // The message is queued, and no poll has returned it: devices get their work in another way.
    if (!isInAnyTasks && showsQueued(read.json)) break;
  }
  if (handsOutMessages(t))
    throw new PreconditionMissing(
      'the message was not among the tasks of its device, although others were',
    );
  // Throws: the case then lacks such a device.
  t.lack('a device of --from that gets its tasks over HTTP');
}

/** True if a reply of the run with tasks holds a message that the run has sent. */
function handsOutMessages({ target: { log } }: Trial): boolean {
  const accepted = log.filter(
    (one) => isSend(one) && isAccepted(one) && 'message_id' in bodyOf(one),
  );
  return tasksIn(log).some(({ reply }) =>
    accepted.some((sent) => reply.text.includes(messageIdOf(sent))),
  );
}

/** Within this time, a device that polls every 20 s polls at least once. */
const onePollMs = 22_000;
/** The most other messages that are read to explain a late one. */
const mostOthers = 10;
/** More polls in a minute come from a flood, which one more would disturb. */
const mostPolls = 20;

/**
 * Looks for what keeps a late message queued, for judges to find: a device that gets its work only
 * from our polls, or one that picks up others first (`sendsPerPoll`). Takes one poll interval. Where
 * the message was held, no other case sends meanwhile: sends later messages itself.
 */
export async function explainLate(
  t: Trial,
  { account, messageId, fields }: QueuedMessage,
): Promise<void> {
  await pollForTasks(t);
  if (!(await isQueued(t, account, messageId))) return;
  const since = t.now();
  const accepted = acceptedSince(t, 0);
  const queued = await areQueued(t, account, accepted);
  const all = accepted.filter((id, index) => queued[index] && id !== messageId);
  const others = all.filter((_, index) => index % Math.ceil(all.length / mostOthers) === 0);
  const end = since + onePollMs;
  const isHeld = fields?.['send_at'] !== undefined;
  for (let i = 0; isHeld && i < fewestPassing; i += 1) await t.mustSend(account);
  while ((isHeld || others.length > 0) && t.now() < end) {
    await t.pause(500, 'other messages of the device');
    await areQueued(t, account, others);
    // Several later messages that are picked up first prove that the device passes this one by.
    await areQueued(t, account, acceptedSince(t, since).slice(0, mostOthers));
    if (!(await isQueued(t, account, messageId))) return;
  }
}

/** The ids of the account's messages that were sent since then, also by other cases. */
function acceptedSince({ target }: Trial, since: number): string[] {
  return target.log
    .filter(({ caller, sentAt }) => caller.account === 'own' && sentAt >= since)
    .filter((sent) => isSend(sent) && sent.reply.status === 202)
    .map(messageIdOf);
}

/** Polls for tasks as the device of `--device-id`, which may get its work in no other way. */
async function pollForTasks(t: Trial): Promise<void> {
  const account = await t.account();
  const now = t.now();
  const polls = t.target.log.filter(
    ({ endpoint, caller, answeredAt }) =>
      endpoint === 'tasks' && caller.account === 'own' && answeredAt > now - minuteMs,
  );
  const isThrottled = polls.some(({ reply }) => reply.status === 429);
  const answered = polls.filter(({ reply }) => reply.status === 200);
  if (account.sims.length === 0 || isThrottled || answered.length > mostPolls) return;
  await t.poll(account);
}

/** Which of these messages are queued, in their order. */
function areQueued(
  t: Trial,
  account: AccountUnderTest,
  ids: readonly string[],
): Promise<boolean[]> {
  return flood(ids.length, (index) => isQueued(t, account, ids[index] ?? ''));
}

async function isQueued(t: Trial, account: AccountUnderTest, messageId: string): Promise<boolean> {
  const { json } = await t.read(account, messageId);
  return showsQueued(json);
}

function showsQueued(json: unknown): boolean {
  return isObject(json) && json['status'] === 'queued';
}
