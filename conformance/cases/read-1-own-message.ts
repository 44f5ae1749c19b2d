/**
 * Reading a message. Rules: READ-1, READ-2, READ-3, LIMIT-6, SVC-4.
 */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

/** Ids that no message has, in the shapes that clients get wrong. */
const unknownIds = ['00000000-0000-4000-8000-000000000000', 'f47ac10b-58cc-4372-a567-0e02b2c3d479'];
const noIds = ['not-an-id', '1'];

const needs = ['sender'] as const;

/** What tells one reply from another, but for what changes by the second. */
function outline(reply: Reply): string {
  const { date: _, connection: __, 'keep-alive': ___, ...headers } = reply.headers;
  // Ids of requests differ by nature.
  const kept = Object.entries(headers).filter(([name]) => !/request-id|trace/.test(name));
  return JSON.stringify([reply.status, kept.sort(), reply.text]);
}

/** The id of a request may be echoed; beside that the replies must be the same. */
function sameReply(a: Reply, idA: string, b: Reply, idB: string): void {
  const one = outline(a).replaceAll(idA, '<id>');
  const two = outline(b).replaceAll(idB, '<id>');
  verify.that(one === two, `the reply to an unknown id: ${one}`, two);
}

async function readsPass(t: Trial, times: number): Promise<void> {
  const account = await t.account();
  const { messageId } = await t.queued(account);
  const first = await t.read(account, messageId);
  verify.given(() => verify.message(first, 200));
  const replies = await flood(times, () => t.read(account, messageId));
  for (const reply of replies) verify.message(reply, 200);
  t.count();
}

export const readCases: readonly Case[] = [
  {
    rule: 'READ-1',
    name: 'own-message',
    needs,
    cost: { sends: 2 },
    sends: 'two messages, and a read of each',
    demands: '200 with the Message body of that message',
    run: async (t) => {
      const account = await t.account();
      const one = await t.queued(account);
      const two = await t.queued(account);
      for (const { body, messageId } of [one, two]) {
        const reply = await t.read(account, messageId);
        const read = verify.message(reply, 200);
        verify.declaredJson(reply);
        for (const name of Object.keys(body))
          if (name !== 'status') verify.equal(name, read[name], body[name]);
        t.count();
      }
    },
  },
  {
    rule: 'READ-1',
    name: 'current-status',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { sends: 1 },
    sends: 'reads of a message until it has been picked up',
    demands: '200 each time, and the status changes from queued',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      const interval = Number(t.assumption('pollIntervalSeconds') ?? 20) * 1000;
      let status = 'queued';
      for (let i = 0; i < 12 && status === 'queued'; i += 1) {
        await t.advance(interval / 4);
        status = String(verify.message(await t.read(account, messageId), 200)['status']);
      }
      verify.that(status !== 'queued', 'another status after three polls', status);
      t.count();
    },
  },
  {
    rule: 'READ-1',
    name: 'any-key-of-the-account',
    needs: ['fresh'],
    cost: { sends: 1 },
    sends: 'a read with the second key of the account',
    demands: "200: the message is the account's",
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      const { key } = await t.secondKey(account);
      verify.message(await t.get(paths.read(messageId), key), 200);
      t.count();
    },
  },
  {
    rule: 'READ-2',
    name: 'unknown-id',
    needs,
    cost: { sends: 1 },
    sends: 'reads of ids that no message has',
    demands: '404 with a JSON body, never a permission error',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      const own = await t.read(account, messageId);
      verify.given(() => verify.message(own, 200));
      for (const id of [...unknownIds, ...noIds]) {
        const reply = await t.read(account, id);
        verify.status(reply, 404);
        verify.declaredJson(reply);
        t.count();
      }
    },
  },
  {
    rule: 'READ-2',
    name: 'another-accounts-id',
    needs: ['sender', 'second-account'],
    cost: { sends: 1 },
    sends: "a read of another account's message, and of an unknown id",
    demands: '404 for both, and nothing tells them apart',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      const own = await t.read(account, messageId);
      verify.given(() => verify.message(own, 200));
      const other = await t.otherAccount();
      const [unknownId = ''] = unknownIds;
      const foreign = await t.read(other, messageId);
      const unknown = await t.read(other, unknownId);
      const alive = await t.get(paths.stats, other.key);
      verify.given(() => verify.that(alive.status !== 401, 'a key that is accepted', alive));
      verify.status(foreign, 404);
      verify.status(unknown, 404);
      sameReply(unknown, unknownId, foreign, messageId);
      // Still there for its owner.
      verify.message(await t.read(account, messageId), 200);
      t.count();
    },
  },
  {
    rule: 'READ-3',
    name: 'many-reads',
    needs,
    cost: { sends: 1 },
    sends: '300 reads of one message',
    demands: '200 each',
    run: (t) => readsPass(t, 300),
  },
  {
    rule: 'READ-3',
    name: 'reads-while-sends-are-throttled',
    needs: ['fresh'],
    cost: { sends: 122, throttled: 1 },
    sends: 'reads after the limit of the send endpoint was met',
    demands: '200 each',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      const replies = await flood(121, () => t.send(account));
      verify.given(() =>
        verify.that(
          replies.some((reply) => reply.status === 429),
          'a 429',
          'none in 122 sends',
        ),
      );
      for (let i = 0; i < 5; i += 1) verify.message(await t.read(account, messageId), 200);
      t.count();
    },
  },
  {
    rule: 'LIMIT-6',
    name: 'reads',
    needs,
    cost: { sends: 1 },
    sends: '150 reads of one message',
    demands: 'no 429',
    run: (t) => readsPass(t, 150),
  },
  {
    rule: 'LIMIT-6',
    name: 'reads-of-unknown-ids',
    needs: ['key'],
    cost: {},
    sends: '150 reads of unknown ids',
    demands: '404 each, no 429',
    run: async (t) => {
      const account = await t.account();
      const alive = await t.get(paths.stats, account.key);
      verify.given(() => verify.status(alive, 200));
      const replies = await flood(150, () => t.read(account, unknownIds[0] ?? ''));
      for (const reply of replies) verify.status(reply, 404);
      t.count();
    },
  },
  {
    rule: 'LIMIT-6',
    name: 'stats',
    needs: ['key'],
    cost: {},
    sends: '150 requests for the account statistics',
    demands: '200 with JSON each, no 429',
    run: async (t) => {
      const account = await t.account();
      const without = await t.get(paths.stats, undefined);
      verify.given(() => verify.status(without, 401));
      const replies = await flood(150, () => t.get(paths.stats, account.key));
      for (const reply of replies) {
        verify.status(reply, 200);
        verify.declaredJson(reply);
      }
      t.count();
    },
  },
];
