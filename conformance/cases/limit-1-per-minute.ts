/**
 * How many requests pass in a minute. Rules: LIMIT-1 to LIMIT-5, LIMIT-7, AUTH-6.
 * All four answers of `limiterRefill` pass: what is counted is a bucket found full, at one instant, and what is back
 * 59 s and 60 s later, at a time of the minute where even whole-minute windows tell.
 */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const minute = 60_000;

export type Call = (t: Trial, account: Subject, key?: string) => Promise<Reply>;

export interface Limited {
  readonly name: 'send' | 'dashboard_send' | 'external_send' | 'received' | 'tasks';
  readonly rule: 'LIMIT-1' | 'LIMIT-2' | 'LIMIT-3' | 'LIMIT-4' | 'LIMIT-5';
  readonly limit: number;
  /** Requests to it are sends, which cost. */
  readonly isSend: boolean;
  readonly call: Call;
  readonly path: (account: Subject) => string;
}

function posting(path: string): Pick<Limited, 'call' | 'path' | 'isSend'> {
  return {
    isSend: true,
    path: () => path,
    call: (t, account, key = account.key) => t.post(path, key, t.fields(account)),
  };
}

function getting(path: Limited['path']): Pick<Limited, 'call' | 'path' | 'isSend'> {
  return {
    isSend: false,
    path,
    call: (t, account, key = account.key) => t.get(path(account), key),
  };
}

export const limited: readonly Limited[] = [
  { name: 'send', rule: 'LIMIT-1', limit: 120, ...posting(paths.send) },
  { name: 'dashboard_send', rule: 'LIMIT-2', limit: 120, ...posting(paths.dashboard_send) },
  { name: 'external_send', rule: 'LIMIT-3', limit: 120, ...posting(paths.external_send) },
  { name: 'received', rule: 'LIMIT-4', limit: 120, ...getting(() => paths.received) },
  {
    name: 'tasks',
    rule: 'LIMIT-5',
    limit: 60,
    ...getting(({ sims }) => paths.tasks(sims[0]?.deviceId ?? '')),
  },
];

export function passed(reply: Reply): boolean {
  return reply.status >= 200 && reply.status < 300;
}

/** Empties a full bucket with one request more than it holds, and says how many passed. */
async function spendAll(t: Trial, one: Limited, account: Subject): Promise<Reply[]> {
  const replies = await flood(one.limit + 1, () => one.call(t, account));
  for (const reply of replies)
    verify.that(passed(reply) || reply.status === 429, 'a success or 429', reply);
  return replies;
}

function howMany(replies: readonly Reply[]): number {
  return replies.filter(passed).length;
}

/** A moment at which no full minute of the clock lies within the next 59 s, and every bucket is full. */
export async function justAfterTheMinute(t: Trial): Promise<void> {
  const now = await t.now();
  await t.control.advanceTo(Math.ceil((now + 2 * minute) / minute) * minute + 500);
}

const senders = ['sender'] as const;
const keys = ['key'] as const;
const devices = ['key', 'device'] as const;

function needsOf(one: Limited) {
  if (one.isSend) return senders;
  return one.name === 'tasks' ? devices : keys;
}

function exactly(one: Limited): Case {
  return {
    rule: one.rule,
    name: `${one.limit}-pass`,
    needs: needsOf(one),
    alone: true,
    cost: { sends: one.isSend ? one.limit + 1 : 0, throttled: 1 },
    sends: `${one.limit + 1} requests within a minute`,
    demands: `${one.limit} pass, one is 429`,
    run: async (t) => {
      const account = await t.account();
      if (!t.controlled) return exactlyInRealTime(t, one, account);
      verify.equal('requests that passed', howMany(await spendAll(t, one, account)), one.limit);
      t.count();
    },
  };
}

/** Earlier cases may have spent of the same bucket, and some of it may come back meanwhile. */
async function exactlyInRealTime(t: Trial, one: Limited, account: Subject): Promise<void> {
  const { client, timeoutMs } = t.target;
  const path = one.path(account);
  if (client.lastMinute(path, account.key).since !== undefined && timeoutMs > 61_000)
    await t.advance(61_000);
  const began = Date.now();
  const spent = client.lastMinute(path, account.key);
  const replies = await spendAll(t, one, account);
  const refusal = replies.find((reply) => reply.status === 429);
  const total = howMany(replies) + spent.passed;
  if (total === 0 && refusal !== undefined)
    throw new verify.PreconditionMissing(
      'the bucket was empty at the start: another run, or another caller, had spent it',
    );
  // A refusal and a replay may or may not have spent a token (`errorsSpendToken`, `replaySpends`).
  const counts = [0, spent.replayed].flatMap((replays) =>
    [0, spent.refused].map((refusals) => total + replays + refusals),
  );
  const actual = `${total}, after ${spent.replayed} replays and ${spent.refused} refusals`;
  verify.that(refusal !== undefined, `a 429 among ${replies.length} requests`, actual);
  if (Number(refusal?.headers['retry-after'] ?? 0) <= 2) {
    const back = Math.ceil(((Date.now() - (spent.since ?? began)) / minute) * one.limit) + 1;
    const plausible = total <= one.limit + back && Math.max(...counts) >= one.limit;
    verify.that(plausible, `${one.limit} that pass in a minute`, actual);
  } else if (Math.floor(Date.now() / minute) !== Math.floor((spent.since ?? began) / minute)) {
    t.lack('all of its requests within one minute of the clock');
  } else {
    verify.that(counts.includes(one.limit), `${one.limit} that pass in a minute`, actual);
  }
  t.count();
}

function window(one: Limited): Case {
  return {
    rule: one.rule,
    name: 'a-minute',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { sends: one.isSend ? 4 * one.limit + 2 : 0, throttled: one.limit },
    sends: `${one.limit} requests at once, and as many again 59 s and 60 s later`,
    demands: `after 59 s at most ${(one.limit / 60) * 59} pass, after 60 s all of them`,
    run: async (t) => {
      const early = await t.account();
      const punctual = await t.account();
      await justAfterTheMinute(t);
      for (const account of [early, punctual]) {
        const replies = await flood(one.limit, () => one.call(t, account));
        verify.equal('requests that passed at first', howMany(replies), one.limit);
      }
      await t.advance(59_000);
      const before = howMany(await flood(one.limit, () => one.call(t, early)));
      const most = (one.limit / 60) * 59;
      verify.that(before <= most, `at most ${most} passes after 59 s`, String(before));
      await t.advance(1_000);
      const after = howMany(await spendAll(t, one, punctual));
      verify.equal('requests that passed after 60 s', after, one.limit);
      t.count();
    },
  };
}

const perAccount: readonly Case[] = [
  {
    rule: 'LIMIT-1',
    name: 'whatever-sims-and-keys',
    needs: ['fresh'],
    cost: { sends: 121, throttled: 1 },
    sends: '121 sends by one account, from two SIMs and with two keys in turn',
    demands: '120 pass, one is 429',
    run: async (t) => {
      const account = await t.account({ sims: 2 });
      const second = await t.secondKey(account);
      const replies = await flood(121, (i) =>
        t.post(
          paths.send,
          i % 2 === 0 ? account.key : second.key,
          t.fields(account, { from: account.sims[Math.floor(i / 2) % 2]?.number }),
        ),
      );
      verify.equal('requests that passed', howMany(replies), 120);
      t.count();
    },
  },
  {
    rule: 'LIMIT-1',
    name: 'one-account-leaves-the-other',
    needs: ['fresh'],
    cost: { sends: 242, throttled: 2 },
    sends: '121 sends by one account, then 121 by another, from the same address',
    demands: '120 of each pass',
    run: async (t) => {
      for (const account of [await t.account(), await t.account()]) {
        const replies = await flood(121, () => t.send(account));
        verify.equal('requests that passed', howMany(replies), 120);
      }
      t.count();
    },
  },
  {
    rule: 'LIMIT-5',
    name: 'whatever-devices',
    needs: ['fresh'],
    cost: { throttled: 1 },
    sends: '61 requests for the tasks of two devices of one account in turn',
    demands: '60 pass, one is 429: limits are keyed by user (AUTH-6)',
    run: async (t) => {
      const { key, sims } = await t.account({ sims: 2 });
      const replies = await flood(61, (i) => t.get(paths.tasks(sims[i % 2]?.deviceId ?? ''), key));
      verify.equal('requests that passed', howMany(replies), 60);
      t.count();
    },
  },
];

/** Spending one endpoint's bucket leaves all others usable. */
function leavesTheOthers(spent: Limited): Case {
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
      const before = await spendAll(t, spent, account);
      verify.given(() => verify.equal('requests that passed', howMany(before), spent.limit));
      for (const one of others)
        for (let i = 0; i < (one.isSend ? 1 : 3); i += 1) {
          const reply = await one.call(t, account);
          verify.that(passed(reply), `a success at ${one.name}`, reply);
        }
      verify.status(await t.get(paths.stats, account.key), 200);
      t.count();
    },
  };
}

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
};

export const limit1PerMinuteCases: readonly Case[] = [
  ...limited.map(exactly),
  ...limited.map(window),
  ...perAccount,
  ...limited.map(leavesTheOthers),
  wholeness,
];
