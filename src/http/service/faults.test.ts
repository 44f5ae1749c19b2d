import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cuts, faultKinds, mayChangeReply } from '#contract/fault-kinds.ts';
import { faults } from '#verify/testkit/fault-looks.ts';
import { plainRequest, sendBy } from '#verify/testkit/twin/twin.ts';
import { type FaultInput, mostFaults } from '../../config/fault-schema.ts';
import { Simulator } from '../../simulator.ts';

function simulatorWith(...faults: FaultInput[]): Simulator {
  const simulator = new Simulator({ clock: 'manual', noLimits: true });
  for (const fault of faults) simulator.faults.add(fault);
  return simulator;
}

/** Which of `count` sends, from 1, a fault of status 500 has hit. */
function victims(simulator: Simulator, count: number): number[] {
  const hit: number[] = [];
  for (let n = 1; n <= count; n++) if (sendBy(simulator, 0, {}).status === 500) hit.push(n);
  void simulator.close();
  return hit;
}

const broken = { kind: 'status', status: 500 } as const;

test.each<[string, Omit<FaultInput, 'fault'>, number[]]>([
  ['nth', { when: { nth: [2, 5] } }, [2, 5]],
  ['every', { when: { every: 3 } }, [3, 6, 9]],
  ['every, at most twice', { when: { every: 3 }, times: 2 }, [3, 6]],
  ['probability 0', { when: { probability: 0 } }, []],
  ['probability 1', { when: { probability: 1 } }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
  ['another endpoint', { match: { endpoint: 'read' }, when: { every: 1 } }, []],
  ['another recipient', { match: { to: '+1303*' }, when: { every: 1 } }, []],
  ['this recipient', { match: { to: '+1202555*' }, when: { nth: [1] } }, [1]],
  ['another text', { match: { text: 'invoice' }, when: { every: 1 } }, []],
  ['a part of this text', { match: { text: 'ell' }, when: { nth: [2] } }, [2]],
  ['this text to another', { match: { text: 'ell', to: '+1303*' }, when: { every: 1 } }, []],
])('a fault by %s hits exactly its victims', (_name, fault, expected) => {
  expect(victims(simulatorWith({ ...fault, fault: broken }), 10)).toEqual(expected);
});

test.each<[Record<string, string>, number[]]>([
  [{ TraceParent: '0af7651916cd43dd' }, [500, 401, 401, 401, 401]],
  [{ Other: '' }, [500, 401, 401, 500, 401]],
  [{ TraceParent: '01', Other: 'x' }, [500, 401, 401, 401, 401]],
])('a fault by the headers %j strikes what has them', (headers, expected) => {
  const simulator = simulatorWith({ match: { headers }, when: { every: 1 }, fault: broken });
  const statuses = [
    { traceparent: '00-0af7651916cd43dd-01', other: 'x' },
    { traceparent: '' },
    undefined,
    { other: 'x' },
    // A journal keeps no such value, so a replay could not decide the same.
    { traceparent: `0af7651916cd43dd${' '.repeat(1_000)}` },
  ].map((sent) => {
    const request = { ...plainRequest, path: '/api/v1/account/stats/' };
    return simulator.handle({ ...request, headers: sent as Record<string, string> }).status;
  });
  expect(statuses).toEqual(expected);
  void simulator.close();
});

test.each(['Authorization', 'cookie', 'Proxy-Authorization'])(
  'no fault matches on the header %s, which the record would keep',
  (name) => {
    const simulator = simulatorWith();
    const fault = { match: { headers: { [name]: 'x' } }, when: { every: 1 }, fault: broken };
    expect(() => simulator.faults.add(fault)).toThrow('holds a secret: match account_id');
    void simulator.close();
  },
);

test('the same seed affects the same requests, with any other faults', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (probability) => {
      const chance: FaultInput = { when: { probability }, fault: broken };
      const other: FaultInput = { when: { every: 2 }, fault: { kind: 'delay', ms: 1 } };
      const alone = victims(simulatorWith(chance), 40);
      expect(victims(simulatorWith(chance, other), 40)).toEqual(alone);
    }),
    { numRuns: 20 },
  );
});

test('a fault by probability hits about its share', () => {
  const hit = victims(simulatorWith({ when: { probability: 0.3 }, fault: broken }), 1_000).length;
  expect(hit).toBeGreaterThan(250);
  expect(hit).toBeLessThan(350);
});

test.each(faults)('$fault.kind does what its row says to request and reply', ({ fault }) => {
  const simulator = simulatorWith({ when: { nth: [1] }, fault });
  const plain = simulatorWith();
  const [struck, whole] = [sendBy(simulator, 0, {}), sendBy(plain, 0, {})];
  const { isHandled, reply } = faultKinds[fault.kind];
  expect(simulator.state().messages.total).toBe(isHandled ? 1 : 0);
  const own = `\`${reply}\` says isOwn in contract/fault-kinds.ts, but the body is another`;
  if (!mayChangeReply(fault.kind)) expect(struck.body, own).toBe(whole.body);
  const effect = { ...struck.delivery, status: struck.status, isWhole: struck.body === whole.body };
  const seen = 'the fault changes nothing, or `effect` in this test does not show what it changes';
  expect(effect, seen).not.toEqual({ status: 202, isWhole: true });
  if (reply in cuts) expect(struck.delivery).toEqual({ cut: reply });
  void simulator.close();
  void plain.close();
});

test('refuse: nothing happens and nothing is spent', () => {
  const simulator = new Simulator({ clock: 'manual', limits: { send: 1 } });
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'refuse' } });
  expect(sendBy(simulator, 0, {}).delivery).toEqual({ cut: 'close' });
  expect(simulator.state().messages.total).toBe(0);
  expect(sendBy(simulator, 0, {}).status).toBe(202);
  void simulator.close();
});

test('SEND-4 lost_response: accepted, then closed; the retry gets 200 and the one message', () => {
  const simulator = simulatorWith({ when: { nth: [1] }, fault: { kind: 'lost_response' } });
  const lost = sendBy(simulator, 0, { request_id: 'a' });
  expect([lost.status, lost.delivery]).toEqual([202, { cut: 'close' }]);
  const retry = sendBy(simulator, 0, { request_id: 'a' });
  expect([retry.status, retry.body, retry.delivery]).toEqual([200, lost.body, undefined]);
  expect(simulator.state().messages.total).toBe(1);
  void simulator.close();
});

test('truncate and malformed alter the reply of a request that was handled', () => {
  const simulator = simulatorWith(
    { when: { nth: [1] }, fault: { kind: 'truncate' } },
    { when: { nth: [2] }, fault: { kind: 'malformed' } },
  );
  expect(sendBy(simulator, 0, {}).delivery).toEqual({ cut: 'truncate' });
  const malformed = sendBy(simulator, 0, {});
  expect(malformed.status).toBe(202);
  expect(() => JSON.parse(malformed.body)).toThrow(SyntaxError);
  expect(simulator.state().messages.total).toBe(2);
  void simulator.close();
});

test('delays add up, and of the rest the first acts; hits are counted for those that acted', () => {
  const always = { when: { every: 1 } };
  const simulator = simulatorWith(
    { ...always, fault: { kind: 'delay', ms: 20 } },
    { ...always, fault: { kind: 'status', status: 503, body: { code: 'x' } } },
    { ...always, fault: { kind: 'delay', ms: 5 } },
    { ...always, fault: { kind: 'refuse' } },
  );
  expect(sendBy(simulator, 0, {})).toEqual({
    status: 503,
    body: '{"code":"x"}',
    delivery: { delayMs: 25 },
  });
  expect(simulator.faults.list().map(({ seen, hits }) => [seen, hits])).toEqual([
    [1, 1],
    [1, 1],
    [1, 1],
    [1, 0],
  ]);
  void simulator.close();
});

test('one fault is taken away, then all; a fault of one account spares the others', () => {
  const simulator = simulatorWith();
  const [{ account_id = '' } = {}] = simulator.accounts.list();
  const one = simulator.faults.add({ match: { account_id }, when: { every: 1 }, fault: broken });
  expect([sendBy(simulator, 0, {}).status, sendBy(simulator, 1, {}).status]).toEqual([500, 202]);
  simulator.faults.remove(one.fault_id);
  expect(sendBy(simulator, 0, {}).status).toBe(202);
  expect(() => simulator.faults.remove(one.fault_id)).toThrow('no fault has the id');
  simulator.faults.add({ when: { every: 1 }, fault: broken });
  simulator.faults.clear();
  expect(simulator.faults.list()).toEqual([]);
  void simulator.close();
});

test('a mistake in a fault is reported with its path', () => {
  const simulator = simulatorWith();
  const wrong = { when: { probability: 2 }, fault: { kind: 'delay', ms: -1 } } as FaultInput;
  expect(() => simulator.faults.add(wrong)).toThrow(/when.*fault\.ms/);
  void simulator.close();
});

test('faults are bounded, in number and in what each answers', () => {
  const simulator = new Simulator({ clock: 'manual' });
  const fault = { when: { every: 1 }, fault: { kind: 'refuse' } } as const;
  for (let n = 0; n < mostFaults; n++) simulator.faults.add(fault);
  expect(() => simulator.faults.add(fault)).toThrow('there are 1000 faults already');
  simulator.faults.clear();
  const answering = (body: unknown) => () =>
    simulator.faults.add({ when: { every: 1 }, fault: { kind: 'status', status: 500, body } });
  answering('x'.repeat(65_534))();
  const refused = 'expected JSON of at most 65536 characters and 100 levels';
  expect(answering('x'.repeat(65_535))).toThrow(refused);
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;
  expect(answering(nested(101))).toThrow(refused);
  expect(answering(nested(20_000))).toThrow(refused);
  expect(answering(nested(100))).not.toThrow();
  void simulator.close();
});

const forced = (more: object) =>
  ({ when: { every: 1 }, fault: { kind: 'status', status: 429, ...more } }) as FaultInput;

test('ERR-3 ERR-4 a forced 429 without body and headers names the wait of the caller who is throttled', () => {
  const simulator = new Simulator({ clock: 'manual', limits: { send: 1 } });
  sendBy(simulator, 0, {});
  simulator.clock.advance('18500ms');
  simulator.faults.add(forced({}));
  expect(sendBy(simulator, 0, {})).toEqual({
    status: 429,
    body: '{"detail":"Request was throttled. Expected available in 42 seconds."}',
    headers: { 'retry-after': '42' },
  });
  simulator.faults.clear();
  simulator.clock.advance('41s');
  expect(sendBy(simulator, 0, {}).status).toBe(429);
  simulator.clock.advance('1s');
  expect(sendBy(simulator, 0, {}).status).toBe(202);
  void simulator.close();
});

test('ERR-3 a forced 429 for a caller who is not throttled names one second, and spends nothing', () => {
  const simulator = new Simulator({ clock: 'manual', limits: { send: 1 } });
  simulator.faults.add({ ...forced({}), times: 2 });
  for (let n = 0; n < 2; n++) {
    expect(sendBy(simulator, 0, {})).toMatchObject({
      body: '{"detail":"Request was throttled. Expected available in 1 second."}',
      headers: { 'retry-after': '1' },
    });
  }
  expect(sendBy(simulator, 0, {}).status).toBe(202);
  void simulator.close();
});

test('AUTH-6 a forced 429 for a caller without a key names the wait of its address', () => {
  const simulator = new Simulator({ clock: 'manual', limits: { received: 1 } });
  const call = () =>
    simulator.handle({ ...plainRequest, path: '/api/v1/sms/received/', clientIp: '192.0.2.1' });
  expect(call().status).toBe(401);
  simulator.faults.add(forced({}));
  expect(call().headers).toEqual({ 'retry-after': '60' });
  void simulator.close();
});

test.each(['5', 'Fri, 31 Dec 1999 23:59:59 GMT', 'soon', ''])(
  'a status fault answers its headers as they are: Retry-After %j',
  (retryAfter) => {
    const simulator = simulatorWith(
      forced({ headers: { 'Retry-After': retryAfter, 'X-Trace': 'a b' } }),
    );
    expect(sendBy(simulator, 0, {})).toEqual({
      status: 429,
      body: '{"detail":"Injected fault."}',
      headers: { 'retry-after': retryAfter, 'x-trace': 'a b' },
    });
    expect(simulator.faults.list()[0]?.fault).toMatchObject({
      headers: { 'Retry-After': retryAfter },
    });
    void simulator.close();
  },
);

test('ERR-3 a forced 429 with a body of its own still gets Retry-After; one with headers gets those alone', () => {
  const simulator = simulatorWith(
    { ...forced({ body: { a: 1 } }), times: 1 },
    forced({ headers: {} }),
  );
  expect(sendBy(simulator, 0, {})).toEqual({
    status: 429,
    body: '{"a":1}',
    headers: { 'retry-after': '1' },
  });
  expect(sendBy(simulator, 0, {})).toMatchObject({
    headers: {},
    body: '{"detail":"Injected fault."}',
  });
  void simulator.close();
});

test.each<[object, string]>([
  [{ 'x y': 'a' }, 'expected a header name'],
  [{ 'x\r\ny': 'a' }, 'expected a header name'],
  [{ 'x:': 'a' }, 'expected a header name'],
  [{ '': 'a' }, 'expected a header name'],
  [JSON.parse('{"__proto__": "x"}'), 'a header cannot be named __proto__'],
  [JSON.parse('{"x": "y", "__proto__": {}}'), 'a header cannot be named __proto__'],
  [{ x: 'a\r\nSet-Cookie: b' }, 'expected a header value'],
  [{ x: 'a\u0000' }, 'expected a header value'],
  [{ x: 'a\n' }, 'expected a header value'],
  [{ x: 'ü' }, 'expected a header value'],
  [{ x: ' a' }, 'expected a header value'],
  [{ x: 'a'.repeat(1_001) }, '1000'],
  [{ x: 5 }, 'expected'],
  [{ 'Content-Length': '5' }, 'the transport writes content-length itself'],
  [{ 'transfer-encoding': 'chunked' }, 'the transport writes transfer-encoding itself'],
  [{ 'X-A': '1', 'x-a': '2' }, 'x-a is given twice'],
  [
    Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, 'a'])),
    'expected at most 20 headers',
  ],
])('headers of a fault that could break out of the reply are refused: %j', (headers, message) => {
  const simulator = simulatorWith();
  expect(() => simulator.faults.add(forced({ headers }))).toThrow(message);
  expect(simulator.faults.list()).toEqual([]);
  void simulator.close();
});
