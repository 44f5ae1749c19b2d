/** A 400 names the failing field, and malformed bodies do no harm. Rules: SEND-5, SVC-4. */
import { about, type Case } from '../case.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { allInvalid, few, sender, type Wrong } from './send-2-required-fields.ts';

/** Numbers only where their text would be as wrong (`typeCoercion`). */
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

/** Malformed bodies never name a recipient, so that nothing could leave. */
const malformed = ['{', '{"message": ', 'not json', '[]', '"text"', '42', 'null', ''];

async function malformedBodies(t: Trial): Promise<void> {
  const account = await t.account();
  await t.queued(account);
  for (const body of few(t, malformed)) {
    const reply = await t.post(paths.send, account.key, body);
    verify.that(
      reply.status >= 400 && reply.status < 500,
      `a 4xx for the body ${JSON.stringify(body)}`,
      reply,
    );
    verify.declaredJson(reply);
    t.count();
  }
  verify.accepted(await t.send(account));
}

const needs = ['sender'] as const;

export const send5InvalidFieldsCases: readonly Case[] = [
  {
    ...about('SEND-5/wrong-types', needs, { sends: 14 }),
    sends: 'values of the wrong type in every field, and dates that are none',
    demands: '400 that names the failing field',
    run: (t) => allInvalid(t, few(t, wrongTypes)),
    live: { needs, cost: { sends: 6 } },
  },
  {
    ...about('SEND-5/body-identifies-the-field', needs, { sends: 5 }),
    sends: 'one failing field at a time: `message` too long, `send_at` past, `from` malformed',
    demands: 'a JSON body that names this field and no other',
    run: async (t) => {
      const account = await t.account();
      await t.queued(account);
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
    demands: 'no message exists but the valid one',
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
  {
    ...about('SEND-5/malformed-bodies', needs, { sends: 10 }),
    sends: 'bodies that are no JSON object',
    demands: 'a 4xx with a JSON body, never a 5xx, and the service goes on',
    run: malformedBodies,
    live: { needs, cost: { sends: 6 } },
  },
  {
    ...about('SVC-4/malformed-bodies', needs, { sends: 10 }),
    sends: 'bodies that are no JSON object',
    demands: 'a 4xx whose own body is JSON',
    run: malformedBodies,
    live: { needs, cost: { sends: 6 } },
  },
];
