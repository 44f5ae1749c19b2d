/**
 * The fields of a Message body, wherever one is answered: the 202, a read, a replay.
 * Rules: RES-1, RES-2, RES-5, RES-6.
 */
import { about, type Case } from '../case.ts';
import type { Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';

export const sevenFields = [
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
const states = ['queued', 'sending', 'sent', 'delivered', 'failed'];

/** Checks a Message body wherever one is answered: the 202, a read, a replay. */
export async function everywhere(
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

export const res1MessageBodyCases: readonly Case[] = [
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
    ...about('RES-2/numbers-of-this-message', ['fresh']),
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
        verify.sameUuid('device_id of the 202', body['device_id'], sim.deviceId);
        const read = verify.message(await t.read(account, messageId), 200);
        verify.sameUuid('device_id of the read', read['device_id'], sim.deviceId);
        t.count();
      }
    },
    live: { needs: ['sender'], cost: { sends: 1 } },
  },
];
