/**
 * Checks the replay window of an account: it finds every recent use and keeps no expired ones.
 * Rules: SEND-4.
 */
import { replayWindowMs } from '../../sim/limits.ts';
import type { Account, FirstUse } from '../../sim/records.ts';
import type { Simulation } from '../simulation.ts';
import type { Findings } from './findings.ts';

/** The scope in which a use finds only itself. */
const narrowest = {
  replayScope: 'api_key',
  replayAcrossEndpoints: 'separate',
  failedRequestId: 'free',
} as const;

/** Repeating the send of a recent message with a `request_id` must find that message. */
export function checkAcceptedUses({ world, clock }: Simulation, found: Findings): void {
  const oldestMs = clock.now() - replayWindowMs;
  for (const message of world.messages.values()) {
    const { requestId, createdAtMs, account, key, endpoint, messageId } = message;
    if (requestId === '' || createdAtMs < oldestMs) continue;
    found.checked.replays++;
    const use = key && account.replays.find(requestId, key, endpoint, narrowest);
    if (use === undefined) {
      const lost = `message ${messageId} has a request_id that is missing in the window`;
      found.report('SEND-4', lost);
    } else if ('messageId' in use.outcome && use.outcome.messageId !== messageId) {
      found.report('SEND-4', `request_id ${requestId} created two messages`);
    }
  }
}

/** Checks the uses that the window stores itself, such as refusals. */
export function checkKeptUses({ clock }: Simulation, account: Account, found: Findings): void {
  const oldestMs = clock.now() - replayWindowMs;
  let count = 0;
  for (const newest of account.replays.entries()) {
    count++;
    if (newest.atMs < oldestMs) {
      const { requestId } = newest;
      found.report('SEND-4', `request_id ${requestId} of ${account.name} is kept beyond 24 h`);
    }
    checkChain(account, newest, clock.now(), found);
  }
  found.checked.replays += count;
  if (count > account.replays.size) {
    found.report('SEND-4', `the replay window of ${account.name} holds more than its size`);
  }
}

/** The uses of one id, newest first. */
function checkChain(account: Account, newest: FirstUse, nowMs: number, found: Findings): void {
  let youngerMs = nowMs;
  for (let use: FirstUse | undefined = newest; use !== undefined; use = use.older) {
    const { key, atMs, requestId } = use;
    if (atMs > youngerMs || requestId !== newest.requestId || key.account !== account) {
      found.report('SEND-4', `the uses of request_id ${requestId} contradict each other`);
    }
    youngerMs = atMs;
  }
}
