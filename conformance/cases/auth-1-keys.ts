/** Which credentials are required, and the format of keys. Rules: AUTH-1, AUTH-2. */
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

/** Reads the account statistics with a given header: free, and never throttled. */
export function withHeader(t: Trial, authorization: string | undefined): Promise<Reply> {
  return t.request({
    method: 'GET',
    path: paths.stats,
    headers: authorization === undefined ? {} : { authorization },
  });
}

export async function goodKey(t: Trial): Promise<Subject> {
  const account = await t.account();
  const reply = await withHeader(t, `Bearer ${account.key}`);
  const without = await withHeader(t, undefined);
  verify.given(() => {
    verify.status(reply, 200);
    verify.that(without.status !== 200, 'a refusal without a key', without);
  });
  return account;
}

export const auth1KeysCases: readonly Case[] = [
  {
    ...about('AUTH-1/bearer-key-is-accepted', ['sender'], { sends: 2 }),
    sends: 'a send and a read with `Authorization: Bearer <key>`, and without',
    demands: '202 and 200 with the key, 401 without',
    run: async (t) => {
      const account = await t.account();
      const body = verify.accepted(await t.send(account));
      const id = String(body['message_id']);
      verify.message(await t.read(account, id), 200);
      verify.status(await t.post(paths.send, undefined, t.fields(account)), 401);
      verify.status(await t.get(paths.read(id), undefined), 401);
      t.count();
    },
  },
  {
    ...about('AUTH-1/every-endpoint-asks', ['sender', 'device'], { sends: 7 }),
    spends: {
      send: 3,
      dashboard_send: 2,
      external_send: 2,
      received: 1,
      tasks: 2,
      address: 1,
    },
    sends: 'a request to each of the seven endpoints without a key, then with one',
    demands: '401 without a key; any other status with it',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      const deviceId = account.sims[0]?.deviceId ?? '';
      const posts = [paths.send, paths.dashboard_send, paths.external_send];
      const gets = [paths.read(messageId), paths.received, paths.stats, paths.tasks(deviceId)];
      for (const path of posts) {
        verify.status(await t.post(path, undefined, t.fields(account)), 401);
        const good = await t.post(path, account.key, t.fields(account));
        verify.given(() => verify.that(good.status !== 401, 'a key that is accepted', good));
      }
      for (const path of gets) {
        verify.status(await t.get(path, undefined), 401);
        const good = await t.get(path, account.key);
        verify.given(() => verify.that(good.status === 200, '200 with the key', good));
      }
      t.count();
    },
  },
  {
    ...about('AUTH-1/no-other-scheme', ['key']),
    sends: 'the right key under other schemes, without a scheme, and in the query',
    demands: '401 each',
    run: async (t) => {
      const { key } = await goodKey(t);
      const basic = Buffer.from(`${key}:`).toString('base64');
      t.target.client.masks.hide(basic);
      for (const header of [`Token ${key}`, `Basic ${basic}`, `ApiKey ${key}`, key, 'Bearer', ''])
        verify.status(await withHeader(t, header), 401);
      verify.status(await t.get(`${paths.stats}?api_key=${key}`, undefined), 401);
      const otherHeader = await t.request({
        method: 'GET',
        path: paths.stats,
        headers: { 'x-api-key': key },
      });
      verify.status(otherHeader, 401);
      t.count();
    },
  },
  {
    ...about('AUTH-2/shown-once', ['fresh']),
    sends: 'the creation of a key on the control port, then the list of keys',
    demands: 'the chosen name in both; the full key only at creation, and it is accepted',
    run: async (t) => {
      const account = await goodKey(t);
      const id = account.accountId;
      const input = { name: 'chosen by the user' };
      const made = await t.control.must('accounts.createKey', { id, input });
      const key = String(made['key']);
      t.target.client.masks.hide(key);
      verify.equal('name at creation', made['name'], 'chosen by the user');
      verify.status(await withHeader(t, `Bearer ${key}`), 200);
      const list = await t.control.call('accounts.keys', { id });
      verify.given(() => verify.status(list, 200));
      verify.that(list.text.includes('chosen by the user'), 'the name in the list', list);
      verify.that(!list.text.includes(key), 'a list without the full key', 'the key is in it');
      const whole = await t.control.call('accounts.get', { id });
      verify.that(!whole.text.includes(key), 'an account without the full key', 'the key is in it');
      t.count();
    },
  },
  {
    ...about('AUTH-2/keys-differ', ['fresh']),
    sends: 'two more keys of one account, and a revocation of one',
    demands: 'three different keys; the other two still work',
    run: async (t) => {
      const account = await goodKey(t);
      const second = await t.secondKey(account);
      const third = await t.secondKey(account);
      verify.equal('keys', new Set([account.key, second.key, third.key]).size, 3);
      await t.control.must('accounts.revokeKey', { id: second.keyId });
      verify.status(await withHeader(t, `Bearer ${third.key}`), 200);
      verify.status(await withHeader(t, `Bearer ${account.key}`), 200);
      t.count();
    },
    live: {
      needs: ['key', 'other-key'],
      run: async (t) => {
        const { key } = await t.account();
        const { key: other } = await t.secondKey({ key, from: '', sims: [] });
        verify.that(key !== other, 'two keys', 'one key under two flags');
        const replies = [
          await withHeader(t, `Bearer ${key}`),
          await withHeader(t, `Bearer ${other}`),
        ];
        const isAccepted = replies.some(({ status }) => status === 200);
        verify.given(() => verify.that(isAccepted, 'a key that is accepted', 'neither of the two'));
        for (const reply of replies) verify.status(reply, 200);
        t.count();
      },
    },
  },
];
