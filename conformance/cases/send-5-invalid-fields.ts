/** A 400 names the failing field, and malformed bodies do no harm. Rules: SEND-5, SVC-4. */
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { type Recording, recorded } from '../recording.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';
import { few, fewTries, refuses, sender, type Wrong } from './send-2-required-fields.ts';

/** Includes numbers only if their text would be invalid too (`typeCoercion`). */
const wrongTypes: readonly Wrong[] = [
  { fields: { message: { text: 'x' } }, names: ['message'] },
  { fields: { message: ['x'] }, names: ['message'] },
  { fields: { request_id: { id: 7 } }, names: ['request_id'] },
  { fields: { send_at: 'tomorrow' }, names: ['send_at'] },
  { fields: { send_at: '2040-13-45T00:00:00Z' }, names: ['send_at'] },
  { fields: { from: ['+12025550123'] }, names: sender },
  { fields: { from: { number: '+12025550123' } }, names: sender },
  { fields: { to: ['+12025550123'] }, names: ['to'] },
  { fields: { to: { number: '+12025550123' } }, names: ['to'] },
  { fields: { to: 12025550123 }, names: ['to'] },
  { fields: { from: 12025550123 }, names: sender },
  { fields: { send_at: 1_900_000_000 }, names: ['send_at'] },
];

/** Malformed bodies never contain a recipient, so that no message can be sent. */
const malformed = ['{', '[]', 'null', '"text"', '42', '{"message": ', 'not json', ''];

/**
 * The replies to malformed bodies, and to a valid body afterwards. Two rules judge the same
 * replies.
 */
const malformedBodies: Recording<{ refusals: Reply[]; after: Reply }> = {
  name: 'malformed bodies',
  needs: ['sender'],
  spends: { send: fewTries + 1 },
  seconds: 1,
  waits: 0,
  record: async (t) => {
    const account = await t.account();
    const refusals: Reply[] = [];
    for (const body of few(t, malformed))
      refusals.push(await t.post(paths.send, account.key, body));
    return { refusals, after: await t.send(account) };
  },
};

function malformedCase(rule: 'SEND-5' | 'SVC-4', demands: string): Case {
  return {
    ...about(`${rule}/malformed-bodies`, ['sender'], { sends: malformed.length + 1 }),
    sends: 'bodies that are not a JSON object',
    demands,
    run: async (t) => {
      const { refusals, after } = await recorded(t, malformedBodies);
      verify.accepted(after);
      for (const reply of refusals) {
        verify.that(reply.status >= 400 && reply.status < 500, 'a 4xx', reply);
        verify.declaredJson(reply);
        t.count();
      }
    },
    live: { needs: ['sender'], judges: [malformedBodies] },
  };
}

export const send5InvalidFieldsCases: readonly Case[] = [
  refuses(
    'SEND-5/wrong-types',
    'values of the wrong type in every field, and invalid dates',
    wrongTypes,
  ),
  {
    ...about('SEND-5/body-identifies-the-field', ['sender'], { sends: 4 }),
    sends: 'one failing field at a time: `message` too long, `send_at` past, `from` malformed',
    demands: 'a JSON body that names this field and no other',
    run: async (t) => {
      const account = await t.account();
      const past = new Date((await t.now()) - 86_400_000).toISOString();
      const table: [string, Record<string, unknown>][] = [
        ['message', { message: 'x'.repeat(1601) }],
        ['send_at', { send_at: past }],
        ['from', { from: 'x' }],
      ];
      for (const [name, fields] of table) {
        const reply = await t.send(account, fields);
        verify.invalid(reply, ...(name === 'from' ? sender : [name]));
        verify.declaredJson(reply);
        const named = verify.fieldsNamed(reply);
        const others = ['to', 'message', 'request_id', 'send_at'].filter(
          (other) => other !== name && named.includes(other),
        );
        verify.equal('other fields named', others.join(', '), '');
        t.count();
      }
      verify.accepted(await t.send(account));
    },
  },
  {
    ...about('SEND-5/refused-is-not-queued', ['fresh'], { sends: 4 }),
    sends: 'invalid messages with a request_id, then the list of messages',
    demands: 'only the valid message exists',
    run: async (t) => {
      const account = await t.account();
      await t.queued(account);
      verify.invalid(await t.send(account, { message: 'x'.repeat(1601) }), 'message');
      verify.invalid(await t.send(account, { to: 'abc' }), 'to');
      const count = await t.control.messageCount(account.accountId ?? '');
      if (count === undefined) t.lack('a list of messages on the control port');
      verify.equal('messages of the account', count, 1);
      t.count();
    },
  },
  malformedCase('SEND-5', 'a 4xx with a JSON body, never a 5xx, and the service keeps running'),
  malformedCase('SVC-4', 'a 4xx whose own body is JSON'),
];
