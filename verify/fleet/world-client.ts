/**
 * One of many test processes that use a fleet at once: `world-client.ts CONTROL_URL NAME COUNT`.
 * Creates worlds one after another, and checks that each behaves as in a single process, untouched
 * by the others. Leaves a copy of each that expires, and deletes it. Ends with an error otherwise.
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

async function useWorld(worldName: string): Promise<void> {
  const settings = { name: worldName, clock: 'manual' };
  const world = await caller.ask<World>(controlUrl, 'worlds.create', '', settings);
  const { world_id: id, base_url: baseUrl, control_url: ownControlUrl } = world;
  const [account] = world.accounts;
  const key = account?.api_key;
  const from = account?.sims[0]?.number;
  // The world is named by the prefix in the path, or by the key alone.
  const urls = [baseUrl, baseUrl.slice(0, -`/w/${id}`.length)] as const;
  const send = (index: number, requestId: string) => {
    const fields = { to: '+12025550123', from, message: worldName, request_id: requestId };
    const call = { method: 'POST', path: sendPaths.send, key, body: JSON.stringify(fields) };
    return caller.call(urls[index % 2] ?? baseUrl, call);
  };
  // A busy machine may have held up this process until its connections were closed.
  caller.leave();
  const sends = Array.from({ length: limit + surplus }, (_, index) => send(index, `r${index}`));
  const answers = await Promise.all(sends);
  assert.deepEqual(countsByStatus(answers), { 202: limit, 429: surplus }, worldName);
  await caller.ask(ownControlUrl, 'clock.advance', '', { by: '2m' });
  const replayed = answers.findIndex((answer) => answer?.status === 202);
  const replay = await send(replayed + 1, `r${replayed}`);
  assert.deepEqual([replay?.status, replay?.body], [200, answers[replayed]?.body], worldName);
  const { message_id: messageId } = JSON.parse(replay?.body ?? '') as { message_id: string };
  const read = await caller.call(baseUrl, {
    method: 'GET',
    path: `/api/v1/sms/${messageId}/`,
    key,
  });
  assert.match(read?.body ?? '', /"status":"delivered"/, worldName);
  const state = await caller.ask<{ messages: object }>(ownControlUrl, 'simulator.state');
  const delivered = { total: limit, queued: 0, sending: 0, sent: 0, delivered: limit, failed: 0 };
  assert.deepEqual({ ...delivered, ...state.messages }, delivered, worldName);
  await caller.ask(controlUrl, 'worlds.fork', id, { ttl: '1s' });
  await caller.ask(controlUrl, 'worlds.delete', id);
}
