/**
 * Collects the ids and keys of the world directly after a reset.
 */

import type { ReadyFile } from '../../src/simulator.ts';
import { WrongReply } from '../testkit/http-reply.ts';
import { rowOf } from './control-rows.ts';
import { type Facts, keys } from './facts.ts';
import { pieceOf } from './framed.ts';
import type { FuzzWorker } from './worker.ts';

const crlf = '\r\n';
const messagesEach = 8;

export async function gatherFacts(
  worker: FuzzWorker,
  { accounts, pool }: ReadyFile,
): Promise<Facts> {
  const accountIds = accounts.map((account) => account.account_id);
  const sims = [...accounts.flatMap((account) => account.sims), ...pool];
  const found: { key_id: string; name: string }[] = [];
  for (const id of accountIds) {
    const reply = await worker.askControl(rowOf('accounts.keys', id));
    found.push(...(reply as { keys: typeof found }).keys);
  }
  const revokedKeyId = found.find(({ name }) => name === 'revoked')?.key_id ?? '';
  const messageIds = await sendSome(worker);
  await resetWorld(worker, revokedKeyId);
  const snapshot = await worker.askControl(rowOf('snapshots.take'));
  return {
    accountIds,
    deviceIds: sims.map((sim) => sim.device_id),
    keyIds: found.map(({ key_id: id }) => id),
    revokedKeyId,
    messageIds,
    snapshot: JSON.stringify(snapshot),
  };
}

/** Restores the start state, except for one revoked key. */
export async function resetWorld(worker: FuzzWorker, revokedKeyId: string): Promise<void> {
  await worker.askControl(rowOf('simulator.reset'));
  await worker.askControl(rowOf('accounts.revokeKey', revokedKeyId));
}

/** Ids are drawn from the seed, so the first messages get the same ids after every reset. */
async function sendSome(worker: FuzzWorker): Promise<string[]> {
  const ids: string[] = [];
  for (const [key, from] of [
    [keys.acme, '+12025550101'],
    [keys.globex, '+12025550111'],
  ]) {
    for (let i = 0; i < messagesEach; i++) {
      const body = JSON.stringify({ to: '+12025550160', from, message: 'hello' });
      const headers = `Host: x${crlf}Authorization: Bearer ${key}${crlf}Content-Type: application/json${crlf}`;
      const piece = pieceOf({ method: 'POST', target: '/api/v1/sms/send/', body }, headers);
      const reply = await worker.ask('service', piece);
      if (reply.status !== 202) throw new WrongReply(`${reply.status} ${reply.body}`);
      ids.push(JSON.parse(reply.body).message_id);
    }
  }
  return ids;
}
