/**
 * Keys. Rules: AUTH-1, AUTH-2, AUTH-3. Every refusal stands beside the same request with a good key, so that a service
 * that refuses everything passes nothing.
 */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const code = 'auth_invalid_keyy';

/** The account statistics with a header of the caller's choice: it costs nothing and is never throttled. */
function withHeader(t: Trial, authorization: string | undefined): Promise<Reply> {
  return t.request({
    method: 'GET',
    path: paths.stats,
    headers: authorization === undefined ? {} : { authorization },
  });
}

async function goodKey(t: Trial): Promise<Subject> {
  const account = await t.account();
  const reply = await withHeader(t, `Bearer ${account.key}`);
  const without = await withHeader(t, undefined);
  verify.given(() => {
    verify.status(reply, 200);
    verify.that(without.status !== 200, 'a refusal without a key', without);
  });
  return account;
}

/** Keys that are nearly the right one; those that happen to be the right one are left out. */
function nearlyRight(key: string): string[] {
  const last = key.at(-1) === 'x' ? 'y' : 'x';
  const wrong = [
    `${key.slice(0, -1)}${last}`,
    key.slice(0, -1),
    `${key}x`,
    key.toLowerCase(),
    key.toUpperCase(),
    key.slice(0, Math.ceil(key.length / 2)),
    'wrong',
  ];
  return [...new Set(wrong)].filter((one) => one !== key && one !== '');
}

async function refusesOn(t: Trial, key: string | undefined, account: Subject): Promise<void> {
  const ownRead = paths.read('00000000-0000-4000-8000-000000000000');
  verify.refused(await t.get(paths.stats, key), 401, code);
  verify.refused(await t.get(ownRead, key), 401, code);
  verify.refused(await t.get(paths.received, key), 401, code);
  if (account.from !== '')
    verify.refused(await t.post(paths.send, key, t.fields(account)), 401, code);
  t.count();
}

export const authenticationCases: readonly Case[] = [
  {
    rule: 'AUTH-1',
    name: 'bearer-key-is-accepted',
    needs: ['sender'],
    cost: { sends: 2 },
    sends: 'a send and a read with `Authorization: Bearer <key>`, and without',
    demands: '202 and 200 with, 401 without',
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
    rule: 'AUTH-1',
    name: 'every-endpoint-asks',
    needs: ['sender', 'device'],
    cost: { sends: 7 },
    sends: 'a request to each of the seven endpoints without a key, then with one',
    demands: '401 without; anything else with',
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
    rule: 'AUTH-1',
    name: 'no-other-scheme',
    needs: ['key'],
    cost: {},
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
    rule: 'AUTH-2',
    name: 'shown-once',
    needs: ['fresh'],
    cost: {},
    sends: 'the creation of a key by the lever, then the list of keys',
    demands: 'the chosen name in both; the full key at creation alone, and it is accepted',
    run: async (t) => {
      const account = await goodKey(t);
      const path = `/control/accounts/${account.accountId}/keys`;
      const made = await t.control.must('POST', path, { name: 'chosen by the user' });
      const key = String(made['key']);
      t.target.client.masks.hide(key);
      verify.equal('name at creation', made['name'], 'chosen by the user');
      verify.status(await withHeader(t, `Bearer ${key}`), 200);
      const list = await t.control.call('GET', path);
      verify.given(() => verify.status(list, 200));
      verify.that(list.text.includes('chosen by the user'), 'the name in the list', list);
      verify.that(!list.text.includes(key), 'a list without the full key', 'the key is in it');
      const whole = await t.control.call('GET', `/control/accounts/${account.accountId}`);
      verify.that(!whole.text.includes(key), 'an account without the full key', 'the key is in it');
      t.count();
    },
  },
  {
    rule: 'AUTH-2',
    name: 'keys-differ',
    needs: ['fresh'],
    cost: {},
    sends: 'two more keys of one account, and a revocation of one',
    demands: 'three different keys; the other two go on',
    run: async (t) => {
      const account = await goodKey(t);
      const second = await t.secondKey(account);
      const third = await t.secondKey(account);
      verify.equal('keys', new Set([account.key, second.key, third.key]).size, 3);
      await t.control.must('DELETE', `/control/keys/${second.keyId}`);
      verify.status(await withHeader(t, `Bearer ${third.key}`), 200);
      verify.status(await withHeader(t, `Bearer ${account.key}`), 200);
      t.count();
    },
  },
  {
    rule: 'AUTH-3',
    name: 'missing-key',
    needs: ['key'],
    cost: { sends: 1 },
    sends: 'requests without a key',
    demands: `401 with code ${code}`,
    run: async (t) => refusesOn(t, undefined, await goodKey(t)),
  },
  {
    rule: 'AUTH-3',
    name: 'wrong-key',
    needs: ['key'],
    cost: { sends: 1 },
    sends: 'requests with a key that nobody has',
    demands: `401 with code ${code}`,
    run: async (t) => {
      const account = await goodKey(t);
      await refusesOn(t, `${account.key.slice(0, -4)}0000`.replace(account.key, 'wrong'), account);
    },
  },
  {
    rule: 'AUTH-3',
    name: 'nearly-right-key',
    needs: ['key'],
    cost: {},
    sends: 'the key with a letter changed, dropped or added, in other case, halved',
    demands: `401 with code ${code}`,
    run: async (t) => {
      const { key } = await goodKey(t);
      for (const wrong of nearlyRight(key)) {
        t.target.client.masks.hide(wrong);
        verify.refused(await withHeader(t, `Bearer ${wrong}`), 401, code);
        t.count();
      }
    },
  },
  {
    rule: 'AUTH-3',
    name: 'revoked-key',
    needs: ['key', 'revoked-key'],
    cost: { sends: 2 },
    sends: 'requests with a key that was accepted and has been revoked',
    demands: `401 with code ${code}; the account's other key goes on`,
    run: async (t) => {
      const account = await goodKey(t);
      let revoked = t.target.flags.revokedKey;
      if (t.controlled) {
        const second = await t.secondKey(account);
        const before = await withHeader(t, `Bearer ${second.key}`);
        verify.given(() => verify.status(before, 200));
        if (account.from !== '') {
          const used = await t.post(paths.send, second.key, t.fields(account));
          verify.given(() => verify.accepted(used));
        }
        await t.control.must('DELETE', `/control/keys/${second.keyId}`);
        revoked = second.key;
      }
      await refusesOn(t, revoked, account);
      verify.status(await withHeader(t, `Bearer ${account.key}`), 200);
    },
  },
  {
    rule: 'SVC-4',
    name: 'refusals-are-json',
    needs: ['key'],
    cost: {},
    sends: 'a good request, one without a key, one for an unknown id',
    demands: 'JSON bodies, declared as such',
    run: async (t) => {
      const account = await t.account();
      const good = await withHeader(t, `Bearer ${account.key}`);
      verify.given(() => verify.status(good, 200));
      verify.declaredJson(good);
      const none = await withHeader(t, undefined);
      verify.status(none, 401);
      verify.declaredJson(none);
      const unknown = await t.read(account, '00000000-0000-4000-8000-000000000000');
      verify.status(unknown, 404);
      verify.declaredJson(unknown);
      t.count();
    },
  },
];
