/** Which messages are accepted, and with which status. Rules: SEND-1, SEND-3, STATE-1, SVC-2. */
import { about, type Case } from '../case.ts';
import { sevenFields } from '../seen-bodies.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';

const base = { needs: ['sender'], cost: { sends: 2 } } as const;

export const send3AcceptedCases: readonly Case[] = [
  {
    ...base,
    rule: 'SEND-3',
    name: 'new-message-is-202',
    cost: { sends: 1 },
    sends: 'a valid new message',
    demands: '202 with the Message body, status queued',
    run: async (t) => {
      const account = await t.account();
      const body = verify.accepted(await t.send(account));
      verify.equal('status', body['status'], 'queued');
      verify.equal('field names', Object.keys(body).sort().join(', '), sevenFields);
      t.count();
    },
  },
  {
    ...base,
    rule: 'SEND-3',
    name: 'two-sends-are-two-messages',
    sends: 'the same message twice, without a request_id',
    demands: '202 both times, with different message_ids',
    run: async (t) => {
      const account = await t.account();
      const first = verify.accepted(await t.send(account));
      const second = verify.accepted(await t.send(account));
      verify.that(
        first['message_id'] !== second['message_id'],
        'two different message_ids',
        String(second['message_id']),
      );
      t.count();
    },
  },
  {
    ...base,
    rule: 'STATE-1',
    name: 'created-queued',
    cost: { sends: 1 },
    sends: 'a valid message',
    demands: 'it exists, in status queued',
    run: async (t) => {
      const account = await t.account();
      const { body, messageId } = await t.queued(account);
      verify.equal('status of the 202', body['status'], 'queued');
      const read = verify.message(await t.read(account, messageId), 200);
      verify.equal('message_id of the read', read['message_id'], messageId);
      if (t.controlled) verify.equal('status of a read at the same time', read['status'], 'queued');
      t.count();
    },
  },
  {
    ...base,
    rule: 'SVC-2',
    name: 'answers-when-queued',
    cost: { sends: 1 },
    sends: 'a valid message, and a read straight after',
    demands: 'the reply says queued: nothing is sent yet',
    run: async (t) => {
      const account = await t.account();
      const { body, messageId } = await t.queued(account);
      verify.equal('status of the 202', body['status'], 'queued');
      const reply = await t.read(account, messageId);
      const read = verify.given(() => verify.message(reply, 200));
      verify.that(
        !t.controlled || read['status'] === 'queued',
        'queued, while time stands still',
        String(read['status']),
      );
      t.count();
    },
  },
  {
    ...base,
    rule: 'SEND-1',
    name: 'alias-is-equivalent',
    sends: 'one message with `from`, one with `from_number` alone',
    demands: '202 for both, from the same number and device',
    run: async (t) => {
      const account = await t.account();
      const named = verify.accepted(await t.send(account));
      const { from, ...rest } = t.fields(account);
      const aliased = verify.accepted(
        await t.post(paths.send, account.key, { ...rest, from_number: from }),
      );
      verify.equal('from_number under `from`', named['from_number'], account.from);
      verify.equal('from_number under the alias', aliased['from_number'], account.from);
      verify.equal('device_id under the alias', aliased['device_id'], named['device_id']);
      t.count();
    },
  },
  {
    ...base,
    ...about('SEND-1/alias-is-judged-alike', ['sender', 'unknown-from'], { sends: 5 }),
    sends: 'an unknown number and a malformed one, under `from` and under `from_number`',
    demands: 'the same refusals under both names',
    run: async (t) => {
      const account = await t.account();
      await t.queued(account);
      const unknown = t.target.flags.unknownFrom ?? t.control.unusedNumber();
      const { from: _, ...rest } = t.fields(account);
      for (const number of [unknown, 'no-number']) {
        const named = await t.post(paths.send, account.key, { ...rest, from: number });
        const aliased = await t.post(paths.send, account.key, { ...rest, from_number: number });
        verify.equal('status under the alias', aliased.status, named.status);
        verify.that(named.status >= 400, 'a refusal', named);
      }
      t.count();
    },
  },
  {
    ...about('SEND-3/any-text', ['sender'], { sends: 4 }),
    sends: 'texts with emoji, quotes, a line break, other scripts',
    demands: '202 each',
    run: async (t) => {
      const account = await t.account();
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
];
