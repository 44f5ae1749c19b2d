/** The body of a 429. Rules: ERR-4, SVC-4. */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { floodOf } from '../floods.ts';
import { detailStatesTheWait, refusalsOf } from '../judge-flood.ts';
import {
  type Limited,
  lackThrottledStrangers,
  limited,
  needsOf,
  passed,
  throttledWithoutKey,
} from '../limited.ts';
import { recorded } from '../recording.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { spentInTwo } from './err-3-retry-after.ts';

const demands = 'a JSON object with a text `detail` that states the seconds of Retry-After';

/** Some 429s of one endpoint, at different waits. */
async function refusals(t: Trial, one: Limited): Promise<Reply[]> {
  const account = await t.account();
  const alive = await t.get(paths.stats, account.key);
  verify.given(() => verify.status(alive, 200));
  const found = [await spentInTwo(t, one, account, 10_400)];
  for (const pause of [0, 3_250, 7_500]) {
    await t.advance(pause);
    const reply = await one.call(t, account);
    if (reply.status === 429) found.push(reply);
  }
  return found;
}

function detail(one: Limited): Case {
  return {
    rule: 'ERR-4',
    name: `detail-${one.name.replace('_', '-')}`,
    needs: needsOf(one),
    alone: true,
    cost: { sends: one.isSend ? 3 * one.limit : 0, throttled: 4 },
    sends: `requests to ${one.name} until 429`,
    demands,
    run: async (t) => {
      for (const reply of await refusals(t, one)) detailStatesTheWait(t, reply);
    },
    live: {
      needs: needsOf(one),
      judges: [floodOf[one.name]],
      run: async (t) => {
        const flood = await recorded(t, floodOf[one.name]);
        for (const reply of refusalsOf(t, flood)) detailStatesTheWait(t, reply);
      },
    },
  };
}

export const err4DetailCases: readonly Case[] = [
  ...limited.map(detail),
  {
    rule: 'ERR-4',
    name: 'detail-without-a-key',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { throttled: 2 },
    sends: '122 requests without a key',
    demands,
    run: (t) =>
      throttledWithoutKey(t, async (found) => {
        for (const reply of found) detailStatesTheWait(t, reply);
      }),
    live: {
      needs: ['key'],
      judges: [floodOf.address],
      run: async (t) => {
        const flood = await recorded(t, floodOf.address);
        if (flood.refusals.length === 0) lackThrottledStrangers(t);
        for (const reply of refusalsOf(t, flood)) detailStatesTheWait(t, reply);
      },
    },
  },
  {
    rule: 'SVC-4',
    name: 'throttled-is-json',
    needs: ['fresh'],
    cost: { throttled: 1 },
    sends: 'requests for received messages until 429',
    demands: 'a JSON body, declared as such',
    run: async (t) => {
      const account = await t.account();
      const replies = await flood(121, () => t.get(paths.received, account.key));
      verify.given(() => verify.that(replies.some(passed), 'successes', 'none'));
      for (const reply of replies) {
        if (reply.status !== 429) continue;
        verify.declaredJson(reply);
        t.count();
      }
    },
    live: {
      needs: ['key'],
      judges: [floodOf.received],
      run: async (t) => {
        for (const reply of refusalsOf(t, await recorded(t, floodOf.received))) {
          verify.declaredJson(reply);
          t.count();
        }
      },
    },
  },
];
