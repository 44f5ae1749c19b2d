/**
 * Sends messages until a poll for tasks hands one out. Rule: STATE-2. If devices poll over HTTP,
 * their tasks show which messages the service has queued, and polling picks messages up.
 */
import { secondMs } from '#contract/time.ts';
import { isAccepted, isSend, messageIdOf } from '#judging/evidence/exchange.ts';
import * as verify from '#judging/service/expectations.ts';
import { latestPickupMs } from '#judging/service/pace.ts';
import type { AccountUnderTest, Trial } from '../run/trial.ts';

/** Several messages, because the real device may poll between our send and our request for tasks. */
const attempts = 4;

/** A message that our own poll has handed out. */
export interface HandedOutMessage {
  readonly account: AccountUnderTest;
  readonly messageId: string;
}

/** Reads the message until it is no longer queued. False if a pickup should have come long ago. */
export async function readUntilReported(
  t: Trial,
  { account, messageId }: HandedOutMessage,
): Promise<boolean> {
  const end = t.now() + latestPickupMs(t.trace()) + secondMs;
  for (;;) {
    const { json } = await t.read(account, messageId);
    if (verify.isObject(json) && json['status'] !== 'queued') return true;
    if (t.now() > end) return false;
    await t.advance(secondMs);
  }
}

type Send = (account: AccountUnderTest, text: string) => Promise<unknown>;

/**
 * Sends messages until our own poll hands one out, and reads that one. `send` sends a message with
 * this text, and any requests that must not hand it out.
 */
export function sendUntilHandedOut(t: Trial, send: Send): Promise<HandedOutMessage> {
  // One case at a time, because a poll hands out the messages of all cases.
  return t.inTurn('tasks', () => sendAndPoll(t, send));
}

async function sendAndPoll(t: Trial, send: Send): Promise<HandedOutMessage> {
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
    if (!isInAnyTasks && verify.isObject(read.json) && read.json['status'] === 'queued') break;
  }
  // Throws: the case then lacks such a device.
  t.lack('a device of --from that gets its tasks over HTTP');
}
