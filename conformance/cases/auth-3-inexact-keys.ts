/** Keys that differ slightly from a valid one, at every endpoint. Rule: AUTH-3. */
import { about, type Case } from '../case.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';
import { goodKey } from './auth-1-keys.ts';

const code = 'auth_invalid_keyy';
const lookalikes: Readonly<Record<string, string>> = { '0': 'O', O: '0', '1': 'l', l: '1', I: '1' };

const { send, dashboard_send, external_send } = paths;

/**
 * One variant for each way in which a comparison may be inexact, and the sends to try it on: in
 * other case on all of them, the others on one.
 */
function nearly(key: string): { readonly wrong: string; readonly posts: readonly string[] }[] {
  const middle = Math.floor(key.length / 2);
  const near = [
    { wrong: swapCase(key), posts: [send, dashboard_send, external_send] },
    { wrong: key.toLowerCase(), posts: [] },
    { wrong: key.slice(0, middle + 1), posts: [external_send] },
    {
      wrong: `${key.slice(0, middle)}${key[middle] === 'x' ? 'y' : 'x'}${key.slice(middle + 1)}`,
      posts: [send],
    },
    { wrong: key.replace(/[0O1lI]/, (letter) => lookalikes[letter] ?? letter), posts: [] },
    { wrong: `${key}.`, posts: [dashboard_send] },
  ];
  return near.filter(({ wrong }) => wrong !== key);
}

export function swapCase(text: string): string {
  return text.replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

export const auth3InexactKeysCases: readonly Case[] = [
  {
    ...about('AUTH-3/nearly-right-key-everywhere', ['sender'], { sends: 6 }),
    spends: { send: 2, dashboard_send: 2, external_send: 2, address: 6 },
    sends:
      'the key in other case, cut in half, with one letter changed or a dot added, to each endpoint (on sends: other case on each, the others on one)',
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
      for (const { wrong, posts } of nearly(account.key)) {
        t.target.client.masks.hide(wrong);
        for (const path of gets) verify.refused(await t.get(path, wrong), 401, code);
        for (const path of posts)
          verify.refused(await t.post(path, wrong, t.fields(account)), 401, code);
        t.count();
      }
    },
  },
];
