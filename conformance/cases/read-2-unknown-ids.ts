/** Ids that the account has no message for. Rule: READ-2. */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';

/** Ids that no message has, in the shapes that clients get wrong. */
export const unknownIds = [
  '00000000-0000-4000-8000-000000000000',
  'f47ac10b-58cc-4372-a567-0e02b2c3d479',
];

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

export const read2UnknownIdsCases: readonly Case[] = [
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
];
