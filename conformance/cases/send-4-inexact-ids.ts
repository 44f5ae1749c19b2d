/** Values of `request_id` that differ slightly. Rule: SEND-4. */
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import type { Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { replayed } from './send-4-replay.ts';

/** A common length at which a database column cuts values. */
const longestId = 255;

/** A `request_id` of digits only, to detect ids that are read as numbers. */
function digits(t: Trial): string {
  return t.controlled
    ? '7'
    : `${Math.floor(t.target.clock.now())}${Math.floor(Math.random() * 90) + 10}`;
}

export const send4InexactIdsCases: readonly Case[] = [
  {
    ...about('SEND-4/nearly-the-same-id', ['sender'], { sends: 10 }),
    sends:
      'request_ids that differ in a trailing space, a leading zero, an accent or its encoding, and a long one',
    demands: '202 for each; those that a service might change then replay their own message',
    run: async (t) => {
      const stated = t.assumption('requestIdMaxLength');
      const longest = typeof stated === 'number' ? Math.min(stated, longestId) : longestId;
      const id = digits(t);
      if (longest < id.length + 2)
        t.lack('a target that takes request_ids of a few characters (requestIdMaxLength)');
      const account = await t.account();
      const firsts = new Map<string, Reply>();
      const long = id.padEnd(longest, 'p');
      for (const request_id of [
        id,
        `${id} `,
        `0${id}`,
        `${id}e`,
        `${id}\u00e9`,
        `${id}e\u0301`,
        long,
      ]) {
        const reply = await t.send(account, { request_id });
        // The target has a shorter limit (requestIdMaxLength).
        if (request_id === long && reply.status === 400) continue;
        verify.accepted(reply);
        firsts.set(request_id, reply);
      }
      for (const request_id of [`${id} `, `${id}e\u0301`, long]) {
        const first = firsts.get(request_id);
        if (first !== undefined) replayed(await t.send(account, { request_id }), first);
      }
      t.count();
    },
  },
];
