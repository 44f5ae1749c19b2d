/**
 * Cases about the identity of a `request_id`, which a service might confuse, change, cut or forget.
 * Rule: SEND-4. Two different ids are two messages, however little they differ; and the service
 * knows an id for 24 hours, however many messages come after it.
 */
import type { RuleId } from '#contract/rules.ts';
import { dayMs, hourMs, isoTime, minuteMs, secondMs } from '#contract/time.ts';
import { floodOf } from '../floods/floods.ts';
import { about, type Case } from '../run/case.ts';
import { recorded } from '../run/recording.ts';
import type { Trial } from '../run/trial.ts';
import type { Need } from '../target/target.ts';
import { originalReply, replayCase, sendFirst } from './send-4.ts';

const needs = ['sender'] as const;
const idOfOtherScripts = 'Жé短😀';
/** Long enough for an id that is new today, and short enough for every service. */
const startLength = 9;
/**
 * The end of an id, of characters that a service might confuse with others, drop, or take for the
 * end of an id.
 */
const confusableEnd = "Q\u00e9 Aa&'-:/?#;,|.=@7";
/** Texts that some languages take for none, for nothing, or for a member of every object. */
const idsLikeNone = ['0', 'null', 'false', 'constructor'];
/** The first id, the similar ones, two UUIDs, the replays of two similar ones, and the last ones. */
const sendsOfSimilarIds = 1 + similarIds('').length + 2 + 2 + 2 * idsLikeNone.length;

/** The number of later messages after which the service must still know an id. */
const manyMessages = 100;
/** The length of the last `request_id` of a flood with a control port. */
const floodIdLength = 'id-100'.length;

const clockNeeds: readonly Need[] = ['fresh', 'clock'];

/** The service must know a `request_id` for 24 hours. */
const justBeforeExpiryMs = dayMs - secondMs;
const justAfterExpiryMs = dayMs + secondMs;

export const send4IdCases: readonly Case[] = [
  about('SEND-4/ids-of-any-script', needs, 3, {
    also: ['SEND-3'],
    mustRunAlone: true,
    sends:
      'a short request_id with letters of other scripts and an emoji, twice; then with another emoji',
    demands: '202, then 200 and the original body, byte for byte; 202 for the other',
    steps: async (t) => {
      requireIdLength(t, [...idOfOtherScripts].length);
      const account = await t.account();
      const start = t.hasControl ? '' : t.requestId().slice(-startLength);
      const fields = { request_id: `${start}${idOfOtherScripts}` };
      await t.send(account, fields);
      // Two sends at one instant have no order: either may be the original.
      if (t.hasControl) await t.advance(secondMs);
      await t.send(account, fields);
      // Some collations of databases take all emoji for one.
      await t.send(account, { request_id: fields.request_id.replace('😀', '😡') });
    },
  }),
  about('SEND-4/nearly-the-same-id', needs, sendsOfSimilarIds, {
    sends:
      'request_ids that differ in the case or width of a letter, an accent or its encoding, white space, an escape, a wildcard, an invisible character, a collision of hashes, a hyphen, a quote, what follows a delimiter or a leading zero; the first message_id; "0", "null", "false" and "constructor" twice',
    demands: '202 for each; those that a service might change then replay their own message',
    steps: async (t) => {
      const digits = idOfDigits(t);
      const id = `${digits}${confusableEnd}`;
      requireIdLength(t, id.length);
      const account = await t.account();
      const sendUnder = (request_id: string) => t.send(account, { request_id });
      const first = await sendUnder(id);
      if (first.status === 400)
        t.lack('a target that takes request_ids with letters, spaces and signs');
      for (const similar of similarIds(digits)) await sendUnder(similar);
      // A message's own UUID is no request_id that was used, and in capitals it is another one.
      const uuid = String(Object(first.json).message_id);
      if ((await sendUnder(uuid)).status !== 400) await sendUnder(uuid.toUpperCase());
      for (const replayed of [`${id} `, withSplitAccent(id)]) await sendUnder(replayed);
      for (const text of idsLikeNone) {
        // Another run of the last day may have used it.
        const { status } = await sendUnder(text);
        if (status === 202) await sendUnder(text);
        else if (status === 200) t.exchanges.pop();
      }
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
  about('SEND-4/many-later-messages', needs, 1, {
    recordings: [floodOf.send],
    sends: 'a replay after more than 100 later messages with request_ids of their own',
    demands: originalReply,
    steps: async (t) => {
      requireIdLength(t, floodIdLength);
      const flooded = await recorded(t, floodOf.send);
      if (flooded.replies.length <= manyMessages) t.lack(`${manyMessages} later messages`);
      if (t.hasControl) await t.advance(hourMs);
      await t.send(flooded.account, flooded.first.fields);
    },
  }),
  replayCase('unused-for-nearly-24-hours', {
    needs: clockNeeds,
    event: 'one second less than 24 hours, in which the id was not used',
    cause: (t) => t.advance(justBeforeExpiryMs),
  }),
  agesCase('SEND-4/within-24-hours', {
    agesMs: [hourMs, 12 * hourMs, 23 * hourMs + minuteMs, justBeforeExpiryMs],
    sends: 'replays after 1, 12, 23 hours and one second before 24 hours',
    demands: originalReply,
  }),
  agesCase('SEND-4/new-after-24-hours', {
    agesMs: [23 * hourMs, justAfterExpiryMs],
    sends: 'the same request_id after 23 hours, and again one second after 24 hours',
    demands: '200, then a new message: a replay does not prolong the window',
  }),
  about('SEND-4/held-message-after-24-hours', clockNeeds, 2, {
    sends: 'a message held for 30 hours, and its request_id again one second after 24 hours',
    demands: 'a new message: the 24 hours begin with the first use, not with send_at',
    steps: async (t) => {
      const most = t.assumption('sendAtMaxAheadDays');
      if (typeof most === 'number' && most < 2)
        t.lack('a target that takes a send_at 30 hours ahead (sendAtMaxAheadDays)');
      const account = await t.account();
      const send_at = isoTime(t.now() + 30 * hourMs);
      const fields = await sendFirst(t, account, { send_at });
      await t.advance(justAfterExpiryMs);
      await t.send(account, fields);
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
export function idOfDigits(t: Trial): string {
  return t.hasControl
    ? '7'
    : `${Math.floor(t.target.clock.now())}${Math.floor(Math.random() * 90) + 10}`;
}

/** Ids that a service might confuse with the id that ends in `confusableEnd`. */
function similarIds(digits: string): string[] {
  const id = `${digits}${confusableEnd}`;
  return [
    id.replace('Q', 'q'),
    id.replace('Q', '\uff31'),
    id.replace('\u00e9', 'e'),
    withSplitAccent(id),
    id.replace(' ', '  '),
    id.replace(' ', '%20'),
    id.replace(' ', '+'),
    id.replace('-', '_'),
    id.replace('&', '&amp;'),
    // The same in the hash that Java computes of a text.
    id.replace('Aa', 'BB'),
    id.replace('-', ''),
    id.replace("'", ''),
    // A wildcard of SQL's LIKE. It also differs only after each of the delimiters.
    id.replace(/7$/, '_'),
    // An invisible space.
    id.replace('a', 'a\u200b'),
    `${id} `,
    `${id}\n`,
    `${id}/`,
    `${id}\0`,
    digits,
    `0${digits}`,
  ];
}

/** Writes é as two characters, which Unicode normalisation joins. */
function withSplitAccent(id: string): string {
  return id.replace('\u00e9', 'e\u0301');
}

interface AgesPlan extends Pick<Case, 'sends' | 'demands'> {
  readonly agesMs: readonly number[];
}

/** A case that sends a message, and its `request_id` again when it has each of these ages. */
function agesCase(id: `${RuleId}/${string}`, { agesMs, ...texts }: AgesPlan): Case {
  return about(id, clockNeeds, agesMs.length + 1, {
    ...texts,
    steps: async (t, account) => {
      const sentAt = t.now();
      const fields = await sendFirst(t, account);
      for (const ageMs of agesMs) {
        await t.control.advanceTo(sentAt + ageMs);
        await t.send(account, fields);
      }
    },
  });
}
