/** What a Message body repeats: the `request_id` and the time of creation. Rules: RES-3, RES-4. */
import { about, type Case } from '../case.ts';
import { livesInRealTime, pollIntervalMs, recordedLives } from '../recorded-lives.ts';
import * as verify from '../verify.ts';
import { everywhere } from './res-1-message-body.ts';

const utcMilliseconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const base = { needs: ['sender'], cost: { sends: 2 } } as const;

export const res3EchoesCases: readonly Case[] = [
  {
    ...base,
    rule: 'RES-3',
    name: 'request-id-echoed',
    cost: { sends: 1 },
    sends: 'a send with a request_id, a read of it, a replay of it',
    demands: 'the same request_id in each body',
    run: async (t) => {
      const account = await t.account();
      const request_id = t.requestId();
      const { body, messageId } = await t.queued(account, { request_id });
      verify.equal('request_id of the 202', body['request_id'], request_id);
      const read = verify.message(await t.read(account, messageId), 200);
      verify.equal('request_id of the read', read['request_id'], request_id);
      t.count();
    },
  },
  {
    ...base,
    rule: 'RES-3',
    name: 'request-id-echoed-as-it-is',
    sends: 'request_ids with letter case, quotes, spaces within and letters of other scripts',
    demands: 'each is echoed unchanged',
    run: async (t) => {
      const account = await t.account();
      const longest = t.assumption('requestIdMaxLength');
      const room = typeof longest === 'number' ? longest : 255;
      let echoed = 0;
      for (const text of ['MiXed "quoted" a\\b', 'Ж é 短 😀']) {
        const request_id = `${t.controlled ? '' : t.requestId()}${text}`;
        if (room < 64) continue;
        const { body } = await t.queued(account, { request_id });
        verify.equal('request_id of the 202', body['request_id'], request_id);
        echoed += 1;
      }
      if (echoed === 0) t.lack('a target that takes request_ids of 64 characters');
      t.count(echoed);
    },
  },
  {
    ...base,
    rule: 'RES-3',
    name: 'empty-when-none',
    cost: { sends: 1 },
    sends: 'a send without a request_id, and a read of it',
    demands: 'request_id is the empty string',
    run: async (t) => {
      const account = await t.account();
      const { body, messageId } = await t.queued(account);
      verify.equal('request_id of the 202', body['request_id'], '');
      const read = verify.message(await t.read(account, messageId), 200);
      verify.equal('request_id of the read', read['request_id'], '');
      t.count();
    },
  },
  {
    ...base,
    rule: 'RES-4',
    name: 'created-at-utc-milliseconds',
    sends: 'a send, a read of it, a replay of it',
    demands: 'created_at with milliseconds and a trailing Z, about now',
    run: async (t) => {
      const now = await t.now();
      await everywhere(t, (where, body) => {
        const createdAt = String(body['created_at']);
        verify.that(
          utcMilliseconds.test(createdAt) && !Number.isNaN(Date.parse(createdAt)),
          `created_at of ${where} as YYYY-MM-DDTHH:MM:SS.mmmZ`,
          verify.show(body['created_at']),
        );
        // Without levers the target's clock may be off, but not by a time zone.
        const drift = Math.abs(Date.parse(createdAt) - now);
        verify.that(
          drift <= (t.controlled ? 10_000 : 15 * 60_000),
          `created_at of ${where} at about ${new Date(now).toISOString()}`,
          createdAt,
        );
      });
    },
  },
  {
    ...base,
    rule: 'RES-4',
    name: 'created-at-stays',
    cost: { sends: 1 },
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
    alone: true,
  },
  {
    ...about('RES-3/spaces-are-echoed', ['sender'], { sends: 1 }),
    sends: 'a request_id with a space before and behind it',
    demands: 'it is echoed with both',
    run: async (t) => {
      const account = await t.account();
      const request_id = ` ${t.requestId()} `;
      const told = t.assumption('requestIdMaxLength');
      if (typeof told === 'number' && told < request_id.length)
        t.lack('a target that takes request_ids of 3 characters');
      const { body, messageId } = await t.queued(account, { request_id });
      verify.equal('request_id of the 202', body['request_id'], request_id);
      const read = verify.message(await t.read(account, messageId), 200);
      verify.equal('request_id of the read', read['request_id'], request_id);
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
    live: {
      needs: ['sender'],
      judges: [livesInRealTime],
      run: async (t) => {
        for (const { bodies } of await recordedLives(t))
          for (const body of bodies.slice(1)) {
            verify.equal('created_at of a read', body['created_at'], bodies[0]?.['created_at']);
            t.count();
          }
        if (t.exercised === 0) t.lack('a message that is picked up within the wait');
      },
    },
  },
];
