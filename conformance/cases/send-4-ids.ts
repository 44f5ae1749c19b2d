/**
 * Cases about ids that a service might confuse, change or cut. Rule: SEND-4. Two different
 * `request_id`s are two messages, however little they differ.
 */
import { secondMs } from '#contract/time.ts';
import { about, type Case } from '../run/case.ts';
import type { Trial } from '../run/trial.ts';

const needs = ['sender'] as const;
const idOfOtherScripts = 'Жé短😀';
/** Long enough for an id that is new today, and short enough for every service. */
const startLength = 9;
/** The end of an id, of characters that a service might confuse with others. */
const confusableEnd = 'Q\u00e9 a&7';
/** The first id, the similar ones, two UUIDs, the replays of two similar ones, and "0" twice. */
const sendsOfSimilarIds = 1 + similarIds('').length + 2 + 2 + 2;

export const send4IdCases: readonly Case[] = [
  about('SEND-4/ids-of-any-script', needs, 2, {
    also: ['SEND-3'],
    sends: 'a short request_id with letters of other scripts and an emoji, twice',
    demands: '202, then 200 and the original body, byte for byte',
    steps: async (t) => {
      requireIdLength(t, [...idOfOtherScripts].length);
      const account = await t.account();
      const start = t.hasControl ? '' : t.requestId().slice(-startLength);
      const fields = { request_id: `${start}${idOfOtherScripts}` };
      await t.send(account, fields);
      // Two sends at one instant have no order: either may be the original.
      if (t.hasControl) await t.advance(secondMs);
      await t.send(account, fields);
    },
  }),
  about('SEND-4/nearly-the-same-id', needs, sendsOfSimilarIds, {
    sends:
      'request_ids that differ in letter case, an accent or its encoding, white space, an escape, a wildcard, an invisible character or a leading zero; "0" twice',
    demands: '202 for each; those that a service might change then replay their own message',
    steps: async (t) => {
      const digits = idOfDigits(t);
      const id = `${digits}${confusableEnd}`;
      requireIdLength(t, id.length);
      const account = await t.account();
      const sendUnder = (request_id: string) => t.send(account, { request_id });
      if ((await sendUnder(id)).status === 400)
        t.lack('a target that takes request_ids with letters, spaces and signs');
      for (const similar of similarIds(digits)) await sendUnder(similar);
      // A UUID means the same in capitals, a request_id does not.
      const uuid = `abcdefab-cdef-4abc-8abc-${digits.slice(-12).padStart(12, '0')}`;
      if ((await sendUnder(uuid)).status !== 400) await sendUnder(uuid.toUpperCase());
      for (const replayed of [`${id} `, withSplitAccent(id)]) await sendUnder(replayed);
      // Some languages take this text for none. Another run of the last day may have used it.
      const isNew = (await sendUnder('0')).status === 202;
      if (isNew) await sendUnder('0');
      else t.exchanges.pop();
    },
  }),
  about('SEND-4/last-letter-tells-ids-apart', needs, 5, {
    sends: 'two request_ids of the longest accepted length that differ in the last character alone',
    demands: '202 for both, two messages; the first replays its own',
    steps: async (t) => {
      const account = await t.account();
      const digits = idOfDigits(t);
      for (const length of lengthsToTry(t)) {
        const start = digits.padEnd(length, 'p').slice(0, length - 1);
        const [first, second] = [`${start}1`, `${start}2`];
        if ((await t.send(account, { request_id: first })).status === 400) continue;
        for (const request_id of [second, first]) await t.send(account, { request_id });
        return;
      }
      t.lack(`a target that takes request_ids of ${commonLengths.at(-1)} characters`);
    },
  }),
];

/** Skips a case whose ids are longer than the target states that it accepts. */
export function requireIdLength(t: Trial, characters: number): void {
  const longest = statedMaxLength(t);
  if (longest !== undefined && longest < characters)
    t.lack(`a target that takes request_ids of ${characters} characters (requestIdMaxLength)`);
}

/** Most are sizes that a database column often has; the longest comes first. */
const commonLengths = [300, 255, 200, 128, 64, 36, 20];

/** The lengths of ids to try until the target accepts one: only one if it states its longest. */
function lengthsToTry(t: Trial): number[] {
  const longest = statedMaxLength(t);
  return longest === undefined ? commonLengths : [Math.min(longest, Math.max(...commonLengths))];
}

/** The longest `request_id` that the target states that it accepts; undefined if it states none. */
export function statedMaxLength(t: Trial): number | undefined {
  const stated = t.assumption('requestIdMaxLength');
  return typeof stated === 'number' ? stated : undefined;
}

/**
 * A `request_id` of digits only, to detect ids that are read as numbers. With a control port the
 * account is new, so "7" is unused. Elsewhere time and two random digits make the id unique.
 */
function idOfDigits(t: Trial): string {
  return t.hasControl
    ? '7'
    : `${Math.floor(t.target.clock.now())}${Math.floor(Math.random() * 90) + 10}`;
}

/** Ids that a service might confuse with the id that ends in `confusableEnd`. */
function similarIds(digits: string): string[] {
  const id = `${digits}${confusableEnd}`;
  return [
    id.replace('Q', 'q'),
    id.replace('\u00e9', '\u00c9'),
    id.replace('\u00e9', 'e'),
    withSplitAccent(id),
    id.replace(' ', '  '),
    id.replace(' ', '%20'),
    id.replace('&', '&amp;'),
    // A wildcard of SQL's LIKE.
    id.replace(/7$/, '_'),
    // An invisible space.
    id.replace('a', 'a\u200b'),
    `${id} `,
    `${id}\n`,
    `${id}\0`,
    digits,
    `0${digits}`,
  ];
}

/** Writes é as two characters, which Unicode normalisation joins. */
function withSplitAccent(id: string): string {
  return id.replace('\u00e9', 'e\u0301');
}
