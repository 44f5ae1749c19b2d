/** Limits are per endpoint. Rule: LIMIT-7. */
import { about, type Case } from '../case.ts';
import { flood } from '../flood.ts';
import { floodOf } from '../floods.ts';
import { byFlood, leavesTheOthers, limitIsExact } from '../judge-flood.ts';
import { caseName, emptied, howMany, type Limited, limited, passed } from '../limited.ts';
import { recorded } from '../recording.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';

/** Empties one endpoint's bucket and checks that all other endpoints still answer. */
function leavesTheOtherEndpoints(spent: Limited): Case {
  const others = limited.filter((one) => one !== spent);
  return {
    ...about(`LIMIT-7/${caseName(spent)}-leaves-the-others`, ['fresh'], {
      sends: (spent.isSend ? spent.limit + 1 : 0) + 3,
      throttled: 1,
    }),
    sends: `${spent.limit + 1} requests to ${spent.name}, then some to every other endpoint`,
    demands: 'a 429 at this endpoint, successes at the others',
    run: async (t) => {
      const account = await t.account();
      await emptied(spent.limit, () => spent.call(t, account));
      for (const one of others)
        for (let i = 0; i < (one.isSend ? 1 : 3); i += 1) {
          const reply = await one.call(t, account);
          verify.that(passed(reply), `a success at ${one.name}`, reply);
        }
      verify.status(await t.get(paths.stats, account.key), 200);
      t.count();
    },
    live: byFlood(spent.name, leavesTheOthers),
  };
}

/**
 * Each flood empties its own bucket, which must be full after the floods of the other endpoints.
 */
const everyFlood = [floodOf.send, floodOf.dashboard_send, floodOf.external_send, floodOf.received];

const wholeness: Case = {
  ...about('LIMIT-7/the-others-stay-whole', ['fresh'], { sends: 310, throttled: 1 }),
  sends:
    '30 requests to each of three endpoints, then 121 to the send endpoint; 121 by a fresh account',
  demands: 'as many sends pass for both: requests to other endpoints do not count',
  run: async (t) => {
    const account = await t.account();
    const fresh = await t.account();
    for (const one of limited.slice(1, 4)) {
      const replies = await flood(30, () => one.call(t, account));
      verify.equal(`requests to ${one.name} that passed`, howMany(replies), 30);
    }
    const whole = howMany(await flood(121, () => t.send(fresh)));
    verify.given(() => verify.that(whole > 0 && whole < 121, 'successes and a 429', String(whole)));
    verify.equal('sends', howMany(await flood(121, () => t.send(account))), whole);
    t.count();
  },
  live: {
    needs: ['sender'],
    judges: everyFlood,
    run: async (t) => {
      for (const one of everyFlood) limitIsExact(t, await recorded(t, one));
    },
  },
};

const readsAndStatistics: Case = {
  ...about('LIMIT-7/reads-and-statistics-spend-nothing', ['fresh'], { sends: 121, throttled: 1 }),
  sends: 'a message, 40 reads of it, 40 requests for statistics, then 120 sends',
  demands: '120 of the 121 sends pass',
  run: async (t) => {
    const account = await t.account();
    const { messageId } = await t.queued(account);
    for (const reply of await flood(40, () => t.read(account, messageId)))
      verify.given(() => verify.status(reply, 200));
    for (const reply of await flood(40, () => t.get(paths.stats, account.key)))
      verify.given(() => verify.status(reply, 200));
    const replies = await flood(120, () => t.send(account));
    verify.equal('sends that passed', 1 + howMany(replies), 120);
    t.count();
  },
  live: byFlood('send', limitIsExact),
};

export const limit7PerEndpointCases: readonly Case[] = [
  ...limited.map(leavesTheOtherEndpoints),
  wholeness,
  readsAndStatistics,
];
