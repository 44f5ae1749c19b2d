/**
 * Fields that a Message body repeats: the `request_id` and the time of creation. Rules: RES-3,
 * RES-4.
 */
import { about, type Case } from '../case.ts';
import { aPickup, byLives } from '../judge-lives.ts';
import { pollIntervalMs } from '../recorded-lives.ts';
import { wellFormedTime } from '../seen-bodies.ts';
import type { Queued, Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { everyBody, inBoth } from './res-1-message-body.ts';

const longLength = 100;

/** A case that sends each request_id and requires it unchanged in the 202 and in a read. */
function echoed(name: string, sends: string, requestIds: (t: Trial) => readonly string[]): Case {
  return {
    ...about(`RES-3/${name}`, ['sender'], { sends: 2 }),
    sends,
    demands: 'the same request_id in the 202 and in a read of the message',
    run: async (t) => {
      const account = await t.account();
      const stated = t.assumption('requestIdMaxLength');
      const longest = typeof stated === 'number' ? stated : 255;
      for (const request_id of requestIds(t)) {
        if (request_id.length > longest) continue;
        await inBoth(t, account, { request_id }, { request_id });
        t.count();
      }
      if (t.exercised === 0)
        t.lack(`a target that takes request_ids of more than ${longest} characters`);
    },
  };
}

const soonMs = 40;

/** The time from this reply until the target's clock is early in its next second. */
function untilEarly({ body }: Queued): number {
  return 1_000 + soonMs - (Date.parse(String(body['created_at'])) % 1_000);
}

export const res3EchoesCases: readonly Case[] = [
  echoed('request-id-echoed', 'a send with a request_id, and a read of it', (t) => [t.requestId()]),
  echoed(
    'request-id-echoed-as-it-is',
    'request_ids with letter case, quotes, spaces within, letters of other scripts and a combining accent',
    (t) =>
      ['MiXed "quoted" a\\b', 'Ж e\u0301 短 😀'].map(
        (text) => `${t.controlled ? '' : t.requestId()}${text}`,
      ),
  ),
  echoed('spaces-are-echoed', 'a request_id with a leading and a trailing space', (t) => [
    ` ${t.requestId()} `,
  ]),
  {
    ...about('RES-3/long-id-is-echoed', ['sender'], { sends: 1 }),
    sends: 'a send with a request_id of 100 characters, and a read of it',
    demands: 'the whole request_id in the 202 and in a read of the message',
    run: async (t) => {
      const account = await t.account();
      const request_id = t.requestId().padEnd(longLength, 'p');
      const reply = await t.send(account, { request_id });
      if (reply.status === 400)
        t.lack(`a target that takes request_ids of ${longLength} characters (requestIdMaxLength)`);
      const body = verify.given(() => verify.accepted(reply));
      const read = verify.message(await t.read(account, String(body['message_id'])), 200);
      for (const one of [body, read]) verify.equal('request_id', one['request_id'], request_id);
      t.count();
    },
  },
  {
    ...about('RES-3/empty-when-none', ['sender'], { sends: 1 }),
    sends: 'a send without a request_id, and a read of it',
    demands: 'request_id is the empty string',
    run: async (t) => {
      await inBoth(t, await t.account(), {}, { request_id: '' });
      t.count();
    },
  },
  everyBody(
    'RES-4/created-at-utc-milliseconds',
    'created_at with milliseconds and a trailing Z, about now',
    (where, body, { t, now }) => {
      wellFormedTime(where, body);
      const createdAt = String(body['created_at']);
      // A target's clock may differ, but not by a time zone.
      verify.that(
        Math.abs(Date.parse(createdAt) - now) <= (t.controlled ? 10_000 : 15 * 60_000),
        `created_at of ${where} at about ${new Date(now).toISOString()}`,
        createdAt,
      );
    },
  ),
  {
    ...about('RES-4/early-in-a-second', ['sender'], { sends: 2 }),
    alone: true,
    sends: 'a message in the first tenth of a second',
    demands: 'milliseconds with their leading zeros',
    run: async (t) => {
      const account = await t.account();
      const first = await t.queued(account);
      wellFormedTime('the 202', first.body);
      await t.advance(untilEarly(first));
      wellFormedTime('the 202', (await t.queued(account)).body);
      t.count();
    },
  },
  {
    ...about('RES-4/created-at-stays', ['sender'], { sends: 1 }),
    alone: true,
    sends: 'a send, and two reads of it',
    demands: 'created_at is the same in all',
    run: async (t) => {
      const account = await t.account();
      const { body, messageId } = await t.queued(account);
      for (let i = 0; i < 2; i += 1) {
        await t.advance(t.controlled ? 1_500 : 50);
        const read = verify.message(await t.read(account, messageId), 200);
        verify.equal('created_at of a read', read['created_at'], body['created_at']);
      }
      t.count();
    },
  },
  {
    ...about('RES-4/created-at-stays-all-its-life', ['fresh', 'clock'], { sends: 1 }),
    alone: true,
    sends: 'a message, and reads of it until it is final',
    demands: 'created_at is that of the 202, whatever the status',
    run: async (t) => {
      const account = await t.account();
      const { body, messageId } = await t.queued(account);
      for (let i = 0; i < 12; i += 1) {
        await t.advance(Math.max(pollIntervalMs(t) / 2, 5_000));
        const read = verify.message(await t.read(account, messageId), 200);
        verify.equal('created_at of a read', read['created_at'], body['created_at']);
        if (read['status'] !== 'queued') t.count();
      }
    },
    live: byLives((t, lives) => {
      for (const { bodies } of lives)
        for (const body of bodies.slice(1)) {
          verify.equal('created_at of a read', body['created_at'], bodies[0]?.['created_at']);
          t.count();
        }
    }, aPickup),
  },
];
