import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Twin } from '#verify/testkit/twin/twin.ts';

test('a filtered list of messages lets other requests run in between, and is complete', async () => {
  const { call, send, simulator } = new Twin({ noLimits: true });
  const many = 30_000;
  const one = JSON.parse(send({ message: 'the only one' }).body) as { message_id: string };
  for (let n = 0; n < many; n++) send({});
  let turns = 0;
  let isDone = false;
  const others = (async () => {
    while (!isDone) {
      await setImmediate();
      turns++;
    }
  })();
  const { json } = await call('GET', '/control/messages?text=only');
  isDone = true;
  await others;
  expect(turns).toBeGreaterThan(1);
  expect(json.messages.map((each: typeof one) => each.message_id)).toEqual([one.message_id]);
  expect(json).toEqual(simulator.messages.page({ text: 'only' }));
});
