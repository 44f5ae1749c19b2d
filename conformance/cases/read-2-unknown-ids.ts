/** Ids of messages that the account does not have. Rule: READ-2. */
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';

/** Ids without a message, in forms that clients often send by mistake. */
export const unknownIds = [
  '00000000-0000-4000-8000-000000000000',
  'f47ac10b-58cc-4372-a567-0e02b2c3d479',
] as const;

const noIds = ['not-an-id', '1'];
const needs = ['sender'] as const;

/** Status, headers and body, with any echo of the requested id removed. */
function outline(reply: Reply, id: string): Map<string, string> {
  const parts = [
    ['status', String(reply.status)],
    ['the body', reply.text],
    ...Object.entries(reply.headers),
  ] as const;
  return new Map(parts.map(([name, value]) => [name, value.replaceAll(id, '<id>')]));
}

interface Asked {
  readonly id: string;
  readonly reply: Reply;
}

/** The differences between two replies. */
function differences(one: Asked, other: Asked): string[] {
  const [first, second] = [outline(one.reply, one.id), outline(other.reply, other.id)];
  const names = [...new Set([...first.keys(), ...second.keys()])];
  return names.filter((name) => first.get(name) !== second.get(name));
}

/**
 * Requires that the foreign id's reply differs from the unknown ids' no more than those differ from
 * each other: a CDN may add varying headers to each reply.
 */
function indistinguishable(unknown: readonly [Asked, Asked], foreign: Asked): void {
  const usual = new Set([...differences(...unknown), 'date', 'keep-alive', 'connection']);
  for (const name of differences(unknown[0], foreign)) {
    if (usual.has(name)) continue;
    const of = ({ reply, id }: Asked) => `${name}: ${outline(reply, id).get(name) ?? 'nothing'}`;
    verify.fail(
      `the reply to an unknown id, which has ${of(unknown[0])}`,
      of(foreign),
      foreign.reply.exchange,
    );
  }
}

export const read2UnknownIdsCases: readonly Case[] = [
  {
    ...about('READ-2/unknown-id', needs, { sends: 1 }),
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
    ...about('READ-2/another-accounts-id', ['sender', 'second-account'], { sends: 1 }),
    sends: "a read and a HEAD of another account's message, and of unknown ids",
    demands: '404 for each read, and replies that do not show which message exists',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      const own = await t.read(account, messageId);
      verify.given(() => verify.message(own, 200));
      const other = await t.otherAccount();
      const asked = async (id: string) => ({ id, reply: await t.read(other, id) });
      const foreign = await asked(messageId);
      const unknown = [await asked(unknownIds[0]), await asked(unknownIds[1])] as const;
      const alive = await t.get(paths.stats, other.key);
      verify.given(() => verify.that(alive.status !== 401, 'a key that is accepted', alive));
      for (const { reply } of [foreign, ...unknown]) verify.status(reply, 404);
      indistinguishable(unknown, foreign);
      const headers = { authorization: `Bearer ${other.key}` };
      const head = async (id: string) => ({
        id,
        reply: await t.request({ method: 'HEAD', path: paths.read(id), headers }),
      });
      indistinguishable(
        [await head(unknownIds[0]), await head(unknownIds[1])],
        await head(messageId),
      );
      // The owner can still read it.
      verify.message(await t.read(account, messageId), 200);
      t.count();
    },
  },
];
