/**
 * The tasks of a device. Rule: STATE-2. They show which messages the service has queued, if devices
 * get tasks over HTTP.
 */
import { paths, type Subject, type Trial } from './trial.ts';
import * as verify from './verify.ts';

/** Several, because the real device may poll between our send and our request for tasks. */
const attempts = 4;

/**
 * Sends a message until our own request for tasks returns it, and reads it then. `send` sends one
 * with this text, and whatever must not hand it out.
 */
export async function untilHandedOut(
  t: Trial,
  send: (account: Subject, text: string) => Promise<unknown>,
): Promise<void> {
  const account = await t.account(t.controlled ? { sims: 2, sim: { polling: 'external' } } : {});
  const path = paths.tasks(account.sims[0]?.deviceId ?? '');
  for (let i = 0; i < attempts; i += 1) {
    const text = `conformance ${t.requestId()}`;
    await send(account, text);
    const tasks = await t.get(path, account.key);
    const isHandedOut = tasks.text.includes(text);
    const accepted = t.exchanges.findLast(({ reply }) => reply.status === 202);
    const id = verify.isObject(accepted?.reply.json) ? accepted.reply.json['message_id'] : '';
    const read = await t.read(account, verify.textOf(id));
    if (isHandedOut) return;
    if (verify.isObject(read.json) && read.json['status'] === 'queued') break;
  }
  t.lack('a device of --from that gets its tasks over HTTP');
}
