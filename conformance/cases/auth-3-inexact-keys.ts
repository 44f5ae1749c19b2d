/** Keys that differ slightly from a valid one, at every endpoint. Rule: AUTH-3. */
import { about, type Case } from '../case.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';
import { goodKey } from './auth-1-keys.ts';

const code = 'auth_invalid_keyy';
const lookalikes: Readonly<Record<string, string>> = { '0': 'O', O: '0', '1': 'l', l: '1', I: '1' };

const posts = [paths.send, paths.dashboard_send, paths.external_send];

/** One variant for each way in which a comparison may be inexact. */
function nearly(key: string): string[] {
  const middle = Math.floor(key.length / 2);
  const near = [
    key.toLowerCase(),
    key.toUpperCase(),
    key.slice(0, middle + 1),
    `${key.slice(0, middle)}${key[middle] === 'x' ? 'y' : 'x'}${key.slice(middle + 1)}`,
    key.replace(/[0O1lI]/, (letter) => lookalikes[letter] ?? letter),
  ];
  return near.filter((one) => one !== key);
}

export const auth3InexactKeysCases: readonly Case[] = [
  {
    ...about('AUTH-3/nearly-right-key-everywhere', ['sender'], { sends: 5 }),
    spends: { send: 2, dashboard_send: 2, external_send: 1, address: 5 },
    sends:
      'the key in other case, cut in half or with one letter changed, to each endpoint (one variant for each send endpoint)',
    demands: `401 with code ${code}`,
    run: async (t) => {
      const account = await goodKey(t);
      const [sim] = account.sims;
      const gets = [
        paths.stats,
        paths.received,
        paths.read('00000000-0000-4000-8000-000000000000'),
      ];
      if (sim !== undefined) gets.push(paths.tasks(sim.deviceId));
      for (const [index, wrong] of nearly(account.key).entries()) {
        t.target.client.masks.hide(wrong);
        for (const path of gets) verify.refused(await t.get(path, wrong), 401, code);
        const path = posts[index % posts.length] ?? paths.send;
        verify.refused(await t.post(path, wrong, t.fields(account)), 401, code);
        t.count();
      }
    },
  },
];
