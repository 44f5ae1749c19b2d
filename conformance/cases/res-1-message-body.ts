/**
 * The fields of a Message body, wherever it is returned: in the 202, a read, a replay.
 * Rules: RES-1, RES-2, RES-5, RES-6.
 */
import { about, type Case } from '../case.ts';
import type { RuleId } from '../rules.ts';
import {
  idsAndNumbers,
  knownStatus,
  rulesOfBodies,
  sevenFields,
  sevenNames,
  states,
} from '../seen-bodies.ts';
import type { Fields, Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';

interface Facts {
  readonly t: Trial;
  readonly account: Subject;
  /** The target's time before the send. */
  readonly now: number;
}

/** Checks a Message body in the 202, a read and a replay. */
export async function everywhere(
  t: Trial,
  check: (where: string, body: Record<string, unknown>, facts: Facts) => void,
): Promise<void> {
  const account = await t.account();
  const facts = { t, account, now: await t.now() };
  const request_id = t.requestId();
  const { body, messageId } = await t.queued(account, { request_id });
  check('the 202', body, facts);
  const read = await t.read(account, messageId);
  if (read.status === 200) check('the read', verify.object(read), facts);
  const replay = await t.send(account, { request_id });
  if (replay.status === 200) check('the replay', verify.object(replay), facts);
  t.count();
}

/** A case that checks one property of every Message body that a send returns, at once and later. */
export function everyBody(
  id: `${RuleId}/${string}`,
  demands: string,
  check: Parameters<typeof everywhere>[1],
): Case {
  return {
    ...about(id, ['sender'], { sends: 2 }),
    sends: 'a send, a read of it, a replay of it',
    demands,
    run: (t) => everywhere(t, check),
  };
}

/** Checks a field in the 202 and in a read directly after it. */
export async function inBoth(
  t: Trial,
  account: Subject,
  fields: Fields,
  expected: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { body, messageId } = await t.queued(account, fields);
  const read = verify.message(await t.read(account, messageId), 200);
  for (const [name, value] of Object.entries(expected)) {
    verify.equal(`${name} of the 202`, body[name], value);
    verify.equal(`${name} of the read`, read[name], value);
  }
}

/** Judges what the whole run received, so it sends nothing itself. */
const everyBodyOfTheRun: readonly Case[] = rulesOfBodies.map((rule) => ({
  ...about(`${rule}/every-body-of-the-run`, ['sender']),
  isLast: true,
  sends: 'nothing more: judges every reply to a send and to a read of the run',
  demands: `${rule} holds for each Message body`,
  run: async (t) => {
    const { seen } = t.target;
    seen.judge(rule);
    if (seen.count === 0) t.lack('other cases that send or read a message');
    t.count(seen.count);
  },
}));

export const res1MessageBodyCases: readonly Case[] = [
  ...everyBodyOfTheRun,
  everyBody('RES-1/seven-fields', 'exactly the seven fields, each time', sevenNames),
  everyBody('RES-1/seven-strings', 'every field is a string', (where, body) => {
    for (const name of sevenFields.split(', '))
      verify.equal(`type of ${name} in ${where}`, typeof body[name], 'string');
  }),
  everyBody(
    'RES-2/uuids-and-numbers',
    'message_id and device_id are UUIDs; from_number and to are E.164 and those that were sent',
    (where, body, { account, t }) => {
      idsAndNumbers(where, body);
      verify.equal(`from_number of ${where}`, body['from_number'], account.from);
      verify.equal(`to of ${where}`, body['to'], t.recipient);
    },
  ),
  {
    ...about('RES-2/numbers-of-this-message', ['fresh'], { sends: 2 }),
    sends:
      'a message from each of two SIMs, without a control port from another account, and a read of each',
    demands: 'from_number is the number that was named, to is the recipient',
    run: async (t) => {
      const account = await t.account({ sims: 2 });
      for (const { number } of account.sims)
        await inBoth(t, account, { from: number }, { from_number: number, to: t.recipient });
      t.count();
    },
    live: {
      needs: ['sender', 'second-sender'],
      cost: { sends: 1 },
      run: async (t) => {
        const other = await t.otherAccount();
        await inBoth(t, other, {}, { from_number: other.from, to: t.recipient });
        t.count();
      },
    },
  },
  everyBody('RES-5/status-is-a-state', `status is one of ${states.join(', ')}`, knownStatus),
  {
    ...about('RES-6/device-is-the-sim', ['sender'], { sends: 2 }),
    sends: 'a message from each SIM of an account',
    demands: 'device_id is that of the SIM behind `from`',
    run: async (t) => {
      const account = await t.account({ sims: t.controlled ? 2 : 1 });
      for (const sim of account.sims) {
        const { body, messageId } = await t.queued(account, { from: sim.number });
        verify.sameUuid('device_id of the 202', body['device_id'], sim.deviceId);
        const read = verify.message(await t.read(account, messageId), 200);
        verify.sameUuid('device_id of the read', read['device_id'], sim.deviceId);
        t.count();
      }
    },
    live: { needs: ['sender', 'device'], cost: { sends: 1 } },
  },
  {
    ...about('RES-6/another-accounts-sim', ['sender', 'second-sender'], { sends: 2 }),
    sends: 'a message from a number of each of two accounts',
    demands: 'two device_ids: a SIM belongs to one account',
    run: async (t) => {
      const [own, other] = [await t.account(), await t.otherAccount()];
      if (own.from === other.from) t.lack('a number of each account (--from, --second-from)');
      const first = await t.queued(own);
      const second = await t.queued(other);
      const id = ({ body }: typeof first) => String(body['device_id']).toLowerCase();
      verify.that(
        id(first) !== id(second),
        `another device_id for ${other.from} than for ${own.from}`,
        id(second),
      );
      t.count();
    },
  },
];
