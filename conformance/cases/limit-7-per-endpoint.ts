/** Limits are per endpoint. Rule: LIMIT-7. */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { floodOf } from '../floods.ts';
import { leavesTheOthers, limitIsExact } from '../judge-flood.ts';
import { type Limited, limited, needsOf, passed } from '../limited.ts';
import { recorded } from '../recording.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';

function howMany(replies: readonly Reply[]): number {
  return replies.filter(passed).length;
}

/** Spending one endpoint's bucket leaves all others usable. */
function leavesTheOtherEndpoints(spent: Limited): Case {
  const others = limited.filter((one) => one !== spent);
  return {
    rule: 'LIMIT-7',
    name: `${spent.name.replace('_', '-')}-leaves-the-others`,
    needs: ['fresh'],
    cost: { sends: (spent.isSend ? spent.limit + 1 : 0) + 3, throttled: 1 },
    sends: `${spent.limit + 1} requests to ${spent.name}, then some to every other endpoint`,
    demands: 'a 429 at the one, none at the others',
    run: async (t) => {
      const account = await t.account();
      const before = await flood(spent.limit + 1, () => spent.call(t, account));
      verify.given(() => verify.equal('requests that passed', howMany(before), spent.limit));
      for (const one of others)
        for (let i = 0; i < (one.isSend ? 1 : 3); i += 1) {
          const reply = await one.call(t, account);
          verify.that(passed(reply), `a success at ${one.name}`, reply);
        }
      verify.status(await t.get(paths.stats, account.key), 200);
      t.count();
    },
    live: {
      needs: needsOf(spent),
      judges: [floodOf[spent.name]],
      run: async (t) => leavesTheOthers(t, await recorded(t, floodOf[spent.name])),
    },
  };
}

/** Each empties its own bucket and finds it whole after the floods before it. */
const everyFlood = [floodOf.send, floodOf.dashboard_send, floodOf.external_send, floodOf.received];

const wholeness: Case = {
  rule: 'LIMIT-7',
  name: 'the-others-stay-whole',
  needs: ['fresh'],
  cost: { sends: 310, throttled: 1 },
  sends:
    '30 requests to each of three endpoints, then 121 to the send endpoint; 121 by a fresh account',
  demands: 'as many sends pass for both: what was spent elsewhere is not counted',
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
  rule: 'LIMIT-7',
  name: 'reads-and-statistics-spend-nothing',
  needs: ['fresh'],
  cost: { sends: 121, throttled: 1 },
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
  live: {
    needs: ['sender'],
    judges: [floodOf.send],
    run: async (t) => limitIsExact(t, await recorded(t, floodOf.send)),
  },
};

export const limit7PerEndpointCases: readonly Case[] = [
  ...limited.map(leavesTheOtherEndpoints),
  wholeness,
  readsAndStatistics,
];
