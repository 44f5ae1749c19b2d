/**
 * Paths. Rule: VER-1. Judges only that each path exists, because the document does not show the
 * bodies (`receivedShape`, `statsShape`, …).
 */
import { about, type Case } from '../case.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';

export const ver1PathsCases: readonly Case[] = [
  {
    ...about('VER-1/under-v1', ['sender'], { sends: 1 }),
    spends: { send: 1, received: 1 },
    sends: 'send, read, received and stats under /api/v1/',
    demands: '202, 200, 200, 200',
    run: async (t) => {
      const account = await t.account();
      const body = verify.accepted(await t.send(account));
      verify.message(await t.read(account, String(body['message_id'])), 200);
      for (const path of [paths.received, paths.stats]) {
        const reply = await t.get(path, account.key);
        verify.status(reply, 200);
        verify.declaredJson(reply);
      }
      t.count();
    },
  },
  {
    ...about('VER-1/without-version', ['sender', 'device'], { sends: 2 }),
    spends: { dashboard_send: 1, external_send: 1, tasks: 1 },
    sends: 'dashboard send, external send and device tasks without a version prefix',
    demands: 'they exist: neither 404 nor 405',
    run: async (t) => {
      const account = await t.account();
      const unknown = await t.get('/api/v1/sms/00000000-0000-4000-8000-000000000000/', account.key);
      verify.given(() => verify.status(unknown, 404));
      const deviceId = account.sims[0]?.deviceId ?? '';
      const replies = [
        await t.post(paths.dashboard_send, account.key, t.fields(account)),
        await t.post(paths.external_send, account.key, t.fields(account)),
        await t.get(paths.tasks(deviceId), account.key),
      ];
      for (const reply of replies) {
        const there =
          reply.status >= 200 && reply.status < 500 && ![401, 404, 405].includes(reply.status);
        verify.that(there, 'an existing endpoint', reply);
        verify.declaredJson(reply);
      }
      t.count();
    },
  },
  {
    ...about('VER-1/received-is-no-message-id', ['key']),
    spends: { received: 1 },
    sends: 'a read of received messages, and of an unknown id',
    demands: '200 with JSON for the list, 404 for the unknown id',
    run: async (t) => {
      const account = await t.account();
      const received = await t.get(paths.received, account.key);
      verify.status(received, 200);
      verify.declaredJson(received);
      verify.that(
        !(verify.isObject(received.json) && 'message_id' in received.json),
        'a list, not a message',
        received,
      );
      verify.status(await t.read(account, '00000000-0000-4000-8000-000000000000'), 404);
      t.count();
    },
  },
];
