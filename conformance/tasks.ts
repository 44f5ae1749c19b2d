/**
 * The tasks of a device. Rule: STATE-2. They show which messages the service has queued, if devices
 * get tasks over HTTP.
 */
import { isAccepted, isSend } from './judges/exchange.ts';
import { latestPickupMs } from './judges/status.ts';
import { paths, type Subject, type Trial } from './trial.ts';
import * as verify from './verify.ts';

/** Several, because the real device may poll between our send and our request for tasks. */
const attempts = 4;

export interface HandedOut {
  readonly account: Subject;
  readonly messageId: string;
}

/** Reads a message that was handed out until its device has reported it, or should have. */
export async function untilReported(t: Trial, { account, messageId }: HandedOut): Promise<boolean> {
  const end = (await t.now()) + latestPickupMs(t.trace()) + 1_000;
  for (;;) {
    const { json } = await t.read(account, messageId);
    if (verify.isObject(json) && json['status'] !== 'queued') return true;
    if ((await t.now()) > end) return false;
    await t.advance(1_000);
  }
}

/**
 * Sends a message until our own request for tasks returns it, and reads it then. `send` sends one
 * with this text, and whatever must not hand it out.
 */
export function untilHandedOut(t: Trial, send: Send): Promise<HandedOut> {
  // One case at a time: a poll hands out the messages of all.
  return t.inTurn('tasks', () => handedOut(t, send));
}

type Send = (account: Subject, text: string) => Promise<unknown>;

async function handedOut(t: Trial, send: Send): Promise<HandedOut> {
  const account = await t.account(t.controlled ? { sims: 2, sim: { polling: 'external' } } : {});
  const path = paths.tasks(account.sims[0]?.deviceId ?? '');
  for (let i = 0; i < attempts; i += 1) {
    const text = `conformance ${t.requestId()}`;
    await send(account, text);
    const tasks = await t.get(path, account.key);
    const isHandedOut = tasks.text.includes(text);
    const accepted = t.exchanges.findLast((one) => isSend(one) && isAccepted(one));
    const id = verify.isObject(accepted?.reply.json) ? accepted.reply.json['message_id'] : '';
    const messageId = verify.textOf(id);
    const read = await t.read(account, messageId);
    if (isHandedOut) return { account, messageId };
    const isTaken = t.target.log.some(
      ({ endpoint, reply }) => endpoint === 'tasks' && reply.text.includes(text),
    );
    if (!isTaken && verify.isObject(read.json) && read.json['status'] === 'queued') break;
  }
  t.lack('a device of --from that gets its tasks over HTTP');
}
