/**
 * The fields of a Message body, wherever it is returned: in the 202, a read, a replay.
 * Rules: RES-1, RES-2, RES-5, RES-6.
 */
import { about, type Case } from '../case.ts';
import type { RuleId } from '../rules.ts';
import type { Fields, Subject, Trial } from '../trial.ts';
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

export const res1MessageBodyCases: readonly Case[] = [
  everyBody('RES-1/seven-fields', 'exactly the seven fields, each time', (where, body) =>
    verify.equal(`field names of ${where}`, Object.keys(body).sort().join(', '), sevenFields),
  ),
  everyBody('RES-1/seven-strings', 'every field is a string', (where, body) => {
    for (const name of sevenFields.split(', '))
      verify.equal(`type of ${name} in ${where}`, typeof body[name], 'string');
  }),
  everyBody(
    'RES-2/uuids-and-numbers',
    'message_id and device_id are UUIDs; from_number and to are E.164 and those that were sent',
    (where, body, { account, t }) => {
      const fits = (name: string, form: RegExp, what: string) =>
        verify.that(
          form.test(String(body[name])),
          `${what} as ${name} of ${where}`,
          verify.show(body[name]),
        );
      for (const name of ['message_id', 'device_id']) fits(name, uuid, 'a UUID');
      for (const name of ['from_number', 'to']) fits(name, e164, 'an E.164 number');
      verify.equal(`from_number of ${where}`, body['from_number'], account.from);
      verify.equal(`to of ${where}`, body['to'], t.recipient);
    },
  ),
  {
    ...about('RES-2/numbers-of-this-message', ['fresh'], { sends: 2 }),
    sends: 'a message from each of two SIMs, and a read of each',
    demands: 'from_number is the number that was named, to is the recipient',
    run: async (t) => {
      const account = await t.account({ sims: 2 });
      for (const { number } of account.sims)
        await inBoth(t, account, { from: number }, { from_number: number, to: t.recipient });
      t.count();
    },
  },
  everyBody(
    'RES-5/status-is-a-state',
    `status is one of ${states.join(', ')}`,
    (where, { status }) =>
      verify.that(
        states.includes(String(status)),
        `one of ${states.join(', ')} as status of ${where}`,
        verify.show(status),
      ),
  ),
  {
    ...about('RES-6/device-is-the-sim', ['sender'], { sends: 2 }),
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
