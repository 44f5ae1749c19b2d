/** The body of a 429. Rules: ERR-4, SVC-4. */
import { limits } from '../buckets.ts';
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { type Flood, floodOf } from '../floods.ts';
import {
  byFlood,
  detailStatesTheWait,
  ifStrangersAreThrottled,
  refusalsOf,
} from '../judge-flood.ts';
import {
  caseName,
  emptied,
  type Limited,
  limited,
  passed,
  sendsOf,
  throttledWithoutKey,
} from '../limited.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { spentInTwo } from './err-3-retry-after.ts';

const demands = 'a JSON object with a text `detail` that states the seconds of Retry-After';

function everyDetail(t: Trial, flood: Flood): void {
  for (const reply of refusalsOf(t, flood)) detailStatesTheWait(t, reply);
}

/** Several 429s of one endpoint, with different waits. */
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
    ...about(`ERR-4/detail-${caseName(one)}`, floodOf[one.name].needs, {
      ...sendsOf(one, 3 * one.limit),
      throttled: 4,
    }),
    alone: true,
    sends: `requests to ${one.name} until 429`,
    demands,
    run: async (t) => {
      for (const reply of await refusals(t, one)) detailStatesTheWait(t, reply);
    },
    live: byFlood(one.name, everyDetail),
  };
}

export const err4DetailCases: readonly Case[] = [
  ...limited.map(detail),
  {
    ...about('ERR-4/detail-without-a-key', ['fresh', 'clock'], { throttled: 2 }),
    alone: true,
    sends: '122 requests without a key',
    demands,
    run: (t) =>
      throttledWithoutKey(t, async (found) => {
        for (const reply of found) detailStatesTheWait(t, reply);
      }),
    live: byFlood('address', ifStrangersAreThrottled(everyDetail)),
  },
  {
    ...about('SVC-4/throttled-is-json', ['fresh'], { throttled: 1 }),
    sends: 'requests for received messages until 429',
    demands: 'a JSON body, declared as application/json',
    run: async (t) => {
      const { key } = await t.account();
      const replies = await emptied(limits.received, () => t.get(paths.received, key));
      verify.given(() => verify.that(replies.some(passed), 'successes', 'none'));
      for (const reply of replies) {
        if (reply.status !== 429) continue;
        verify.declaredJson(reply);
        t.count();
      }
    },
    live: byFlood('received', (t, flood) => {
      for (const reply of refusalsOf(t, flood)) {
        verify.declaredJson(reply);
        t.count();
      }
    }),
  },
];
