/**
 * Checks the replay window of an account: it holds every recent use and no expired one.
 * Rules: SEND-4.
 */

import { replayWindowMs } from '../sim/limits.ts';
import { messageBody } from '../sim/message.ts';
import type { Account, FirstUse } from '../sim/records.ts';
import { Message } from '../sim/records.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { Findings } from './findings.ts';

export function checkReplays(simulation: Simulation, account: Account, found: Findings): void {
  const oldestMs = simulation.clock.now() - replayWindowMs;
  const remembered = new Set<Message>();
  let count = 0;
  for (const newest of account.replays.entries()) {
    count++;
    if (newest.atMs < oldestMs) {
      found.report(
        'SEND-4',
        `request_id ${newest.requestId} of ${account.name} is kept beyond 24 h`,
      );
    }
    checkChain(simulation, account, newest, remembered, found);
  }
  found.checked.replays += count;
  if (count > account.replays.size) {
    found.report('SEND-4', `the replay window of ${account.name} holds more than its size`);
  }
  // Newest first, up to the age of the window.
  for (let at = account.messages.length - 1; at >= 0; at--) {
    const message = account.messages[at];
    if (message === undefined || message.createdAtMs < oldestMs) break;
    if (message.requestId !== '' && !remembered.has(message)) {
      found.report(
        'SEND-4',
        `message ${message.messageId} has a request_id that is missing in the window`,
      );
    }
  }
}

/** The uses of one id, newest first: each with its own message and first reply, one per scope. */
function checkChain(
  { world, clock }: Simulation,
  account: Account,
  newest: FirstUse,
  remembered: Set<Message>,
  found: Findings,
): void {
  const oldestMs = clock.now() - replayWindowMs;
  const scopes = new Set<string>();
  let youngerMs = clock.now();
  for (let use: FirstUse | undefined = newest; use !== undefined; use = use.older) {
    const { outcome, key, endpoint, atMs, requestId } = use;
    if (atMs > youngerMs || requestId !== newest.requestId || key.account !== account) {
      found.report('SEND-4', `the uses of request_id ${requestId} contradict each other`);
    }
    youngerMs = atMs;
    if (atMs < oldestMs) return;
    if (!(outcome instanceof Message)) continue;
    const scope = `${key.keyId} ${endpoint}`;
    if (scopes.has(scope)) found.report('SEND-4', `request_id ${requestId} created two messages`);
    scopes.add(scope);
    remembered.add(outcome);
    const isOwn = outcome.account === account && outcome.requestId === requestId;
    const isKnown = world.messages.get(outcome.messageId) === outcome;
    const isFirst = use.body === messageBody(outcome, 'queued') && outcome.createdAtMs === atMs;
    if (!isOwn || !isKnown || !isFirst) {
      found.report('SEND-4', `request_id ${requestId} leads to no message`);
    }
  }
}
