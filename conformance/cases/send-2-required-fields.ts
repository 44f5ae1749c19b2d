/**
 * Required fields and E.164. Rule: SEND-2. Sends only values that every answer of `numberCheck` and
 * `blankMessage` treats alike.
 */
import { about, type Case } from '../case.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

export const sender = ['from', 'from_number'];

/** No answer of `numberCheck` takes these for E.164. */
const noNumbers = [
  '+1 202 555 0123',
  '12025550123',
  'abc',
  '',
  '+',
  '+0202555012',
  '+12345678901234567',
];

export interface Wrong {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly names: readonly string[];
}

export async function allInvalid(t: Trial, table: readonly Wrong[]): Promise<void> {
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
export function few<T>(t: Trial, list: readonly T[]): readonly T[] {
  return t.controlled ? list : list.slice(0, 4);
}

const needs = ['sender'] as const;

export const send2RequiredFieldsCases: readonly Case[] = [
  {
    ...about('SEND-2/required-fields', needs, { sends: 5 }),
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
    ...about('SEND-2/null-is-missing', needs, { sends: 5 }),
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
    ...about('SEND-2/to-is-e164', needs, { sends: 9 }),
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
    live: { needs, cost: { sends: 6 } },
  },
  {
    ...about('SEND-2/from-is-e164', needs, { sends: 9 }),
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
    live: { needs, cost: { sends: 6 } },
  },
  {
    ...about('SEND-2/alias-is-e164', needs, { sends: 3 }),
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
    ...about('SEND-2/numbers-of-other-lands', ['fresh'], { sends: 3 }),
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
];
