/** Ids that differ slightly from those of a message or a device. Rules: READ-2, STATE-2. */
import { about, type Case } from '../case.ts';
import { untilHandedOut } from '../tasks.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const firstBlock = 8;

/** The id with another digit at `at`; never at the digits of the UUID's version or variant. */
function changed(id: string, at: number): string {
  return `${id.slice(0, at)}${id[at] === '0' ? '1' : '0'}${id.slice(at + 1)}`;
}

/**
 * Wrong forms of the id: cut, with one digit more, with a changed digit, and as a database pattern.
 */
function nearly(id: string): string[] {
  const last = id.length - 1;
  return [
    ...[0, firstBlock + 1, last].map((at) => changed(id, at)),
    id.slice(0, firstBlock),
    id.slice(0, last),
    `${id}0`,
    `${id.slice(0, last)}_`,
  ];
}

/** True if a poll of this device returns the message. */
function handedTo(t: Trial, { key }: Subject, messageId: string) {
  return async (deviceId: string) =>
    (await t.get(paths.tasks(deviceId), key)).text.includes(messageId);
}

export const read2InexactIdsCases: readonly Case[] = [
  {
    ...about('READ-2/nearly-an-id', ['sender'], { sends: 1 }),
    sends: "reads of a message's id cut, longer, with another digit, and as a pattern",
    demands: '404 each; 200 for the id itself',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      for (const id of nearly(messageId)) {
        verify.status(await t.read(account, id), 404);
        t.count();
      }
      verify.message(await t.read(account, messageId), 200);
    },
  },
  {
    ...about('STATE-2/only-its-own-device-picks-up', ['fresh'], { sends: 1 }),
    sends: "polls for the account's other device and for ids nearly those of the message's device",
    demands: 'queued, and not handed out, until its own device polls',
    run: async (t) => {
      const account = await t.account({ sims: 2, sim: { polling: 'external' } });
      const [own = '', other = ''] = account.sims.map(({ deviceId }) => deviceId);
      const { messageId } = await t.queued(account);
      const isHandedTo = handedTo(t, account, messageId);
      for (const deviceId of [other, ...nearly(own)]) {
        verify.that(!(await isHandedTo(deviceId)), `no task for ${deviceId}`, 'the message');
        const read = verify.message(await t.read(account, messageId), 200);
        verify.equal('status', read['status'], 'queued');
      }
      const handed = await isHandedTo(own);
      verify.given(() => verify.that(handed, 'the message among the tasks', 'none'));
      t.count();
    },
    live: {
      needs: ['sender', 'device'],
      cost: { sends: 1 },
      spends: { send: 1, tasks: 4 },
      run: async (t) => {
        await untilHandedOut(t, async (account, message) => {
          const own = account.sims[0]?.deviceId ?? '';
          const { messageId } = await t.queued(account, { message });
          const isHandedTo = handedTo(t, account, messageId);
          for (const deviceId of nearly(own).slice(2, 5))
            verify.that(!(await isHandedTo(deviceId)), `no task for ${deviceId}`, 'the message');
          return (await isHandedTo(own)) ? undefined : messageId;
        });
      },
    },
  },
];
