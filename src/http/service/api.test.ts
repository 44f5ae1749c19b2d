import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayMs, minuteMs, secondMs } from '#contract/time.ts';
import { runs } from '#verify/testkit/runs.ts';
import {
  acmeNumber,
  acmeOtherNumber,
  globexNumber,
  poolNumber,
  type Read,
  recipient,
  Twin,
  unknownNumber,
} from '#verify/testkit/twin/twin.ts';

const sendPath = '/api/v1/sms/send/';
const unknownId = 'a0000000-0000-4000-8000-000000000000';

/** Requests that spend a token of each limited endpoint, and one of each that is not limited. */
function call(
  twin: Twin,
  endpoint: string,
  authorization = `Bearer ${twin.key()}`,
  clientIp = '192.0.2.1',
): Read {
  const more = { authorization, clientIp };
  switch (endpoint) {
    case 'send':
      return twin.send({}, more);
    case 'dashboard_send':
      return twin.post('/api/sms/send/', { to: recipient, from: acmeNumber, message: 'x' }, more);
    case 'external_send':
      return twin.post(
        '/api/external/send/',
        { to: recipient, from: acmeNumber, message: 'x' },
        more,
      );
    case 'received':
      return twin.request('GET', '/api/v1/sms/received/', more);
    case 'tasks':
      return twin.request('GET', `/api/devices/${twin.device().deviceId}/tasks/`, more);
    case 'stats':
      return twin.request('GET', '/api/v1/account/stats/', more);
    default:
      return twin.read(unknownId, more);
  }
}

/** Calls until the first 429; how many passed, and what the 429 says. */
function exhaust(
  twin: Twin,
  endpoint: string,
  authorization?: string,
  clientIp?: string,
): [number, Read] {
  for (let passed = 0; passed <= 1_000; passed++) {
    const reply = call(twin, endpoint, authorization, clientIp);
    if (reply.status === 429) return [passed, reply];
  }
  throw new Error('never throttled');
}

test.each([
  ['LIMIT-1', 'send', 120],
  ['LIMIT-2', 'dashboard_send', 120],
  ['LIMIT-3', 'external_send', 120],
  ['LIMIT-4', 'received', 120],
  ['LIMIT-5', 'tasks', 60],
] as const)('%s %s: %i a minute pass, the next is 429 and says when', (_, endpoint, limit) => {
  const twin = new Twin();
  const [passed, refused] = exhaust(twin, endpoint);
  expect(passed).toBe(limit);
  expect(refused.headers['retry-after']).toBe('60');
  expect(refused.json).toEqual({ detail: expect.stringContaining(' 60 seconds') });
  twin.advance(59 * secondMs);
  expect(call(twin, endpoint).status).toBe(429);
  twin.advance(secondMs);
  expect(call(twin, endpoint).status).toBeLessThan(400);
});

test.each(['read', 'stats'])(
  'LIMIT-6 READ-3 %s is not rate-limited, with a key or without',
  (endpoint) => {
    const twin = new Twin();
    const seen = new Set<number>();
    for (let i = 0; i < 500; i++)
      seen.add(call(twin, endpoint).status).add(call(twin, endpoint, 'x').status);
    expect(seen).toEqual(new Set([endpoint === 'read' ? 404 : 200, 401]));
  },
);

test('LIMIT-7 spending one limit leaves the others whole', () => {
  const twin = new Twin();
  exhaust(twin, 'send');
  expect(exhaust(twin, 'dashboard_send')[0]).toBe(120);
  expect(exhaust(twin, 'tasks')[0]).toBe(60);
  expect(twin.read(unknownId).status).toBe(404);
});

test('LIMIT-1 the limit is per account, for any number of keys and SIMs', () => {
  const twin = new Twin();
  const second = twin.simulation.world.createKey(twin.account(), 'second');
  for (let i = 0; i < 60; i++) {
    expect(twin.send().status).toBe(202);
    const reply = twin.send({ from: '+12025550102' }, { authorization: `Bearer ${second.key}` });
    expect(reply.status).toBe(202);
  }
  expect(twin.send({}, { authorization: `Bearer ${second.key}` }).status).toBe(429);
  expect(twin.sendAs('globex', { from: globexNumber }).status).toBe(202);
});

test.each([
  ['limits', { limits: { send: 3 } }, 3],
  ['the world’s limits', { world: { accounts: [{ name: 'acme' }], limits: { send: 2 } } }, 2],
] as const)('LIMIT-1 %s may say another number', (_, settings, limit) => {
  expect(exhaust(new Twin(settings), 'send')[0]).toBe(limit);
});

test('LIMIT-1 noLimits throttles no caller', () => {
  const twin = new Twin({ noLimits: true });
  for (let i = 0; i < 300; i++) expect(twin.send().status).toBe(202);
});

test.each(['sliding', 'continuous', 'interval', 'interval_aligned', 'sliding_counter'] as const)(
  'ERR-3 ERR-4 limiterRefill %s: header and detail state the wait, which is sufficient and tight',
  (limiterRefill) => {
    fc.assert(
      fc.property(fc.array(fc.nat(5_000), { minLength: 6, maxLength: 30 }), (waits) => {
        const play = () => {
          const twin = new Twin({ limits: { send: 5 }, assumptions: { limiterRefill } });
          for (const waitMs of waits) {
            twin.advance(waitMs);
            twin.send();
          }
          return { twin, refused: exhaust(twin, 'send')[1] };
        };
        const { twin, refused } = play();
        const seconds = Number(refused.headers['retry-after']);
        expect(String(refused.json['detail'])).toMatch(new RegExp(` ${seconds} seconds?\\.$`));
        twin.advance(seconds * secondMs);
        expect(twin.send().status).toBe(202);
        const hasty = play().twin;
        hasty.advance((seconds - 1) * secondMs);
        expect(hasty.send().status).toBe(429);
      }),
      { numRuns: runs(8) },
    );
  },
);

test.each([
  ['no', 202],
  ['yes', 429],
] as const)(
  'ERR-3 refusedSpendsToken %s: asked at +30 s too, a send at +60 s is %i',
  (refusedSpendsToken, status) => {
    const twin = new Twin({ limits: { send: 1 }, assumptions: { refusedSpendsToken } });
    twin.send();
    twin.advance(30 * secondMs);
    expect(twin.send().headers['retry-after']).toBe(refusedSpendsToken === 'no' ? '30' : '60');
    twin.advance(30 * secondMs);
    expect(twin.send().status).toBe(status);
  },
);

test.each([
  ['yes', 429],
  ['no', 202],
] as const)(
  'LIMIT-1 errorsSpendToken %s: after a bucketful of refusals a send is %i',
  (errorsSpendToken, status) => {
    const refusals: readonly ((twin: Twin) => Read)[] = [
      (twin) => twin.send({ message: '' }),
      (twin) => twin.send({ from: unknownNumber }),
      (twin) => twin.send({}, { body: '{' }),
      (twin) => twin.send({}, { contentType: 'text/plain' }),
      (twin) => {
        twin.simulation.world.patchDevice(twin.device(), { active: false });
        const reply = twin.send();
        twin.simulation.world.patchDevice(twin.device(), { active: true });
        return reply;
      },
    ];
    for (const refuse of refusals) {
      const twin = new Twin({ limits: { send: 2 }, assumptions: { errorsSpendToken } });
      expect(
        [refuse(twin).status, refuse(twin).status].every((code) => code >= 400 && code !== 429),
      ).toBe(true);
      expect(twin.send().status).toBe(status);
    }
  },
);

test('AUTH-6 a 429 returns no token, even if errors spend no token', () => {
  const twin = new Twin({ limits: { send: 1 }, assumptions: { errorsSpendToken: 'no' } });
  twin.send();
  for (let i = 0; i < 5; i++) expect(twin.send().status).toBe(429);
});

const key = (twin: Twin) => twin.key();

test.each([
  ['Bearer KEY', true],
  ['bearer KEY', true],
  ['BEARER KEY', true],
  ['Bearer   KEY', true],
  ['Bearer\tKEY', true],
  [undefined, false],
  ['', false],
  ['KEY', false],
  ['Bearer', false],
  ['Bearer ', false],
  ['BearerKEY', false],
  ['Basic KEY', false],
  ['Token KEY', false],
  ['Bearer KEYx', false],
  ['Bearer xKEY', false],
  ['Bearer KEY KEY', false],
  ['Bearer KEY, Bearer KEY', false],
  ['Bearer __proto__', false],
])('AUTH-1 AUTH-3 the header %j is accepted: %s', (header, accepted) => {
  const twin = new Twin();
  const authorization = header?.replaceAll('KEY', key(twin));
  const reply = twin.read(unknownId, { authorization });
  expect(reply.status).toBe(accepted ? 404 : 401);
  if (accepted) return;
  expect(reply.json['code']).toBe('auth_invalid_keyy');
  expect(reply.headers).toEqual({ 'www-authenticate': 'Bearer' });
});

test('AUTH-3 a key in another letter case and a revoked key are not valid', () => {
  const twin = new Twin();
  const second = twin.simulation.world.createKey(twin.account(), 'second');
  const authorization = `Bearer ${second.key}`;
  expect(twin.send({}, { authorization }).status).toBe(202);
  expect(twin.send({}, { authorization: `Bearer ${second.key.toLowerCase()}` }).status).toBe(401);
  twin.simulation.world.revokeKey(second);
  expect(twin.send({}, { authorization }).status).toBe(401);
  expect(twin.send().status).toBe(202);
});

test('AUTH-1 every endpoint asks for a key', () => {
  const twin = new Twin();
  for (const endpoint of [
    'send',
    'dashboard_send',
    'external_send',
    'received',
    'tasks',
    'read',
    'stats',
  ]) {
    expect(call(twin, endpoint, 'Bearer x').json['code']).toBe('auth_invalid_keyy');
  }
});

test('AUTH-6 unauthenticated calls are limited by client IP and endpoint, authenticated ones by account', () => {
  const twin = new Twin();
  const [passed, refused] = exhaust(twin, 'send', 'Bearer x', '192.0.2.1');
  expect(passed).toBe(120);
  expect(refused.headers['retry-after']).toBe('60');
  expect(call(twin, 'send', 'Bearer x', '192.0.2.2').status).toBe(401);
  expect(call(twin, 'tasks', 'Bearer x', '192.0.2.1').status).toBe(401);
  expect(call(twin, 'send', undefined, '192.0.2.1').status).toBe(202);
  twin.advance(minuteMs);
  expect(call(twin, 'send', 'Bearer x', '192.0.2.1').status).toBe(401);
});

test('AUTH-6 unauthenticatedThrottle always_401: no address is ever throttled', () => {
  const twin = Twin.assuming({ unauthenticatedThrottle: 'always_401' });
  for (let i = 0; i < 300; i++) expect(call(twin, 'send', 'Bearer x').status).toBe(401);
  twin.simulation.assume({ unauthenticatedThrottle: 'then_429' });
  expect(exhaust(twin, 'send', 'Bearer x')[0]).toBe(120);
});

test('AUTH-6 errorsSpendToken no: a 401 spends nothing either', () => {
  const twin = Twin.assuming({ errorsSpendToken: 'no' });
  for (let i = 0; i < 300; i++) expect(call(twin, 'send', 'Bearer x').status).toBe(401);
});

/** The addresses, of one unauthenticated send after the other, that share a bucket of one. */
function statuses(twin: Twin, forwarded: readonly (string | undefined)[]): number[] {
  return forwarded.map(
    (forwardedFor) => twin.send({}, { authorization: undefined, forwardedFor }).status,
  );
}

test.each([
  ['peer', {}],
  ['x_forwarded_for', { assumptions: { clientIp: 'x_forwarded_for' } }],
  ['x_forwarded_for', { trustProxy: true }],
] as const)('AUTH-6 clientIp %s, by %j', (source, settings) => {
  const twin = new Twin({ limits: { send: 1 }, ...settings });
  const given = [
    '203.0.113.1',
    '198.51.100.7, 203.0.113.2',
    '203.0.113.1, 203.0.113.2',
    undefined,
    '',
  ];
  expect(statuses(twin, given)).toEqual(
    source === 'peer' ? [401, 429, 429, 429, 429] : [401, 401, 429, 401, 429],
  );
});

test('AUTH-6 a client cannot spend an account’s tokens by giving its id as an address', () => {
  const twin = new Twin({ limits: { send: 1 }, assumptions: { clientIp: 'x_forwarded_for' } });
  statuses(twin, [twin.account().accountId]);
  expect(twin.send().status).toBe(202);
});

test('READ-1 the caller’s own message is 200 with its body and the current status', () => {
  const twin = new Twin();
  const first = twin.send({ request_id: 'r' });
  const seen: unknown[] = [];
  for (let i = 0; i < 5; i++) {
    const reply = twin.read(first.json['message_id']);
    expect(reply.status).toBe(200);
    expect({ ...reply.json, status: 'queued' }).toEqual(first.json);
    seen.push(reply.json['status']);
    twin.advance(20 * secondMs);
  }
  expect(seen).toEqual(['queued', 'sending', 'sent', 'delivered', 'delivered']);
});

test('RES-5 STATE-4 a message that failed reads failed, for ever', () => {
  const twin = new Twin();
  const message = twin.accepted({ to: '+12025550161' });
  twin.advance(dayMs);
  expect(twin.read(message.messageId).json['status']).toBe('failed');
});

test.each([
  unknownId,
  'not-a-uuid',
  '..',
  '%2e%2e',
  'constructor',
  '__proto__',
  'a'.repeat(10_000),
])('READ-2 an unknown id (%#) and another account’s answer the same bytes', (id) => {
  const twin = new Twin();
  const foreign = twin.sendAs('globex', { from: globexNumber });
  const other = twin.read(foreign.json['message_id']);
  const none = twin.read(id);
  expect([other.status, other.body]).toEqual([404, '{"detail":"Not found."}']);
  expect(none).toEqual(other);
  expect(
    twin.read(foreign.json['message_id'], { authorization: `Bearer ${twin.key('globex')}` }).status,
  ).toBe(200);
});

test('READ-2 an id in another spelling is another id', () => {
  const twin = new Twin();
  const message = twin.accepted();
  expect(twin.read(message.messageId.toUpperCase()).status).toBe(404);
});

test.each(['send', 'received'])('READ-2 %s is never taken for a message id', (id) => {
  const twin = new Twin();
  expect(twin.read(id).status).toBe(id === 'send' ? 405 : 200);
});

test('RES-1 a HEAD is answered as the GET is', () => {
  const twin = new Twin();
  const message = twin.accepted();
  const path = `/api/v1/sms/${message.messageId}/`;
  expect(twin.request('HEAD', path)).toEqual(twin.request('GET', path));
});

test('AUTH-1 LIMIT-4 a HEAD needs the key and spends the token of the GET', () => {
  const twin = new Twin();
  const received = '/api/v1/sms/received/';
  expect(twin.request('HEAD', received, { authorization: undefined }).status).toBe(401);
  for (let i = 0; i < 60; i++) {
    expect(twin.request('HEAD', received).status).toBe(200);
    expect(twin.request('GET', received).status).toBe(200);
  }
  expect(twin.request('HEAD', received).status).toBe(429);
});

test('AUTH-6 LIMIT-5 the 60 polls a minute count per account, over all its devices', () => {
  const twin = new Twin();
  const poll = (number: string) =>
    twin.request('GET', `/api/devices/${twin.device(number).deviceId}/tasks/`).status;
  for (let i = 0; i < 30; i++)
    expect([poll(acmeNumber), poll(acmeOtherNumber)]).toEqual([200, 200]);
  expect(poll(acmeOtherNumber)).toBe(429);
});

test.each([
  ['405', 'GET', sendPath, 405, 'POST'],
  ['405', 'POST', `/api/v1/sms/${unknownId}/`, 405, 'GET, HEAD'],
  ['405', 'HEAD', sendPath, 405, 'POST'],
  ['405', 'OPTIONS', '/api/v1/account/stats/', 405, 'GET, HEAD'],
  ['404', 'GET', sendPath, 404, undefined],
] as const)(
  'methodNotAllowed %s: %s %s is %i and allows %s, key or not',
  (methodNotAllowed, method, path, status, allow) => {
    const twin = new Twin({ limits: { send: 1 }, assumptions: { methodNotAllowed } });
    for (const authorization of [undefined, `Bearer ${twin.key()}`]) {
      const reply = twin.request(method, path, { authorization });
      expect([reply.status, reply.headers['allow']]).toEqual([status, allow]);
    }
    expect(twin.send().status).toBe(202);
  },
);

test.each([
  ['not_found', 'POST', '/api/v1/sms/send', '', 404, undefined],
  ['redirect', 'POST', '/api/v1/sms/send', '', 301, '/api/v1/sms/send/'],
  ['redirect', 'DELETE', '/api/v1/account/stats', '', 301, '/api/v1/account/stats/'],
  [
    'redirect',
    'GET',
    '/api/v1/sms/received',
    'page=2&page_size=5',
    301,
    '/api/v1/sms/received/?page=2&page_size=5',
  ],
  ['redirect', 'GET', `/api/v1/sms/${unknownId}`, '', 301, `/api/v1/sms/${unknownId}/`],
  ['redirect', 'GET', '/api/v1/sms/x%0d%0aSet-Cookie:a', '', 404, undefined],
  ['redirect', 'GET', '/api/v2/sms/send', '', 404, undefined],
  ['redirect', 'GET', '//evil.example', '', 404, undefined],
  ['redirect', 'GET', '/', '', 404, undefined],
] as const)(
  'trailingSlash %s: %s %s?%s is %i to %s',
  (trailingSlash, method, path, query, status, location) => {
    const twin = Twin.assuming({ trailingSlash });
    const reply = twin.request(method, path, { query, authorization: undefined });
    expect([reply.status, reply.headers['location']]).toEqual([status, location]);
  },
);

test.each(['/', '/api/', '/api/v2/sms/send/', '/favicon.ico', '/control/health'])(
  'VER-1 %s is an unknown path: 404, key or not',
  (path) => {
    const twin = new Twin();
    for (const authorization of [undefined, `Bearer ${twin.key()}`]) {
      const reply = twin.request('GET', path, { authorization });
      expect([reply.status, reply.body]).toEqual([404, '{"detail":"Not found."}']);
    }
  },
);

test('LIMIT-1 the order of the gates: path, method, key, throttle, body', () => {
  const twin = new Twin({ limits: { send: 1 } });
  const broken = { contentType: 'text/plain', body: '{' };
  expect(twin.request('POST', '/x', { ...broken, authorization: undefined }).status).toBe(404);
  expect(twin.request('PUT', sendPath, { ...broken, authorization: undefined }).status).toBe(405);
  expect(twin.request('POST', sendPath, { ...broken, authorization: undefined }).status).toBe(401);
  expect(twin.request('POST', sendPath, broken).status).toBe(415);
  expect(twin.request('POST', sendPath, broken).status).toBe(429);
  twin.advance(minuteMs);
  expect(
    twin.request('POST', sendPath, { ...broken, contentType: 'application/json' }).status,
  ).toBe(400);
});

test('SVC-4 every reply is JSON, and every error an object', () => {
  const twin = new Twin();
  const message = twin.accepted();
  const paths = [
    sendPath,
    '/api/sms/send/',
    '/api/v1/sms/received/',
    '/api/v1/account/stats/',
    `/api/v1/sms/${message.messageId}/`,
    '/x',
    '/api/v1/sms/send',
  ];
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'PUT']) {
      for (const authorization of [`Bearer ${twin.key()}`, undefined]) {
        const { json } = twin.request(method, path, { authorization });
        expect(typeof json === 'object' && json !== null).toBe(true);
      }
    }
  }
});

test('READ-1 received: newest first, page by page, or as an array', () => {
  const twin = new Twin();
  const { world } = twin.simulation;
  for (let i = 0; i < 5; i++) {
    world.receiveMessage(twin.device(), twin.account(), recipient, `text ${i}`);
    twin.advance(secondMs);
  }
  const page = (query: string) => twin.request('GET', '/api/v1/sms/received/', { query });
  const texts = (reply: Read) =>
    (reply.json['results'] as { message: string }[]).map(({ message }) => message);
  expect(texts(page('')).join()).toBe('text 4,text 3,text 2,text 1,text 0');
  const second = page('page=2&page_size=2');
  expect(texts(second)).toEqual(['text 2', 'text 1']);
  expect(second.json).toMatchObject({
    count: 5,
    next: '/api/v1/sms/received/?page=3&page_size=2',
    previous: '/api/v1/sms/received/?page=1&page_size=2',
  });
  expect(texts(page('page=3&page_size=2'))).toEqual(['text 0']);
  expect(page('page=3&page_size=2').json['next']).toBeNull();
  expect(page('page=4&page_size=2').status).toBe(404);
  for (const [query, field] of [
    ['page=0', 'page'],
    ['page=x', 'page'],
    ['page_size=201', 'page_size'],
    ['page_size=', 'page_size'],
  ] as const) {
    expect(page(query).json['code']).toBe(field);
  }
  expect(page('page_size=200').status).toBe(200);
  twin.simulation.assume({ receivedShape: 'array' });
  expect(Array.isArray(page('').json)).toBe(true);
  const other = twin.request('GET', '/api/v1/sms/received/', {
    authorization: `Bearer ${twin.key('globex')}`,
  });
  expect(other.json).toEqual([]);
});

test('AUTH-5 tasks: another account’s device, the pool’s and an unknown one are 404', () => {
  const twin = new Twin();
  for (const id of [
    twin.device(globexNumber).deviceId,
    twin.device(poolNumber).deviceId,
    unknownId,
  ]) {
    expect(twin.request('GET', `/api/devices/${id}/tasks/`).status).toBe(404);
  }
});

test.each(['tasks', 'array'] as const)(
  'STATE-2 tasksShape %s: a task is handed out once',
  (tasksShape) => {
    const twin = Twin.assuming({ tasksShape });
    twin.simulation.world.patchDevice(twin.device(), { polling: 'external' });
    const message = twin.accepted();
    twin.advance(secondMs);
    const poll = () => twin.request('GET', `/api/devices/${twin.device().deviceId}/tasks/`).json;
    const task = {
      message_id: message.messageId,
      to: recipient,
      from_number: acmeNumber,
      message: 'Hello',
    };
    expect(poll()).toEqual(tasksShape === 'tasks' ? { tasks: [task] } : [task]);
    expect(poll()).toEqual(tasksShape === 'tasks' ? { tasks: [] } : []);
  },
);

test('statistics: messages by status, quota, SIMs and inbound messages', () => {
  const twin = Twin.assuming({ monthlyQuota: 3 });
  twin.accepted();
  twin.accepted({ to: '+12025550160' });
  twin.simulation.world.patchDevice(twin.device('+12025550102'), { connected: false });
  twin.advance(dayMs);
  expect(twin.request('GET', '/api/v1/account/stats/').json).toEqual({
    messages: { queued: 0, sending: 0, sent: 0, delivered: 1, failed: 1 },
    quota: { used: 2, limit: 3 },
    sims_connected: 1,
    received: 0,
  });
  twin.simulation.world.patchDevice(twin.device(), { active: false });
  expect(twin.request('GET', '/api/v1/account/stats/').json['sims_connected']).toBe(0);
});

test('SVC-2 the same settings and calls give the same bytes', () => {
  const run = () => {
    const twin = new Twin({ seed: 42, assumptions: { failureRate: 0.3 } });
    const bodies: string[] = [];
    for (let i = 0; i < 30; i++) {
      bodies.push(twin.send({ request_id: `${i % 20}` }).body);
      twin.advance(7_001);
      bodies.push(
        ...Array.from(twin.account().messages, ({ messageId }) => twin.read(messageId).body),
      );
    }
    return bodies;
  };
  expect(run()).toEqual(run());
});
