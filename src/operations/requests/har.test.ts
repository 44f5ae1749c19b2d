/** The last requests as HAR: the referee's own reader takes it. */
import { expect, test } from 'vitest';
import { judge } from '#judging/client/judge.ts';
import { exchangesOfHar } from '#verify/testkit/traffic-text.ts';
import { sendBy, Twin } from '#verify/testkit/twin/twin.ts';

test('GET /control/har gives the last requests in order, and the referee reads them', async () => {
  const { simulator, call } = new Twin({ limits: { send: 2 } });
  const key = simulator.readyFile().accounts[0]?.api_key ?? '';
  simulator.faults.add({ when: { nth: [2] }, fault: { kind: 'lost_response' } });
  sendBy(simulator, 0, { request_id: 'a' });
  sendBy(simulator, 0, { request_id: 'b', message: key });
  sendBy(simulator, 0, { request_id: 'c' });
  const { json } = await call('GET', '/control/har');
  const text = JSON.stringify(json);
  expect(text).not.toContain(key);
  expect(json.log.entries[2]).toMatchObject({
    _number: 3,
    _smstwin: { repeats: null, fault: null, fault_id: null },
    startedDateTime: '2026-01-01T00:00:00.000Z',
    request: { method: 'POST', url: 'http://localhost/api/v1/sms/send/' },
    response: { status: 429 },
  });
  expect(await exchangesOfHar(text)).toMatchObject([
    {
      number: 1,
      endpoint: 'send',
      reply: { status: 202 },
      isSeen: true,
      fields: { request_id: 'a' },
    },
    { number: 2, reply: { status: 202 }, isSeen: false },
    { number: 3, reply: { status: 429 }, retryAfterMs: 60_000 },
  ]);
  await simulator.close();
});

test('requests at one instant of a manual clock are judged as they are live', async () => {
  const { simulator, call } = new Twin({ limits: { send: 2 } });
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'delay', ms: 250 } });
  for (const id of ['a', 'b', 'c', 'c']) sendBy(simulator, 0, { request_id: id });
  for (let n = 0; n < 2; n++) sendBy(simulator, 1, {});
  const { json } = await call('GET', '/control/har');
  // However long they took: that is real time, and the instants are simulated.
  for (const entry of json.log.entries) {
    entry.time += 5;
    entry._smstwin.duration_ms += 5;
  }
  const { rules } = judge(await exchangesOfHar(JSON.stringify(json)));
  const found = (reports: readonly { id: string; findings: readonly { what: string }[] }[]) =>
    reports.flatMap(({ id, findings }) => findings.map(({ what }) => `${id} ${what}`));
  expect(found(rules)).toContainEqual(expect.stringMatching(/^CLIENT-1 /));
  expect(found(rules)).toEqual(found(simulator.referee().rules));
  await simulator.close();
});
