/** Values of `request_id` that differ slightly. Rule: SEND-4. */
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import type { Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { replayed } from './send-4-replay.ts';

/** Lengths to try, the longest first; most are common sizes of a database column. */
const lengths = [300, 255, 200, 128, 64, 36, 20];

/** A `request_id` of digits only, to detect ids that are read as numbers. */
function digits(t: Trial): string {
  return t.controlled
    ? '7'
    : `${Math.floor(t.target.clock.now())}${Math.floor(Math.random() * 90) + 10}`;
}

/** Sends each id once and requires a message of its own. */
class DistinctIds {
  readonly #t: Trial;
  readonly #account: Subject;
  readonly #firsts = new Map<string, Reply>();

  constructor(t: Trial, account: Subject) {
    this.#t = t;
    this.#account = account;
  }

  /** False if the target refuses this value with 400, which it may. */
  async add(request_id: string): Promise<boolean> {
    const reply = await this.#t.send(this.#account, { request_id });
    if (reply.status === 400) return false;
    verify.accepted(reply);
    this.#firsts.set(request_id, reply);
    return true;
  }

  /** Requires that the id, if it was accepted, replays its own message. */
  async replay(request_id: string): Promise<void> {
    const first = this.#firsts.get(request_id);
    if (first === undefined) return;
    replayed(await this.#t.send(this.#account, { request_id }), first);
  }
}

export const send4InexactIdsCases: readonly Case[] = [
  {
    ...about('SEND-4/nearly-the-same-id', ['sender'], { sends: 19 }),
    sends:
      'request_ids that differ in letter case, an accent or its encoding, white space, an escape, a wildcard, an invisible character or a leading zero',
    demands: '202 for each; those that a service might change then replay their own message',
    run: async (t) => {
      const id = digits(t);
      const rich = `${id}Q\u00e9 a&7`;
      const stated = t.assumption('requestIdMaxLength');
      if (typeof stated === 'number' && stated < rich.length)
        t.lack('a target that takes request_ids of a few characters (requestIdMaxLength)');
      const ids = new DistinctIds(t, await t.account());
      if (!(await ids.add(rich)))
        t.lack('a target that takes request_ids with letters, spaces and signs');
      const decomposed = rich.replace('\u00e9', 'e\u0301');
      for (const variant of [
        rich.replace('Q', 'q'),
        rich.replace('\u00e9', '\u00c9'),
        rich.replace('\u00e9', 'e'),
        decomposed,
        rich.replace(' ', '  '),
        rich.replace(' ', '%20'),
        rich.replace('&', '&amp;'),
        // A wildcard of SQL's LIKE.
        rich.replace(/7$/, '_'),
        rich.replace('a', 'a\u200b'),
        `${rich} `,
        `${rich}\n`,
        `${rich}\0`,
        id,
        `0${id}`,
      ])
        await ids.add(variant);
      // A UUID means the same in capitals, a request_id does not.
      const uuid = `abcdefab-cdef-4abc-8abc-${id.slice(-12).padStart(12, '0')}`;
      if (await ids.add(uuid)) await ids.add(uuid.toUpperCase());
      for (const request_id of [`${rich} `, decomposed]) await ids.replay(request_id);
      t.count();
    },
  },
  {
    ...about('SEND-4/last-letter-tells-ids-apart', ['sender'], { sends: 5 }),
    sends: 'two request_ids of the longest accepted length that differ in the last character alone',
    demands: '202 for both, two messages; the first replays its own',
    run: async (t) => {
      const stated = t.assumption('requestIdMaxLength');
      const ids = new DistinctIds(t, await t.account());
      const start = digits(t);
      for (const length of typeof stated === 'number' ? [Math.min(stated, 300)] : lengths) {
        const long = start.padEnd(length, 'p').slice(0, length - 1);
        if (!(await ids.add(`${long}1`))) continue;
        await ids.add(`${long}2`);
        await ids.replay(`${long}1`);
        return t.count();
      }
      t.lack(`a target that takes request_ids of ${lengths.at(-1)} characters`);
    },
  },
];
