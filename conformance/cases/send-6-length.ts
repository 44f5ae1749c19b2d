/**
 * The longest message. Rule: SEND-6. Sends only lengths that every answer of `characterUnit`
 * handles alike.
 */
import { about, type Case } from '../case.ts';
import type { Trial } from '../trial.ts';
import * as verify from '../verify.ts';

async function lengths(t: Trial, letter: string): Promise<void> {
  const account = await t.account();
  verify.accepted(await t.send(account, { message: letter.repeat(1600) }));
  verify.invalid(await t.send(account, { message: letter.repeat(1601) }), 'message');
  t.count();
}

const needs = ['sender'] as const;

export const send6LengthCases: readonly Case[] = [
  {
    ...about('SEND-6/letters', needs, { sends: 2 }),
    sends: '1,600 letters, then 1,601',
    demands: '202, then 400 that names `message`',
    run: (t) => lengths(t, 'a'),
  },
  {
    ...about('SEND-6/characters-not-bytes', needs, { sends: 4 }),
    sends: '1,600 characters of two and of three bytes, then 1,601',
    demands: '202, then 400 that names `message`',
    run: async (t) => {
      await lengths(t, 'é');
      await lengths(t, '短');
    },
  },
  {
    ...about('SEND-6/far-too-long', needs, { sends: 2 }),
    sends: '161 letters, then 5,000',
    demands: '202: more than one segment is allowed; then 400',
    run: async (t) => {
      const account = await t.account();
      verify.accepted(await t.send(account, { message: 'a'.repeat(161) }));
      verify.invalid(await t.send(account, { message: 'a'.repeat(5000) }), 'message');
      t.count();
    },
  },
];
