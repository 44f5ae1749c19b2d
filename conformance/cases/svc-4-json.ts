/**
 * Message bodies through a message's life. Rules: READ-1, RES-3, RES-4, SVC-4.
 */
import type { Case } from '../case.ts';
import { pollIntervalMs } from '../recorded-lives.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';

const day = 86_400_000;

export const moreBodyCases: readonly Case[] = [
  {
    rule: 'SVC-4',
    name: 'successes-are-json',
    needs: ['sender', 'device'],
    cost: { sends: 4 },
    sends: 'a good request to each of the seven endpoints, and a replay',
    demands: 'JSON bodies, declared as such',
    run: async (t) => {
      const account = await t.account();
      const fields = t.fields(account, { request_id: t.requestId() });
      const { messageId } = await t.queued(account, fields);
      const deviceId = account.sims[0]?.deviceId ?? '';
      const replies = [
        await t.post(paths.send, account.key, fields),
        await t.post(paths.dashboard_send, account.key, t.fields(account)),
        await t.post(paths.external_send, account.key, t.fields(account)),
        await t.read(account, messageId),
        await t.get(paths.received, account.key),
        await t.get(paths.stats, account.key),
        await t.get(paths.tasks(deviceId), account.key),
      ];
      for (const reply of replies) {
        if (reply.status >= 300) continue;
        verify.declaredJson(reply);
        t.count();
      }
    },
  },
  {
    rule: 'SEND-3',
    name: 'any-text',
    needs: ['sender'],
    cost: { sends: 4 },
    sends: 'texts with emoji, quotes, a line break, other scripts',
    demands: '202 each',
    run: async (t) => {
      const account = await t.account();
      await t.queued(account);
      for (const message of [
        '👋 🇺🇸 👩‍👩‍👧',
        `O'Brien; "x" \\ 100% <b>&amp;`,
        'one\ntwo',
        'Жé短 مرحبا',
      ])
        verify.accepted(await t.send(account, { message }));
      t.count();
    },
  },
  {
    rule: 'READ-1',
    name: 'held-message',
    needs: ['sender'],
    cost: { sends: 1 },
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
    rule: 'READ-1',
    name: 'a-month-later',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { sends: 1 },
    sends: 'reads of a message one, two and thirty-one days after it was sent',
    demands: '200 with the Message body',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      for (const days of [1, 1, 29]) {
        await t.advance(days * day);
        const read = verify.message(await t.read(account, messageId), 200);
        verify.equal('message_id', read['message_id'], messageId);
      }
      t.count();
    },
  },
  {
    rule: 'RES-3',
    name: 'spaces-are-echoed',
    needs: ['sender'],
    cost: { sends: 1 },
    sends: 'a request_id with a space before and behind it',
    demands: 'it is echoed with both',
    run: async (t) => {
      const account = await t.account();
      const request_id = ` ${t.requestId()} `;
      const told = t.assumption('requestIdMaxLength');
      if (typeof told === 'number' && told < request_id.length)
        t.lack('a target that takes request_ids of 3 characters');
      const { body, messageId } = await t.queued(account, { request_id });
      verify.equal('request_id of the 202', body['request_id'], request_id);
      const read = verify.message(await t.read(account, messageId), 200);
      verify.equal('request_id of the read', read['request_id'], request_id);
      t.count();
    },
  },
  {
    rule: 'RES-4',
    name: 'created-at-stays-all-its-life',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { sends: 1 },
    sends: 'a message, and reads of it until it is final',
    demands: 'created_at is that of the 202, whatever the status',
    run: async (t) => {
      const account = await t.account();
      const { body, messageId } = await t.queued(account);
      for (let i = 0; i < 12; i += 1) {
        await t.advance(Math.max(pollIntervalMs(t) / 2, 5_000));
        const read = verify.message(await t.read(account, messageId), 200);
        verify.equal('created_at of a read', read['created_at'], body['created_at']);
        if (read['status'] !== 'queued') t.count();
      }
    },
  },
];
