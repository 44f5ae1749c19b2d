/** The last requests as HAR: the referee's own reader takes it. */
import { expect, test, vi } from 'vitest';
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
    { number: 2, reply: { status: 202 }, isSeen: false, showsKey: true },
    { number: 3, reply: { status: 429 }, retryAfterMs: 60_000 },
  ]);
  await simulator.close();
});

test('a reply that a fault holds is open for as long as it is live', async () => {
  const { simulator, call } = new Twin({});
  const { baseUrl } = await simulator.listen();
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'hang' } });
  const { api_key: key, sims } = simulator.readyFile().accounts[0] ?? {};
  const post = (signal?: AbortSignal) =>
    fetch(`${baseUrl}/api/v1/sms/send/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from: sims?.[0]?.number, message: 'Ready' }),
      ...(signal && { signal }),
    });
  const leaving = new AbortController();
  const held = post(leaving.signal).catch(() => undefined);
  await vi.waitFor(async () =>
    expect((await call('GET', '/control/requests')).json.requests).toHaveLength(1),
  );
  await post();
  leaving.abort();
  await held;
  await vi.waitFor(() => expect(simulator.referee().rules[4]?.verdict).toBe('not_exercised'));
  const { json } = await call('GET', '/control/har');
  const { rules } = judge(await exchangesOfHar(JSON.stringify(json)));
  expect(rules.map(({ verdict }) => verdict)).toEqual(
    simulator.referee().rules.map(({ verdict }) => verdict),
  );
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
