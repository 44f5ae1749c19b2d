/**
 * The work of a device, without levers. Rule: STATE-2. What is handed out shows what the service
 * has queued, where a device gets its work as tasks.
 */
import type { Reply } from './client.ts';
import { paths, type Subject, type Trial } from './trial.ts';
import * as verify from './verify.ts';

/** The device may ask for its work between a message and our own question. */
const attempts = 4;

export function tasksOf(t: Trial, { sims, key }: Subject): Promise<Reply> {
  return t.get(paths.tasks(sims[0]?.deviceId ?? ''), key);
}

/**
 * Tries with one text after another until our own question is answered with the message. An attempt
 * returns the id of a message that was not handed out.
 */
export async function untilHandedOut(
  t: Trial,
  attempt: (account: Subject, text: string) => Promise<string | undefined>,
): Promise<void> {
  const account = await t.account();
  for (let i = 0; i < attempts; i += 1) {
    const missed = await attempt(account, `conformance ${t.requestId()}`);
    if (missed === undefined) return t.count();
    const body = verify.message(await t.read(account, missed), 200);
    if (body['status'] === 'queued') break;
  }
  t.lack('a device of --from that gets its work as tasks');
}
