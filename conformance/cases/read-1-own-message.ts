/** Reading a message of the account. Rule: READ-1. */
import { about, type Case } from '../case.ts';
import { byLives, lackRoom } from '../judge-lives.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';

const day = 86_400_000;
const needs = ['sender'] as const;

export const read1OwnMessageCases: readonly Case[] = [
  {
    ...about('READ-1/held-message', ['sender'], { sends: 1 }),
    sends: 'a read of a message that is held for an hour',
    demands: '200 with its Message body',
    run: async (t) => {
      const account = await t.account();
      const send_at = new Date((await t.now()) + 3_600_000).toISOString();
      const { messageId } = await t.queued(account, { send_at });
      const read = verify.message(await t.read(account, messageId), 200);
      verify.equal('message_id', read['message_id'], messageId);
      t.count();
    },
  },
  {
    ...about('READ-1/a-month-later', ['fresh', 'clock'], { sends: 1 }),
    alone: true,
    sends: 'reads of a message one, two and thirty-one days after it was sent',
    demands: '200 with the Message body',
    run: async (t) => {
      const account = await t.account();
      const sentAt = await t.now();
      const { messageId } = await t.queued(account);
      const kept = t.assumption('messageRetention');
      for (const days of [1, 2, 31]) {
        if (typeof kept === 'number' && days > kept) break;
        await t.control.advanceTo(sentAt + days * day);
        const read = verify.message(await t.read(account, messageId), 200);
        verify.equal('message_id', read['message_id'], messageId);
      }
      t.count();
    },
  },
  {
    ...about('READ-1/own-message', needs, { sends: 2 }),
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
    ...about('READ-1/current-status', ['fresh', 'clock'], { sends: 1 }),
    alone: true,
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
    live: byLives((t, lives) => {
      // The shortest permitted `messageRetention` is a day.
      for (const { lost } of lives) if (lost !== undefined) verify.message(lost, 200);
      // A device picks up within about 20 s (SVC-3), so a read must show another status by then.
      const isStale = lives.every(({ sightings }) => sightings.length === 1);
      if (isStale && lives.some((life) => life.isPassedOver)) lackRoom(t);
      verify.that(!isStale, 'another status within 30 s', 'queued all the time');
      t.count();
    }),
  },
  {
    ...about('READ-1/any-key-of-the-account', ['fresh'], { sends: 1 }),
    sends: 'a read with the second key of the account',
    demands: "200: the message is the account's",
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      const { key } = await t.secondKey(account);
      verify.message(await t.get(paths.read(messageId), key), 200);
      t.count();
    },
    live: { needs: ['sender', 'other-key'], cost: { sends: 1 } },
  },
];
