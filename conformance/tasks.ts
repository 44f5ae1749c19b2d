/**
 * The tasks of a device, without a control port. Rule: STATE-2. They show which messages the
 * service has queued, if devices get tasks over HTTP.
 */
import type { Reply } from './client.ts';
import { paths, type Subject, type Trial } from './trial.ts';
import * as verify from './verify.ts';

/** Several, because the real device may poll between our send and our request for tasks. */
const attempts = 4;

export function tasksOf(t: Trial, { sims, key }: Subject): Promise<Reply> {
  return t.get(paths.tasks(sims[0]?.deviceId ?? ''), key);
}

/**
 * Sends messages until our own request for tasks returns one. `attempt` returns the id of a message
 * that was not handed out.
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
  t.lack('a device of --from that gets its tasks over HTTP');
}
