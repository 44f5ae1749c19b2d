/**
 * Required fields and E.164. Rule: SEND-2. Sends only values that every answer of `numberCheck` and
 * `blankMessage` handles alike.
 */
import { about, type Case } from '../case.ts';
import type { RuleId } from '../rules.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

export const sender = ['from', 'from_number'];

/** Not E.164 under any answer of `numberCheck`. */
const noNumbers = ['+12345678901234567', 'abc', '', '+', '+1 202 555 0123', '+0202555012'];

/** A good number in forms that people write or dial, and that a lax check would turn into it. */
function dialled(number: string): string[] {
  const digits = number.slice(1);
  return [digits, `00${digits}`, `+0${digits}`, `${number.slice(0, 4)} ${number.slice(4)}`];
}

const keypad = ['', '', 'A', 'D', 'G', 'J', 'M', 'P', 'T', 'W'];

/** A good number as a link, as a word on a keypad, and in groups. */
function written(number: string): string[] {
  const [country, rest] = [number.slice(0, 4), number.slice(4)];
  const vanity = country + rest.replace(/[2-9]/g, (digit) => keypad[Number(digit)] ?? digit);
  return [`tel:${number}`, vanity, `${country} ${rest}`].filter((one) => one !== number);
}

/** Valid numbers that the regulators of France, Germany and Australia reserve for fiction. */
const abroad = ['+33199001234', '+4915228817386', '+61491570156'];

/**
 * Fields that fail validation; the 400 must name one of `names`. A field that is undefined is left
 * out.
 */
export interface Wrong {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly names: readonly string[];
}

/** The number of tries if all cases share an account and its limits. */
export const fewTries = 3;

export function few<T>(t: Trial, list: readonly T[], tries = fewTries): readonly T[] {
  return t.controlled ? list : list.slice(0, tries);
}

/**
 * A case that sends each of these values, expects a refusal each time, and then sends a valid
 * message.
 */
export function refuses(
  id: `${RuleId}/${string}`,
  sends: string,
  table: readonly Wrong[] | ((t: Trial) => Promise<readonly Wrong[]>),
  most = table.length,
  tries = fewTries,
): Case {
  const needs = ['sender'] as const;
  return {
    ...about(id, needs, { sends: most + 1 }),
    sends,
    demands: '400 that names the failing field; then 202 for a valid message',
    run: async (t) =>
      allInvalid(t, few(t, typeof table === 'function' ? await table(t) : table, tries)),
    live: { needs, cost: { sends: Math.min(most, tries) + 1 } },
  };
}

async function allInvalid(t: Trial, table: readonly Wrong[]): Promise<void> {
  const account = await t.account();
  const isFree = t.target.allowTo === undefined;
  const allowed = table.filter(({ fields }) => isFree || !('to' in fields));
  if (allowed.length === 0) t.lack('recipients outside --allow-to');
  for (const { fields, names } of allowed) {
    verify.invalid(await t.send(account, fields), ...names);
    t.count();
  }
  // The account still works after the refusals.
  verify.accepted(await t.send(account));
}

function wrong(name: 'to' | 'from' | 'message', value: unknown): Wrong {
  return { fields: { [name]: value }, names: name === 'from' ? sender : [name] };
}

const required = ['to', 'from', 'message'] as const;

export const send2RequiredFieldsCases: readonly Case[] = [
  refuses(
    'SEND-2/required-fields',
    'a message without `to`, without `from`, without `message`',
    required.map((name) => wrong(name, undefined)),
  ),
  refuses(
    'SEND-2/null-is-missing',
    'null as `to`, as `from`, as `message`',
    required.map((name) => wrong(name, null)),
  ),
  refuses(
    'SEND-2/to-is-e164',
    'recipients that are not E.164 numbers',
    async (t) => [...dialled(t.recipient), ...noNumbers].map((to) => wrong('to', to)),
    noNumbers.length + 4,
    5,
  ),
  refuses(
    'SEND-2/from-is-e164',
    'senders that are not E.164 numbers',
    async (t) => {
      const { from } = await t.account();
      return ['abc', ...written(from), ...noNumbers].map((one) => wrong('from', one));
    },
    noNumbers.length + 4,
    4,
  ),
  {
    ...about('SEND-2/alias-is-e164', ['sender'], { sends: 3 }),
    sends: 'a `from_number` that is not an E.164 number',
    demands: '400 that names it',
    run: async (t) => {
      const account = await t.account();
      const { from, ...rest } = t.fields(account);
      const good = await t.post(paths.send, account.key, { ...rest, from_number: from });
      verify.given(() => verify.accepted(good));
      for (const from_number of ['abc', '12025550123'])
        verify.invalid(await t.post(paths.send, account.key, { ...rest, from_number }), ...sender);
      t.count();
    },
  },
  {
    ...about('SEND-2/numbers-of-other-lands', ['fresh'], { sends: 3 }),
    sends: 'messages to well-formed numbers of three countries, which are reserved for fiction',
    demands: '202 each; without a control port, no 400 for the number if the sender is unknown too',
    run: async (t) => {
      const account = await t.account();
      for (const to of abroad) {
        const body = verify.accepted(await t.send(account, { to }));
        verify.equal('to', body['to'], to);
        t.count();
      }
    },
    // No message is sent, because the sender is refused.
    live: {
      needs: ['sender', 'unknown-from'],
      cost: { sends: 4 },
      run: async (t) => {
        const account = { ...(await t.account()), from: t.target.flags.unknownFrom ?? '' };
        const refused = await t.send(account, { to: 'abc' });
        if (refused.status === 403) t.lack('a target that validates before it looks up the sender');
        verify.given(() => verify.invalid(refused, 'to'));
        for (const to of abroad) {
          const reply = await t.send(account, { to });
          const names = reply.status === 400 ? verify.fieldsNamed(reply) : [];
          verify.that(!names.includes('to'), 'no 400 for a good recipient', reply);
          t.count();
        }
      },
    },
  },
];
