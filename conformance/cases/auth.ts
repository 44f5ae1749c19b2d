/**
 * Cases about API keys. Rules: AUTH-1 to AUTH-3. Each case also sends a valid key, so that a service
 * that refuses all does not pass.
 */
import { about, type Case } from '../run/case.ts';
import { type AccountUnderTest, paths, sendPaths, type Trial, unknownId } from '../run/trial.ts';
import { similarKeys, wrongKeys } from './similar-values.ts';

const plainText = { 'content-type': 'text/plain' };
/** Names under which services take a key outside of its header. */
const keyNames = ['api_key', 'access_token', 'token', 'key', 'apikey', 'authorization'];
const invalidKeyCode = 'auth_invalid_keyy';

export const authCases: readonly Case[] = [
  about('AUTH-1/bearer-key-is-accepted', ['sender'], 2, {
    sends:
      'a send and a read with `Authorization: Bearer <key>`, and without, the send with the key among its fields; the read also with the header in capitals, as HEAD, from behind a proxy, and by other spellings of its path',
    demands: '202 and 200 with the key, 401 without; no spelling that needs no key',
    also: ['SEND-3', 'READ-1'],
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account);
      await t.read(account, messageId);
      const keyInFields = Object.fromEntries(keyNames.map((name) => [name, account.key]));
      await t.post(paths.send, undefined, t.fields(account, keyInFields));
      const path = paths.read(messageId);
      await t.request({ method: 'GET', path, headers: { AUTHORIZATION: `Bearer ${account.key}` } });
      await t.get(path, undefined);
      await t.get(path, undefined, { 'x-forwarded-for': '127.0.0.1' });
      await t.request({ method: 'HEAD', path });
      const capitals = path.replace(/^.*(?=\/sms)/, (start) => start.toUpperCase());
      for (const other of [
        path.slice(0, -1),
        path.replace('/sms', '//sms'),
        capitals,
        `${path.slice(0, -1)};a=b/`,
      ])
        await t.get(other, undefined);
    },
  }),
  about('AUTH-1/every-endpoint-asks', ['sender', 'device'], 3, {
    spends: { dashboard_send: 2, external_send: 2, received: 1, tasks: 2, address: 1 },
    sends: 'a request to each of the seven endpoints without a key, then with one',
    demands: '401 without a key; any other status with it',
    steps: async (t, account) => {
      const { messageId } = await t.mustSend(account);
      for (const key of [undefined, account.key]) {
        for (const path of sendPaths) await t.post(path, key, t.fields(account));
        for (const path of readPaths(account, messageId)) await t.get(path, key);
      }
    },
  }),
  about('AUTH-1/no-other-scheme', ['key'], 0, {
    sends:
      'the right key under other schemes, without a scheme, in the query, in other headers and in a cookie',
    demands: '401 each',
    steps: async (t, account) => {
      const { key } = account;
      await getStatsWithAndWithoutKey(t, account);
      const basic = Buffer.from(`${key}:`).toString('base64');
      t.target.client.masks.hide(basic);
      const schemes = [`Token ${key}`, `Basic ${basic}`, `ApiKey ${key}`, key, 'Bearer', ''];
      for (const authorization of schemes) await t.get(paths.stats, undefined, { authorization });
      await t.get(
        `${paths.stats}?${keyNames.map((name) => `${name}=${key}`).join('&')}`,
        undefined,
      );
      const cookie = keyNames.map((name) => `${name}=${key}`).join('; ');
      const inHeaders = { 'x-api-key': key, 'x-auth-token': key, 'api-key': key, cookie };
      await t.get(paths.stats, undefined, inHeaders);
    },
  }),
  about('AUTH-2/shown-once', ['fresh'], 0, {
    sends: 'the creation of a key on the control port, then the list of keys',
    demands: 'the chosen name in both; the full key only at creation, and it is accepted',
    steps: async (t, account) => {
      await getStatsWithAndWithoutKey(t, account);
      await t.get(paths.stats, await t.createdKey(account, 'chosen by the user'));
    },
  }),
  about('AUTH-2/keys-differ', ['key', 'other-key'], 0, {
    sends: 'statistics with two keys of one account, with a control port after a third was revoked',
    demands: 'different keys, and both work',
    steps: async (t, account) => {
      await t.get(paths.stats, account.key);
      const second = await t.secondKey(account);
      if (t.hasControl) await t.revoke(await t.secondKey(account));
      for (const key of [account.key, second.key]) await t.get(paths.stats, key);
    },
  }),
  about('AUTH-3/missing-key', ['key'], 2, {
    spends: { address: 1 },
    sends: 'requests without a key; the sends are invalid too, one of them is plain text',
    demands: `401 with code ${invalidKeyCode}`,
    steps: async (t, account) => {
      await getStatsWithAndWithoutKey(t, account);
      await requestEverywhere(t, account, undefined, [paths.send]);
      if (account.from !== '') await t.post(paths.send, undefined, '{', plainText);
    },
  }),
  about('AUTH-3/wrong-key', ['key'], 1, {
    spends: { received: 1, address: 1 },
    sends: 'requests with an unknown key',
    demands: `401 with code ${invalidKeyCode}`,
    steps: async (t, account) => {
      await getStatsWithAndWithoutKey(t, account);
      const key = `wrong${account.key.slice('wrong'.length)}`;
      await requestEverywhere(t, account, key, [paths.send]);
    },
  }),
  about('AUTH-3/nearly-right-key', ['key'], 0, {
    sends:
      'the key with a letter changed, dropped or added, in other case, cut in half, much longer, in quotes, encoded, and with signs, a space or an accent',
    demands: `401 with code ${invalidKeyCode}, or 400 where no key has such characters`,
    steps: async (t, account) => {
      const { key } = account;
      await getStatsWithAndWithoutKey(t, account);
      for (const wrong of wrongKeys(key)) {
        t.target.client.masks.hide(wrong);
        await t.get(paths.stats, wrong);
      }
    },
  }),
  about('AUTH-3/nearly-right-key-everywhere', ['sender'], 2, {
    spends: { dashboard_send: 2, external_send: 2, address: 6 },
    sends:
      'the key in other case, cut in half, with one letter changed or a dot added, to each endpoint (other case to each send endpoint, the others to one)',
    demands: `401 with code ${invalidKeyCode}`,
    steps: async (t, account) => {
      await getStatsWithAndWithoutKey(t, account);
      for (const { key, postPaths } of similarKeys(account.key)) {
        t.target.client.masks.hide(key);
        await requestEverywhere(t, account, key, postPaths);
      }
    },
  }),
  about('AUTH-3/revoked-key', ['key', 'revoked-key'], 1, {
    spends: { dashboard_send: 1, external_send: 1, received: 1, address: 1 },
    sends: 'requests to each endpoint with a key that was accepted and has been revoked',
    demands: `401 with code ${invalidKeyCode}; the account's other keys still work`,
    steps: async (t, account) => {
      const { flags } = t.target;
      const key = t.hasControl ? await usedAndRevokedKey(t, account) : flags.revokedKey;
      await requestEverywhere(t, account, key, sendPaths);
      for (const other of [account.key, flags.otherApiKey, flags.secondApiKey])
        if (other !== undefined) await t.get(paths.stats, other);
    },
  }),
];

/** Shows that the key is accepted, and that it is needed. */
export async function getStatsWithAndWithoutKey(
  t: Trial,
  { key }: AccountUnderTest,
): Promise<void> {
  for (const each of [key, undefined]) await t.get(paths.stats, each);
}

/** The paths of all GETs: statistics, received messages, a message, the device's tasks. */
export function readPaths({ sims }: AccountUnderTest, messageId: string = unknownId): string[] {
  const tasks = sims.map(({ deviceId }) => paths.tasks(deviceId)).slice(0, 1);
  return [paths.stats, paths.received, paths.read(messageId), ...tasks];
}

/**
 * Tries a key on all reads and, if the account has a number, on some sends. Without a key the sends
 * have no fields either: the missing key must decide.
 */
async function requestEverywhere(
  t: Trial,
  account: AccountUnderTest,
  key: string | undefined,
  postPaths: readonly string[],
): Promise<void> {
  for (const path of readPaths(account)) await t.get(path, key);
  if (account.from === '') return;
  for (const path of postPaths) await t.post(path, key, key === undefined ? {} : t.fields(account));
}

/** A second key of the account, which was accepted before it was revoked. */
async function usedAndRevokedKey(t: Trial, account: AccountUnderTest): Promise<string> {
  const second = await t.secondKey(account);
  await t.get(paths.stats, second.key);
  if (account.from !== '') await t.post(paths.send, second.key, t.fields(account));
  await t.revoke(second);
  return second.key;
}
