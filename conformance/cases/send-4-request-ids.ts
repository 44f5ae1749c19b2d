/** Which values of `request_id` count as the same. Rule: SEND-4. */
import { about, type Case } from '../case.ts';
import { flood } from '../flood.ts';
import { floodOf } from '../floods.ts';
import { recorded } from '../recording.ts';
import * as verify from '../verify.ts';
import { firstOf, replayed } from './send-4-replay.ts';

const needs = ['sender'] as const;
const fresh = ['fresh'] as const;

export const send4RequestIdsCases: readonly Case[] = [
  {
    ...about('SEND-4/other-keys-are-other-messages', needs, { sends: 4 }),
    sends: 'two request_ids, alternating',
    demands: 'each replays its own message',
    run: async (t) => {
      const account = await t.account();
      const [a, firstA] = await firstOf(t, account);
      const [b, firstB] = await firstOf(t, account);
      verify.that(!firstA.bytes.equals(firstB.bytes), 'two messages', firstB);
      replayed(await t.send(account, a), firstA);
      replayed(await t.send(account, b), firstB);
      t.count();
    },
  },
  {
    ...about('SEND-4/accounts-do-not-share', fresh, { sends: 4 }),
    sends: 'one request_id from two accounts',
    demands: '202 for both, two messages; each replays its own',
    run: async (t) => {
      const account = await t.account();
      const other = await t.account();
      const [fields, first] = await firstOf(t, account);
      const second = await t.send(other, fields);
      const body = verify.accepted(second);
      verify.equal('from_number', body['from_number'], other.from);
      verify.that(!second.bytes.equals(first.bytes), 'another message', second);
      replayed(await t.send(account, fields), first);
      replayed(await t.send(other, fields), second);
      t.count();
    },
    live: {
      needs: ['sender', 'second-account'],
      cost: { sends: 2 },
      run: async (t) => {
        const account = await t.account();
        const other = await t.otherAccount();
        const [fields, first] = await firstOf(t, account);
        // Uses a number of the second account if it has one. Otherwise the refusal of the number
        // distinguishes the accounts.
        const from = other.from === '' ? account.from : other.from;
        const second = await t.send(other, { ...fields, from });
        verify.that(second.status !== 200, 'no replay to another account', second);
        verify.that(!second.bytes.equals(first.bytes), 'another message', second);
        if (other.from !== '') verify.accepted(second);
        t.count();
      },
    },
  },
  {
    ...about('SEND-4/many-later-messages', fresh, { sends: 111 }),
    sends: 'a replay after 100 later messages with request_ids of their own',
    demands: '200 and the original body',
    run: async (t) => {
      const account = await t.account();
      const longest = t.assumption('requestIdMaxLength');
      if (typeof longest === 'number' && longest < 6)
        t.lack('a target that takes request_ids of 6 characters');
      const [fields, first] = await firstOf(t, account);
      const later = await flood(100, () => t.send(account, { request_id: t.requestId() }));
      verify.given(() => {
        for (const reply of later) verify.accepted(reply);
      });
      replayed(await t.send(account, fields), first);
      t.count();
    },
    live: {
      needs: ['sender'],
      cost: { sends: 1 },
      judges: [floodOf.send],
      run: async (t) => {
        const { first, replies } = await recorded(t, floodOf.send);
        verify.given(() => verify.accepted(first.reply));
        verify.given(() => verify.that(replies.length > 100, '100 later messages', 'fewer'));
        replayed(await t.send(await t.account(), first.fields), first.reply);
        t.count();
      },
    },
  },
  {
    ...about('SEND-4/ids-of-any-script', ['sender'], { sends: 2 }),
    sends: 'a request_id with letters of other scripts and an emoji, twice',
    demands: '200 and the original body',
    run: async (t) => {
      const account = await t.account();
      const fields = { request_id: `${t.controlled ? '' : t.requestId()}Жé短😀` };
      const stated = t.assumption('requestIdMaxLength');
      if (typeof stated === 'number' && stated < 4)
        t.lack('a target that takes request_ids of 4 characters (requestIdMaxLength)');
      const { reply: first } = await t.queued(account, fields);
      replayed(await t.send(account, fields), first);
      t.count();
    },
  },
];
