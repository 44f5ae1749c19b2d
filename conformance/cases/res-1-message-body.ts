/**
 * Sending: what an accepted message looks like.
 * Rules: SEND-1, SEND-3, RES-1 to RES-6, SVC-2, STATE-1.
 */
import type { Case } from '../case.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const sevenFields = [
  'created_at',
  'device_id',
  'from_number',
  'message_id',
  'request_id',
  'status',
  'to',
].join(', ');
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const e164 = /^\+[1-9]\d{1,14}$/;
const utcMilliseconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const states = ['queued', 'sending', 'sent', 'delivered', 'failed'];

/** Checks a Message body wherever one is answered: the 202, a read, a replay. */
async function everywhere(
  t: Trial,
  check: (where: string, body: Record<string, unknown>, account: Subject) => void,
): Promise<void> {
  const account = await t.account();
  const request_id = t.requestId();
  const { body, messageId } = await t.queued(account, { request_id });
  check('the 202', body, account);
  const read = await t.read(account, messageId);
  if (read.status === 200) check('the read', verify.object(read), account);
  const replay = await t.send(account, { request_id });
  if (replay.status === 200) check('the replay', verify.object(replay), account);
  t.count();
}

const base = { needs: ['sender'], cost: { sends: 2 } } as const;

export const sendCases: readonly Case[] = [
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
    rule: 'SEND-1',
    name: 'alias-is-judged-alike',
    needs: ['sender', 'unknown-from'],
    cost: { sends: 5 },
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
    ...base,
    rule: 'RES-1',
    name: 'seven-fields',
    cost: { sends: 2 },
    sends: 'a send, a read of it, a replay of it',
    demands: 'exactly the seven fields, each time',
    run: (t) =>
      everywhere(t, (where, body) =>
        verify.equal(`field names of ${where}`, Object.keys(body).sort().join(', '), sevenFields),
      ),
  },
  {
    ...base,
    rule: 'RES-1',
    name: 'seven-strings',
    sends: 'a send, a read of it, a replay of it',
    demands: 'every field is a string',
    run: (t) =>
      everywhere(t, (where, body) => {
        for (const name of sevenFields.split(', '))
          verify.equal(`type of ${name} in ${where}`, typeof body[name], 'string');
      }),
  },
  {
    ...base,
    rule: 'RES-2',
    name: 'uuids-and-numbers',
    sends: 'a send, a read of it, a replay of it',
    demands:
      'message_id and device_id are UUIDs; from_number and to are E.164 and those that were sent',
    run: (t) =>
      everywhere(t, (where, body, account) => {
        for (const name of ['message_id', 'device_id'])
          verify.that(
            uuid.test(String(body[name])),
            `a UUID as ${name} of ${where}`,
            verify.show(body[name]),
          );
        for (const name of ['from_number', 'to'])
          verify.that(
            e164.test(String(body[name])),
            `an E.164 number as ${name} of ${where}`,
            verify.show(body[name]),
          );
        verify.equal(`from_number of ${where}`, body['from_number'], account.from);
        verify.equal(`to of ${where}`, body['to'], t.recipient);
      }),
  },
  {
    ...base,
    rule: 'RES-2',
    name: 'numbers-of-this-message',
    needs: ['fresh'],
    sends: 'a message from each of two SIMs, and a read of each',
    demands: 'from_number is the number that was named, to is the recipient',
    run: async (t) => {
      const account = await t.account({ sims: 2 });
      for (const { number } of account.sims) {
        const { body, messageId } = await t.queued(account, { from: number });
        const read = verify.message(await t.read(account, messageId), 200);
        for (const one of [body, read]) {
          verify.equal('from_number', one['from_number'], number);
          verify.equal('to', one['to'], t.recipient);
        }
        t.count();
      }
    },
  },
  {
    ...base,
    rule: 'RES-3',
    name: 'request-id-echoed',
    cost: { sends: 3 },
    sends: 'a send with a request_id, a read of it, a replay of it',
    demands: 'the same request_id in each body',
    run: async (t) => {
      const account = await t.account();
      const request_id = t.requestId();
      const { body, messageId } = await t.queued(account, { request_id });
      verify.equal('request_id of the 202', body['request_id'], request_id);
      const read = verify.message(await t.read(account, messageId), 200);
      verify.equal('request_id of the read', read['request_id'], request_id);
      t.count();
    },
  },
  {
    ...base,
    rule: 'RES-3',
    name: 'request-id-echoed-as-it-is',
    sends: 'request_ids with letter case, quotes, spaces within and letters of other scripts',
    demands: 'each is echoed unchanged',
    run: async (t) => {
      const account = await t.account();
      const longest = t.assumption('requestIdMaxLength');
      const room = typeof longest === 'number' ? longest : 255;
      let echoed = 0;
      for (const text of ['MiXed "quoted" a\\b', 'Ж é 短 😀']) {
        const request_id = `${t.controlled ? '' : t.requestId()}${text}`;
        if (room < 64) continue;
        const { body } = await t.queued(account, { request_id });
        verify.equal('request_id of the 202', body['request_id'], request_id);
        echoed += 1;
      }
      if (echoed === 0) t.lack('a target that takes request_ids of 64 characters');
      t.count(echoed);
    },
  },
  {
    ...base,
    rule: 'RES-3',
    name: 'empty-when-none',
    cost: { sends: 1 },
    sends: 'a send without a request_id, and a read of it',
    demands: 'request_id is the empty string',
    run: async (t) => {
      const account = await t.account();
      const { body, messageId } = await t.queued(account);
      verify.equal('request_id of the 202', body['request_id'], '');
      const read = verify.message(await t.read(account, messageId), 200);
      verify.equal('request_id of the read', read['request_id'], '');
      t.count();
    },
  },
  {
    ...base,
    rule: 'RES-4',
    name: 'created-at-utc-milliseconds',
    sends: 'a send, a read of it, a replay of it',
    demands: 'created_at with milliseconds and a trailing Z, about now',
    run: async (t) => {
      const now = await t.now();
      await everywhere(t, (where, body) => {
        const createdAt = String(body['created_at']);
        verify.that(
          utcMilliseconds.test(createdAt) && !Number.isNaN(Date.parse(createdAt)),
          `created_at of ${where} as YYYY-MM-DDTHH:MM:SS.mmmZ`,
          verify.show(body['created_at']),
        );
        // Without levers the target's clock may be off, but not by a time zone.
        const drift = Math.abs(Date.parse(createdAt) - now);
        verify.that(
          drift <= (t.controlled ? 10_000 : 15 * 60_000),
          `created_at of ${where} at about ${new Date(now).toISOString()}`,
          createdAt,
        );
      });
    },
  },
  {
    ...base,
    rule: 'RES-4',
    name: 'created-at-stays',
    sends: 'a send, and two reads of it',
    demands: 'created_at is the same in all',
    run: async (t) => {
      const account = await t.account();
      const { body, messageId } = await t.queued(account);
      for (let i = 0; i < 2; i += 1) {
        await t.advance(t.controlled ? 1_500 : 50);
        const read = verify.message(await t.read(account, messageId), 200);
        verify.equal('created_at of a read', read['created_at'], body['created_at']);
      }
      t.count();
    },
    alone: true,
  },
  {
    ...base,
    rule: 'RES-5',
    name: 'status-is-a-state',
    sends: 'a send, a read of it, a replay of it',
    demands: `status is one of ${states.join(', ')}`,
    run: (t) =>
      everywhere(t, (where, body) =>
        verify.that(
          states.includes(String(body['status'])),
          `one of ${states.join(', ')} as status of ${where}`,
          verify.show(body['status']),
        ),
      ),
  },
  {
    ...base,
    rule: 'RES-6',
    name: 'device-is-the-sim',
    sends: 'a message from each SIM of an account',
    demands: 'device_id is that of the SIM behind `from`',
    run: async (t) => {
      const account = await t.account({ sims: t.controlled ? 2 : 1 });
      if (account.sims.length === 0) t.lack('--device-id or --control-url');
      for (const sim of account.sims) {
        const { body, messageId } = await t.queued(account, { from: sim.number });
        verify.equal('device_id of the 202', body['device_id'], sim.deviceId);
        const read = verify.message(await t.read(account, messageId), 200);
        verify.equal('device_id of the read', read['device_id'], sim.deviceId);
        t.count();
      }
    },
  },
];
