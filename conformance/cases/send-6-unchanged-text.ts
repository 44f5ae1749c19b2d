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

const arabicZero = 0x660;

function inArabicDigits(number: string): string {
  return number.replace(/\d/g, (digit) => String.fromCharCode(arabicZero + Number(digit)));
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
    'good numbers with spaces, a line end, digits of another script',
    async (t) => {
      const { from } = await t.account();
      const grouped = `${from.slice(0, 5)} ${from.slice(5)}`;
      return [
        { fields: { to: `${t.recipient}\n` }, names: ['to'] },
        { fields: { to: inArabicDigits(t.recipient) }, names: ['to'] },
        { fields: { from: grouped }, names: sender },
        { fields: { from: `${from}\n` }, names: sender },
      ];
    },
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
