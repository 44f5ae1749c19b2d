/**
 * Fields that fail validation, and those at the edge that must not.
 * Rules: SEND-2, SEND-5, SEND-6, SEND-7, SVC-4. Only values that every answer of `numberCheck`, `sendAtZone`,
 * `characterUnit` and `blankMessage` refuses or accepts alike are used.
 */
import type { Case } from '../case.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const sender = ['from', 'from_number'];

/** No answer of `numberCheck` takes these for E.164. */
const noNumbers = [
  '',
  'abc',
  '12025550123',
  '+',
  '+0202555012',
  '+1 202 555 0123',
  '+12345678901234567',
];

interface Wrong {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly names: readonly string[];
}

const wrongTypes: readonly Wrong[] = [
  { fields: { to: 12025550123 }, names: ['to'] },
  { fields: { to: ['+12025550123'] }, names: ['to'] },
  { fields: { from: 12025550123 }, names: sender },
  { fields: { message: 42 }, names: ['message'] },
  { fields: { message: { text: 'x' } }, names: ['message'] },
  { fields: { request_id: 7 }, names: ['request_id'] },
  { fields: { send_at: 1_900_000_000 }, names: ['send_at'] },
  { fields: { send_at: 'tomorrow' }, names: ['send_at'] },
  { fields: { send_at: '2040-13-45T00:00:00Z' }, names: ['send_at'] },
];

async function allInvalid(t: Trial, table: readonly Wrong[]): Promise<void> {
  const account = await t.account();
  await t.queued(account);
  const free = t.target.allowTo === undefined;
  const allowed = table.filter(({ fields }) => free || !('to' in fields));
  if (allowed.length === 0) t.lack('recipients outside --allow-to');
  for (const { fields, names } of allowed) {
    verify.invalid(await t.send(account, fields), ...names);
    t.count();
  }
  // What was refused has not spoilt the account.
  verify.accepted(await t.send(account));
}

/** Fewer where the account and its rate limit are shared with all other cases. */
function few<T>(t: Trial, list: readonly T[]): readonly T[] {
  return t.controlled ? list : list.slice(0, 4);
}

async function lengths(t: Trial, letter: string): Promise<void> {
  const account = await t.account();
  verify.accepted(await t.send(account, { message: letter.repeat(1600) }));
  verify.invalid(await t.send(account, { message: letter.repeat(1601) }), 'message');
  t.count();
}

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

export const validationCases: readonly Case[] = [
  {
    rule: 'SEND-2',
    name: 'required-fields',
    needs,
    cost: { sends: 5 },
    sends: 'a message without `to`, without `from`, without `message`',
    demands: '400 that names the missing field',
    run: async (t) => {
      const account = await t.account();
      await t.queued(account);
      for (const name of ['to', 'from', 'message']) {
        const { [name]: _, ...rest } = t.fields(account);
        const reply = await t.post(paths.send, account.key, rest);
        verify.invalid(reply, ...(name === 'from' ? sender : [name]));
        t.count();
      }
      verify.accepted(await t.send(account));
    },
  },
  {
    rule: 'SEND-2',
    name: 'null-is-missing',
    needs,
    cost: { sends: 5 },
    sends: 'null as `to`, as `from`, as `message`',
    demands: '400 that names the field',
    run: (t) =>
      allInvalid(t, [
        { fields: { to: null }, names: ['to'] },
        { fields: { from: null }, names: sender },
        { fields: { message: null }, names: ['message'] },
      ]),
  },
  {
    rule: 'SEND-2',
    name: 'to-is-e164',
    needs,
    cost: { sends: 9 },
    sends: 'recipients that are no E.164 numbers',
    demands: '400 that names `to`',
    run: (t) =>
      allInvalid(
        t,
        few(
          t,
          noNumbers.map((to) => ({ fields: { to }, names: ['to'] })),
        ),
      ),
  },
  {
    rule: 'SEND-2',
    name: 'from-is-e164',
    needs,
    cost: { sends: 9 },
    sends: 'senders that are no E.164 numbers',
    demands: '400 that names `from`',
    run: (t) =>
      allInvalid(
        t,
        few(
          t,
          noNumbers.map((from) => ({ fields: { from }, names: sender })),
        ),
      ),
  },
  {
    rule: 'SEND-2',
    name: 'alias-is-e164',
    needs,
    cost: { sends: 4 },
    sends: 'a `from_number` that is no E.164 number',
    demands: '400 that names it',
    run: async (t) => {
      const account = await t.account();
      const { from, ...rest } = t.fields(account);
      const good = await t.post(paths.send, account.key, { ...rest, from_number: from });
      verify.given(() => verify.accepted(good));
      for (const from_number of few(t, ['abc', '12025550123']))
        verify.invalid(await t.post(paths.send, account.key, { ...rest, from_number }), ...sender);
      t.count();
    },
  },
  {
    rule: 'SEND-2',
    name: 'numbers-of-other-lands',
    needs: ['fresh'],
    cost: { sends: 3 },
    sends: 'messages to well-formed numbers of three countries',
    demands: '202 each',
    run: async (t) => {
      const account = await t.account();
      for (const to of ['+447911123456', '+4915123456789', '+818012345678']) {
        const body = verify.accepted(await t.send(account, { to }));
        verify.equal('to', body['to'], to);
        t.count();
      }
    },
  },
  {
    rule: 'SEND-5',
    name: 'wrong-types',
    needs,
    cost: { sends: 11 },
    sends: 'values of the wrong type in every field, and dates that are none',
    demands: '400 that names the failing field',
    run: (t) => allInvalid(t, t.controlled ? wrongTypes : wrongTypes.slice(2, 6)),
  },
  {
    rule: 'SEND-5',
    name: 'body-identifies-the-field',
    needs,
    cost: { sends: 5 },
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
    rule: 'SEND-5',
    name: 'refused-is-not-queued',
    needs: ['fresh'],
    cost: { sends: 4 },
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
    rule: 'SEND-5',
    name: 'malformed-bodies',
    needs,
    cost: { sends: 10 },
    sends: 'bodies that are no JSON object',
    demands: 'a 4xx with a JSON body, never a 5xx, and the service goes on',
    run: malformedBodies,
  },
  {
    rule: 'SVC-4',
    name: 'malformed-bodies',
    needs,
    cost: { sends: 10 },
    sends: 'bodies that are no JSON object',
    demands: 'a 4xx whose own body is JSON',
    run: malformedBodies,
  },
  {
    rule: 'SEND-6',
    name: 'letters',
    needs,
    cost: { sends: 2 },
    sends: '1,600 letters, then 1,601',
    demands: '202, then 400 that names `message`',
    run: (t) => lengths(t, 'a'),
  },
  {
    rule: 'SEND-6',
    name: 'characters-not-bytes',
    needs,
    cost: { sends: 4 },
    sends: '1,600 characters of two and of three bytes, then 1,601',
    demands: '202, then 400 that names `message`',
    run: async (t) => {
      await lengths(t, 'é');
      await lengths(t, '短');
    },
  },
  {
    rule: 'SEND-6',
    name: 'far-too-long',
    needs,
    cost: { sends: 3 },
    sends: '161 letters, then 5,000',
    demands: '202: more than one segment is allowed; then 400',
    run: async (t) => {
      const account = await t.account();
      verify.accepted(await t.send(account, { message: 'a'.repeat(161) }));
      verify.invalid(await t.send(account, { message: 'a'.repeat(5000) }), 'message');
      verify.accepted(await t.send(account, { message: 'a' }));
      t.count();
    },
  },
];
