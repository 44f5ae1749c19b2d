/**
 * How a target handles a send where the document is silent. Observed, not judged. Each answer is
 * inferred from replies only.
 */
import type { Observation, Seen } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

/** One answer per status; any other reply leaves the question open. */
export function byStatus(reply: Reply, answers: Readonly<Record<number, unknown>>): Seen {
  const answer = answers[reply.status];
  return answer === undefined
    ? { untold: `an unexpected reply: ${verify.describe(reply)}` }
    : { answer };
}

const proven = new WeakMap<object, Promise<unknown>>();

/**
 * An account that is known to be able to send, so that a refusal has a meaning. A shared account is
 * checked once.
 */
export async function ready(t: Trial, sims = 1): Promise<Subject> {
  const account = await t.account({ sims: t.controlled ? sims : 1 });
  const before = t.controlled ? undefined : proven.get(t.target);
  const proof = before ?? t.queued(account);
  proven.set(t.target, proof);
  await proof;
  return account;
}

const needs = ['sender'] as const;
const fresh = ['fresh'] as const;
export const day = 86_400_000;

export const sendObservations: readonly Observation[] = [
  {
    assumption: 'bothSenderFields',
    name: 'two-numbers',
    needs: fresh,
    cost: { sends: 3 },
    sends: 'a message with `from` and `from_number`, different and alike',
    run: async (t) => {
      const account = await ready(t, 2);
      const second = account.sims[1]?.number;
      const both = await t.send(account, { from_number: second });
      if (both.status === 202) {
        const used = verify.object(both)['from_number'];
        if (used === account.from) return { answer: 'from_wins' };
        if (used === second) return { answer: 'alias_wins' };
      }
      const same = await t.send(account, { from_number: account.from });
      return byStatus(same, { 202: 'reject_if_different', 400: 'reject' });
    },
    live: {
      needs: ['sender', 'discover'],
      cost: { sends: 3 },
      run: async (t) => {
        const account = await ready(t);
        const { unknownFrom, foreignFrom } = t.target.flags;
        // A number that no SIM of the account has: refused if the alias takes precedence.
        const other = unknownFrom ?? foreignFrom ?? '+12025550187';
        const both = await t.send(account, { from_number: other });
        if (both.status === 202) {
          const used = verify.object(both)['from_number'];
          return { answer: used === other ? 'alias_wins' : 'from_wins' };
        }
        if (both.status === 403) return { answer: 'alias_wins' };
        const same = await t.send(account, { from_number: account.from });
        return byStatus(same, { 202: 'reject_if_different', 400: 'reject' });
      },
    },
  },
  {
    assumption: 'gateOrder',
    name: 'invalid-replay',
    needs,
    cost: { sends: 3 },
    sends: 'a replay whose message is too long, and an unknown sender under a spent quota',
    run: async (t) => {
      const account = await t.account();
      const request_id = t.requestId();
      await t.queued(account, { request_id });
      const reply = await t.send(account, { request_id, message: 'x'.repeat(1601) });
      if (reply.status === 400) return { answer: 'validate_first' };
      if (reply.status !== 200 && reply.status !== 409) return byStatus(reply, {});
      const key = t.controlled
        ? (await t.account({ quota: 0 })).key
        : t.target.flags.exhaustedApiKey;
      const from = t.target.flags.unknownFrom ?? (t.controlled && t.control.unusedNumber());
      if (key === undefined || from === false)
        return { untold: 'without a spent quota and an unknown number two answers look alike' };
      const refused = await t.send({ ...account, key }, { from });
      return byStatus(refused, { 403: 'replay_first', 402: 'quota_before_sender' });
    },
  },
  {
    assumption: 'failedRequestId',
    name: 'after-a-403',
    needs: ['sender', 'unknown-from'],
    cost: { sends: 3 },
    sends: 'a request_id that was refused for its number, then with a good one',
    run: async (t) => {
      const account = await ready(t);
      const request_id = t.requestId();
      const from = t.target.flags.unknownFrom ?? t.control.unusedNumber();
      const refused = await t.send(account, { request_id, from });
      verify.given(() => verify.status(refused, 403));
      return byStatus(await t.send(account, { request_id }), { 202: 'free', 403: 'burned' });
    },
  },
  {
    assumption: 'replayScope',
    name: 'second-key',
    needs: fresh,
    cost: { sends: 2 },
    sends: 'one request_id with two keys of one account',
    run: async (t) => {
      const account = await t.account();
      const fields = { request_id: t.requestId() };
      await t.queued(account, fields);
      const { key } = await t.secondKey(account);
      return byStatus(await t.send({ ...account, key }, fields), {
        200: 'account',
        202: 'api_key',
      });
    },
    live: { needs: ['sender', 'other-key'], cost: { sends: 2 } },
  },
  {
    assumption: 'replayDifferentBody',
    name: 'other-text',
    needs,
    cost: { sends: 2 },
    sends: 'one request_id with another message',
    run: async (t) => {
      const account = await t.account();
      const request_id = t.requestId();
      await t.queued(account, { request_id });
      const reply = await t.send(account, { request_id, message: 'another' });
      return byStatus(reply, { 200: 'return_original', 409: 'conflict' });
    },
  },
  {
    assumption: 'replayAcrossEndpoints',
    name: 'dashboard-send',
    needs,
    cost: { sends: 2 },
    spends: { send: 1, dashboard_send: 1 },
    sends: 'one request_id at the v1 send and at the dashboard send',
    run: async (t) => {
      const account = await t.account();
      const fields = t.fields(account, { request_id: t.requestId() });
      const first = await t.post(paths.send, account.key, fields);
      verify.given(() => verify.accepted(first));
      const reply = await t.post(paths.dashboard_send, account.key, fields);
      return byStatus(reply, { 200: 'shared', 202: 'separate' });
    },
  },
  {
    assumption: 'replaySpends',
    name: 'many-replays',
    needs: fresh,
    cost: { sends: 122, throttled: 1 },
    sends: '120 replays, then a new message',
    run: async (t) => {
      const account = await t.account();
      const fields = { request_id: t.requestId() };
      await t.queued(account, fields);
      await flood(120, () => t.send(account, fields));
      return byStatus(await t.send(account), { 429: 'throttle', 202: 'nothing' });
    },
  },
  {
    assumption: 'unknownFields',
    name: 'a-colour',
    needs,
    cost: { sends: 2 },
    sends: 'a message with a field that the document does not name',
    run: async (t) => {
      const reply = await t.send(await ready(t), { colour: 'blue' });
      return byStatus(reply, { 202: 'ignore', 400: 'reject' });
    },
  },
  {
    assumption: 'typeCoercion',
    name: 'a-number-for-a-text',
    needs,
    cost: { sends: 3 },
    sends: 'messages that are a number and a boolean',
    run: async (t) => {
      const account = await ready(t);
      const number = await t.send(account, { message: 42 });
      if (number.status !== 202) return byStatus(number, { 400: 'reject' });
      return byStatus(await t.send(account, { message: true }), { 202: 'coerce', 400: 'numbers' });
    },
  },
  {
    assumption: 'validationScope',
    name: 'two-mistakes',
    needs,
    cost: { sends: 2 },
    sends: 'a message whose request_id and send_at are invalid',
    run: async (t) => {
      const reply = await t.send(await ready(t), { request_id: {}, send_at: 'soon' });
      verify.given(() => verify.status(reply, 400));
      const named = ['request_id', 'send_at'].filter((field) => reply.text.includes(field)).length;
      if (named === 0) return { untold: `neither field is named: ${reply.text}` };
      return { answer: named === 2 ? 'all' : 'first' };
    },
  },
  {
    assumption: 'emptyRequestId',
    name: 'empty-text',
    needs,
    cost: { sends: 3 },
    sends: 'two messages whose request_id is empty',
    run: async (t) => {
      const account = await ready(t);
      const first = await t.send(account, { request_id: '' });
      if (first.status === 202 && (await t.send(account, { request_id: '' })).status !== 202)
        return { untold: 'an empty request_id is treated as an id' };
      return byStatus(first, { 202: 'none_supplied', 400: 'reject' });
    },
  },
  {
    assumption: 'characterUnit',
    name: 'pairs-and-marks',
    needs,
    cost: { sends: 3 },
    sends: '801 letters of two UTF-16 units, then 801 letters with a combining mark',
    run: async (t) => {
      const account = await ready(t);
      const pairs = await t.send(account, { message: '😀'.repeat(801) });
      if (pairs.status === 400) return { answer: 'utf16_units' };
      const marked = await t.send(account, { message: 'e\u0301'.repeat(801) });
      return byStatus(marked, { 202: 'graphemes', 400: 'code_points' });
    },
  },
  {
    assumption: 'numberCheck',
    name: 'odd-numbers',
    needs,
    cost: { sends: 3 },
    sends: 'recipients with an unknown country code, and with a number that no carrier has',
    run: async (t) => {
      const account = await ready(t);
      const shaped = await t.send(account, { to: '+999123456789' });
      if (shaped.status === 202) return { answer: 'shape' };
      const possible = await t.send(account, { to: '+11115550123' });
      return byStatus(possible, { 202: 'possible', 400: 'valid' });
    },
  },
  {
    assumption: 'sendAtZone',
    name: 'offset-and-naive',
    needs,
    cost: { sends: 3 },
    sends: 'a send_at with another offset, and one without any',
    run: async (t) => {
      const account = await ready(t);
      const ahead = new Date((await t.now()) + day / 2).toISOString().slice(0, 19);
      const offset = await t.send(account, { send_at: `${ahead}+02:00` });
      const naive = await t.send(account, { send_at: ahead });
      return offset.status === 202
        ? byStatus(naive, { 202: 'any', 400: 'any_offset' })
        : byStatus(naive, { 202: 'naive_is_utc', 400: 'utc_only' });
    },
  },
  {
    assumption: 'heldStatus',
    name: 'while-held',
    needs,
    cost: { sends: 1 },
    sends: 'a read of a held message',
    run: async (t) => {
      const account = await t.account();
      const send_at = new Date((await t.now()) + day / 2).toISOString();
      const { messageId } = await t.queued(account, { send_at });
      const reply = await t.read(account, messageId);
      return { answer: verify.given(() => verify.message(reply, 200))['status'] };
    },
  },
  {
    assumption: 'quotaUnit',
    name: 'three-segments',
    needs: fresh,
    cost: { sends: 1 },
    sends: 'a message of three segments under a quota of two',
    run: async (t) => {
      const account = await t.account({ quota: 2 });
      const reply = await t.send(account, { message: 'x'.repeat(400) });
      return byStatus(reply, { 202: 'messages', 402: 'segments' });
    },
  },
];
