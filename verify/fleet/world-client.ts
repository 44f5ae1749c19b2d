/**
 * One of many test processes that use a fleet at once: `world-client.ts CONTROL_URL NAME COUNT`.
 * Creates worlds one after another, and checks that each behaves as in a single process, untouched
 * by the others. Then forks each with a short time to live, and deletes it. Throws if a check
 * fails.
 */
import assert from 'node:assert/strict';
import type { ReadyNumbers } from '#src/operations/worlds/world-view.ts';
import { type Answer, Caller } from '../long/caller.ts';
import { sendPaths } from '../testkit/twin/request.ts';

interface World extends ReadyNumbers {
  readonly world_id: string;
  readonly base_url: string;
  readonly control_url: string;
}

const [controlUrl = '', name = '', count = '1'] = process.argv.slice(2);
const caller = new Caller();
const limit = 120;
/** Sends over the limit. */
const surplus = 5;

for (let index = 0; index < Number(count); index++) await useWorld(`${name}-${index}`);
caller.leave();

function countsByStatus(answers: readonly (Answer | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const status = answer?.status ?? 'broken';
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** Sends number `index` of a world, which its path or its key alone names, in turn. */
type Send = (index: number, requestId: string) => Promise<Answer | undefined>;

function sendsTo(world: World, worldName: string): Send {
  const { base_url: baseUrl, world_id: id, accounts } = world;
  const [account] = accounts;
  const key = account?.api_key;
  const from = account?.sims[0]?.number;
  const urls = [baseUrl, baseUrl.slice(0, -`/w/${id}`.length)] as const;
  return (index, requestId) => {
    const fields = { to: '+12025550123', from, message: worldName, request_id: requestId };
    const call = { method: 'POST', path: sendPaths.send, key, body: JSON.stringify(fields) };
    return caller.call(urls[index % 2] ?? baseUrl, call);
  };
}

async function useWorld(worldName: string): Promise<void> {
  const settings = { name: worldName, clock: 'manual' };
  const world = await caller.ask<World>(controlUrl, 'worlds.create', '', settings);
  await expectDelivery(world, worldName, await expectLimit(world, worldName));
  await caller.ask(controlUrl, 'worlds.fork', world.world_id, { ttl: '1s' });
  await caller.ask(controlUrl, 'worlds.delete', world.world_id);
}

/** Sends more than the limit at once; returns an accepted message's id, from a replay of its send. */
async function expectLimit(world: World, worldName: string): Promise<string> {
  const send = sendsTo(world, worldName);
  // Opens new connections: on a busy machine, the old ones may have been closed meanwhile.
  caller.leave();
  const sends = Array.from({ length: limit + surplus }, (_, index) => send(index, `r${index}`));
  const answers = await Promise.all(sends);
  assert.deepEqual(countsByStatus(answers), { 202: limit, 429: surplus }, worldName);
  await caller.ask(world.control_url, 'clock.advance', '', { by: '2m' });
  const accepted = answers.findIndex((answer) => answer?.status === 202);
  const replay = await send(accepted + 1, `r${accepted}`);
  assert.deepEqual([replay?.status, replay?.body], [200, answers[accepted]?.body], worldName);
  return (JSON.parse(replay?.body ?? '') as { message_id: string }).message_id;
}

/** Reads one message, and expects that it and all others were delivered, and that no more exist. */
async function expectDelivery(world: World, worldName: string, messageId: string): Promise<void> {
  const path = `/api/v1/sms/${messageId}/`;
  const key = world.accounts[0]?.api_key;
  const read = await caller.call(world.base_url, { method: 'GET', path, key });
  assert.match(read?.body ?? '', /"status":"delivered"/, worldName);
  const state = await caller.ask<{ messages: object }>(world.control_url, 'simulator.state');
  const delivered = { total: limit, queued: 0, sending: 0, sent: 0, delivered: limit, failed: 0 };
  assert.deepEqual({ ...delivered, ...state.messages }, delivered, worldName);
}
