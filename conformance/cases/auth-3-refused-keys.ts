/**
 * Keys that must be refused. Rule: AUTH-3. Each case also sends a valid key, so that a service that
 * refuses everything does not pass.
 */
import { about, type Case } from '../case.ts';
import { paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { goodKey, withHeader } from './auth-1-keys.ts';
import { swapCase } from './auth-3-inexact-keys.ts';

const code = 'auth_invalid_keyy';

/** Keys that differ slightly from the valid one; a variant that happens to equal it is left out. */
function nearlyRight(key: string): string[] {
  const last = key.at(-1) === 'x' ? 'y' : 'x';
  const wrong = [
    `${key.slice(0, -1)}${last}`,
    key.slice(0, -1),
    `${key}x`,
    key.toLowerCase(),
    key.toUpperCase(),
    swapCase(key),
    `${key}.`,
    key.slice(0, Math.ceil(key.length / 2)),
    'wrong',
  ];
  return [...new Set(wrong)].filter((one) => one !== key && one !== '');
}

/** Requires a refusal on each path. Without a key the sends are also invalid: the key comes first. */
async function refusesOn(
  t: Trial,
  key: string | undefined,
  account: Subject,
  posts: readonly string[] = [paths.send],
): Promise<void> {
  const ownRead = paths.read('00000000-0000-4000-8000-000000000000');
  verify.refused(await t.get(paths.stats, key), 401, code);
  verify.refused(await t.get(ownRead, key), 401, code);
  verify.refused(await t.get(paths.received, key), 401, code);
  const [sim] = account.sims;
  if (sim !== undefined) verify.refused(await t.get(paths.tasks(sim.deviceId), key), 401, code);
  if (account.from !== '')
    for (const path of posts) {
      const reply = await t.post(path, key, key === undefined ? {} : t.fields(account));
      verify.refused(reply, 401, code);
    }
  t.count();
}

/** Fails if both valid keys of the account are refused while another account's key is accepted. */
async function otherKeysGoOn(t: Trial): Promise<void> {
  const { apiKey, otherApiKey, secondApiKey } = t.target.flags;
  if (t.controlled || otherApiKey === undefined || secondApiKey === undefined) return;
  const elsewhere = await withHeader(t, `Bearer ${secondApiKey}`);
  if (elsewhere.status !== 200) return;
  const own = [
    await withHeader(t, `Bearer ${apiKey}`),
    await withHeader(t, `Bearer ${otherApiKey}`),
  ];
  const [one, two] = own.map(({ status }) => status);
  verify.that(
    one !== 401 || two !== 401,
    'other keys of the account that still work after one is revoked',
    'both --api-key and --other-api-key are answered 401',
  );
}

export const auth3RefusedKeysCases: readonly Case[] = [
  {
    ...about('AUTH-3/missing-key', ['key'], { sends: 1 }),
    spends: { send: 1, address: 1 },
    sends: 'requests without a key; the send is invalid too',
    demands: `401 with code ${code}`,
    run: async (t) => refusesOn(t, undefined, await goodKey(t)),
  },
  {
    ...about('AUTH-3/wrong-key', ['key'], { sends: 1 }),
    spends: { send: 1, received: 1, address: 1 },
    sends: 'requests with an unknown key',
    demands: `401 with code ${code}`,
    run: async (t) => {
      const account = await goodKey(t);
      await refusesOn(t, `${account.key.slice(0, -4)}0000`.replace(account.key, 'wrong'), account);
    },
  },
  {
    ...about('AUTH-3/nearly-right-key', ['key']),
    sends: 'the key with a letter changed, dropped or added, in other case, or cut in half',
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
    ...about('AUTH-3/revoked-key', ['key', 'revoked-key'], { sends: 3 }),
    spends: { send: 1, dashboard_send: 1, external_send: 1, received: 1, address: 1 },
    sends: 'requests to each endpoint with a key that was accepted and has been revoked',
    demands: `401 with code ${code}; the account's other key still works`,
    run: async (t) => {
      await otherKeysGoOn(t);
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
        await t.control.must('accounts.revokeKey', { id: second.keyId });
        revoked = second.key;
      }
      const posts = [paths.send, paths.dashboard_send, paths.external_send];
      await refusesOn(t, revoked, account, posts);
      verify.status(await withHeader(t, `Bearer ${account.key}`), 200);
    },
  },
];
