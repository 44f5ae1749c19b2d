/** The trace of one intent: what its client sent and saw, and what became of the message. */
import { expect, test } from 'vitest';
import { servicePaths } from '#contract/routes.ts';
import { bearer, requestTo } from '#verify/testkit/twin/request.ts';
import { sendBy, Twin } from '#verify/testkit/twin/twin.ts';

test('requests, a fault, a replay, statuses, reads and findings of one intent are in order', async () => {
  const { simulator, call } = new Twin({ limits: { send: 2 } });
  sendBy(simulator, 0, { message: 'another intent' });
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_response' } });
  const { message_id: id } = JSON.parse(sendBy(simulator, 0, { request_id: 'a' }).body);
  simulator.clock.advance('1s');
  sendBy(simulator, 0, { request_id: 'a' });
  simulator.clock.advance('1s');
  sendBy(simulator, 0, { request_id: 'a' });
  simulator.clock.advance('2m');
  sendBy(simulator, 0, { request_id: 'a' });
  const [account] = simulator.readyFile().accounts;
  const path = servicePaths.read.replace('{message_id}', id);
  simulator.handle(requestTo(path, { authorization: bearer(account?.api_key) }));
  const { json } = await call('GET', `/control/trace?message_id=${id}`);
  expect(json).toMatchObject({ account: 'acme', request_id: 'a', message_id: id, omitted: 0 });
  const events = json.events as { kind: string; number: number | null; text: string | null }[];
  expect(events.map(({ kind, number, text }) => text ?? `${kind} ${number}`)).toEqual([
    'request 2',
    'queued',
    'retry 3',
    'retry 4',
    expect.stringMatching(/^CLIENT-1: /),
    'sending',
    'sent',
    'delivered',
    'replay 5',
    'read 6',
  ]);
  expect(events[0]).toMatchObject({ seen: false, fault: { cut: 'close' } });
  expect(events[2]).toMatchObject({ reply: 429, retry_after_ms: expect.any(Number) });
  const byNumber = await call('GET', '/control/trace?number=5');
  expect(byNumber.json).toEqual(json);
  expect((await call('GET', '/control/trace?number=99')).status).toBe(404);
  expect((await call('GET', '/control/trace')).status).toBe(400);
  await simulator.close();
});
