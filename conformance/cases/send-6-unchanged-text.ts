/**
 * Texts and numbers are checked as they were sent, not in the form in which the service stores
 * them. Rules: SEND-6, SEND-2, AUTH-4.
 */
import { about, type Case } from '../case.ts';
import type { Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { refuses, sender } from './send-2-required-fields.ts';

const longest = 1_600;
const full = 'a'.repeat(longest);

/** Each is one character, but several when escaped for HTML, a modem or a log. */
const special = '&"\'\\\n{€|';

/** One character too many in every unit. */
const tooLong = `${full} `;

/**
 * One character too many, except for a service that counts visible characters (`characterUnit`).
 */
const tooLongUnlessSeen = [`${full.slice(1)}\r\n`, `${full.slice(1)}e\u0301`];
const seenAsOne = `${full.slice(1)}👍🏽`;

const wideZero = 0xff10;

/** All digits but the first: many checks want a first digit of 1 to 9, and any digits after it. */
function inWideDigits(number: string): string {
  const wide = (digit: string) => String.fromCharCode(wideZero + Number(digit));
  return number.slice(0, 2) + number.slice(2).replace(/\d/g, wide);
}

async function countsGraphemes(t: Trial): Promise<boolean> {
  const stated = t.assumption('characterUnit');
  if (stated !== undefined) return stated === 'graphemes';
  return (await t.send(await t.account(), { message: seenAsOne })).status === 202;
}

export const send6UnchangedTextCases: readonly Case[] = [
  {
    ...about('SEND-6/counted-as-it-is-sent', ['sender'], { sends: 5 }),
    sends:
      '1,600 letters that are often escaped; 1,601 of which spaces, line ends or accents might be dropped',
    demands: '202 for the first; no message for the others',
    run: async (t) => {
      const account = await t.account();
      const message = special.repeat(longest / special.length);
      verify.accepted(await t.send(account, { message }));
      const spaced = await t.send(account, { message: tooLong });
      verify.that(spaced.status !== 202, 'no message of 1,601 characters', spaced);
      for (const message of tooLongUnlessSeen) {
        const reply = await t.send(account, { message });
        if (reply.status !== 202) continue;
        if (await countsGraphemes(t)) break;
        verify.that(false, 'no message of 1,601 characters', reply);
      }
      t.count();
    },
  },
  refuses(
    'SEND-2/numbers-are-not-tidied',
    'good numbers with a line end, a null byte, full-width digits, a space that does not break',
    async (t) => {
      const { from } = await t.account();
      return [
        { fields: { to: `${t.recipient}\n` }, names: ['to'] },
        { fields: { to: inWideDigits(t.recipient) }, names: ['to'] },
        { fields: { to: `${t.recipient}\u0000` }, names: ['to'] },
        { fields: { from: `${from}\u00a0` }, names: sender },
        { fields: { from: `${from}\n` }, names: sender },
      ];
    },
    5,
    4,
  ),
  {
    ...about('AUTH-4/every-digit-counts', ['sender'], { sends: 2 }),
    sends: 'a `from` of which one digit before the last seven is not that of the account',
    demands: '403: this is a different number',
    run: async (t) => {
      const account = await t.account();
      await t.queued(account);
      const { from } = account;
      const at = from.length - 8;
      const digit = from[at] === '3' ? '4' : '3';
      const other = `${from.slice(0, at)}${digit}${from.slice(at + 1)}`;
      const reply = await t.send(account, { from: other });
      // A service with a strict number check may refuse this number earlier (`numberCheck`).
      verify.status(reply, 403, 400);
      t.count();
    },
  },
];
