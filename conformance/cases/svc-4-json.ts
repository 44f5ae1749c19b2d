/** All bodies are JSON, also those of refusals. Rule: SVC-4. */
import { about, type Case } from '../case.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';
import { withHeader } from './auth-1-keys.ts';
import { patchSim } from './auth-4-sender-numbers.ts';

export const svc4JsonCases: readonly Case[] = [
  {
    ...about('SVC-4/successes-are-json', ['sender', 'device'], { sends: 4 }),
    spends: { send: 2, dashboard_send: 1, external_send: 1, received: 1, tasks: 1 },
    sends: 'a good request to each of the seven endpoints, and a replay',
    demands: 'JSON bodies, declared as application/json',
    run: async (t) => {
      const account = await t.account();
      const fields = t.fields(account, { request_id: t.requestId() });
      const { messageId } = await t.queued(account, fields);
      const deviceId = account.sims[0]?.deviceId ?? '';
      const replies = [
        await t.post(paths.send, account.key, fields),
        await t.post(paths.dashboard_send, account.key, t.fields(account)),
        await t.post(paths.external_send, account.key, t.fields(account)),
        await t.read(account, messageId),
        await t.get(paths.received, account.key),
        await t.get(paths.stats, account.key),
        await t.get(paths.tasks(deviceId), account.key),
      ];
      for (const reply of replies) {
        if (reply.status >= 300) continue;
        verify.declaredJson(reply);
        t.count();
      }
    },
  },
  {
    ...about('SVC-4/refusals-are-json', ['key']),
    sends: 'a good request, one without a key, one for an unknown id',
    demands: 'JSON bodies, declared as application/json',
    run: async (t) => {
      const account = await t.account();
      const good = await withHeader(t, `Bearer ${account.key}`);
      verify.given(() => verify.status(good, 200));
      verify.declaredJson(good);
      const none = await withHeader(t, undefined);
      verify.status(none, 401);
      verify.declaredJson(none);
      const unknown = await t.read(account, '00000000-0000-4000-8000-000000000000');
      verify.status(unknown, 404);
      verify.declaredJson(unknown);
      t.count();
    },
  },
  {
    ...about('SVC-4/refused-senders-are-json', ['fresh'], { sends: 5 }),
    sends: 'refusals with 400, 402, 403 and 503',
    demands: 'JSON bodies, declared as application/json',
    run: async (t) => {
      const account = await t.account({ sims: 2, quota: 1 });
      await patchSim(t, account, 1, { active: false });
      const refusals = [
        await t.send(account, { message: 'x'.repeat(1601) }),
        await t.send(account, { from: t.control.unusedNumber() }),
        await t.send(account, { from: account.sims[1]?.number }),
      ];
      const { reply } = await t.queued(account);
      verify.declaredJson(reply);
      refusals.push(await t.send(account));
      for (const [index, status] of [400, 403, 503, 402].entries()) {
        const refusal = refusals[index];
        if (refusal === undefined) continue;
        verify.status(refusal, status);
        verify.declaredJson(refusal);
        t.count();
      }
    },
    live: {
      needs: ['sender'],
      cost: { sends: 4 },
      run: async (t) => {
        const account = await t.account();
        const { inactiveFrom, unknownFrom, exhaustedApiKey, exhaustedFrom } = t.target.flags;
        const refusals = [await t.send(account, { message: 'x'.repeat(1601) })];
        for (const from of [unknownFrom, inactiveFrom])
          if (from !== undefined) refusals.push(await t.send(account, { from }));
        if (exhaustedApiKey !== undefined)
          refusals.push(
            await t.send({ key: exhaustedApiKey, from: exhaustedFrom ?? account.from, sims: [] }),
          );
        for (const refusal of refusals) {
          verify.status(refusal, 400, 402, 403, 503);
          verify.declaredJson(refusal);
          t.count();
        }
      },
    },
  },
];
