/**
 * Every operation of `/control/openapi.json` is called with an example, and answers what the document says.
 */
import { expect, test } from 'vitest';
import { plainRequest, sendBy } from '../../../verify/testkit/control-fixture.ts';
import { Simulator } from '../../simulator.ts';
import { openApi } from '../openapi/control-document.ts';
import { controlApi, controlRoutes } from './control-api.ts';

interface Targets {
  readonly account: string;
  readonly key: string;
  readonly device: string;
  readonly message: string;
  readonly fault: string;
  readonly snapshot: unknown;
}

interface Example {
  readonly query?: string;
  readonly body?: unknown;
}

/** What each operation is called with; ids in its path are filled in. */
function examples({ account, snapshot }: Targets): Readonly<Record<string, Example>> {
  const outcomes = [{ to: '+1202555012*', ends: 'failed', in: 'sent', polls: 2 }];
  const endless = { when: { every: 2 }, fault: { kind: 'status', status: 503, body: { a: 1 } } };
  return {
    'GET /control/health': {},
    'GET /control/state': {},
    'GET /control/invariants': { query: 'snapshot=false' },
    'POST /control/reset': {},
    'POST /control/shutdown': {},
    'GET /control/clock': {},
    'PUT /control/clock': { body: { mode: 'scaled', rate: 10 } },
    'POST /control/clock/advance': { body: { by: '24h' } },
    'GET /control/accounts': {},
    'POST /control/accounts': { body: { name: 'hooli', monthly_quota: 'unlimited' } },
    'GET /control/accounts/{account_id}': {},
    'PATCH /control/accounts/{account_id}': { body: { monthly_quota: null } },
    'DELETE /control/accounts/{account_id}': {},
    'GET /control/accounts/{account_id}/keys': {},
    'POST /control/accounts/{account_id}/keys': { body: { name: 'second' } },
    'DELETE /control/keys/{key_id}': {},
    'GET /control/accounts/{account_id}/sims': {},
    'POST /control/accounts/{account_id}/sims': { body: { number: '+12025550177' } },
    'PATCH /control/sims/{device_id}': { body: { allowed: false } },
    'POST /control/sims/{device_id}/poll': {},
    'GET /control/pool': {},
    'GET /control/accounts/{account_id}/received': { query: 'limit=5' },
    'POST /control/accounts/{account_id}/received': {
      body: { from: '+12025550199', to: '+12025550101', message: 'hi' },
    },
    'POST /control/accounts/{account_id}/requests': {
      body: { method: 'GET', path: '/api/v1/account/stats/' },
    },
    'GET /control/messages': { query: `account_id=${account}&status=queued&limit=1` },
    'POST /control/messages/wait': {
      body: { match: { status: 'sent' }, advance: true, timeout_ms: 90_000 },
    },
    'GET /control/messages/{message_id}': {},
    'POST /control/messages/{message_id}/progress': {},
    'POST /control/messages/{message_id}/fail': { body: { reason: 'because' } },
    'GET /control/outcomes': {},
    'PUT /control/outcomes': { body: { outcomes } },
    'GET /control/outcomes/hits': {},
    'GET /control/assumptions': {},
    'PATCH /control/assumptions': { body: { errorBody: 'nested' } },
    'GET /control/assumptions/ledger': {},
    'GET /control/limits': {},
    'PATCH /control/limits': { body: { read: 60, send: null } },
    'POST /control/limits/reset': {},
    'GET /control/limits/buckets': {},
    'GET /control/faults': {},
    'POST /control/faults': { body: endless },
    'DELETE /control/faults': {},
    'DELETE /control/faults/{fault_id}': {},
    'GET /control/requests': { query: 'limit=2' },
    'GET /control/requests/{number}': {},
    'GET /control/events': { query: 'kinds=message,request&every=1' },
    'GET /control/journal': {},
    'GET /control/snapshot': {},
    'PUT /control/snapshot': { body: snapshot },
    'GET /openapi.json': {},
  };
}

const operations = controlRoutes.map((route) => [`${route.method} ${route.path}`, route] as const);

test('the document has every row, and every row an example', () => {
  const document = openApi(controlRoutes);
  const described = Object.entries(document['paths'] as Record<string, object>).flatMap(
    ([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const simulator = new Simulator({ clock: 'manual' });
  const known = Object.keys(examples(targetsOf(simulator)));
  expect([...described].sort()).toEqual([...known].sort());
  void simulator.close();
});

test.each(operations)('%s answers what its schema says', async (name, route) => {
  const simulator = new Simulator({ clock: 'manual' });
  const targets = targetsOf(simulator);
  const { query = '', body } = examples(targets)[name] ?? {};
  const reply = await controlApi(simulator, { host: '127.0.0.1', token: undefined }).control({
    ...plainRequest,
    method: route.method,
    path: pathOf(route.path, targets),
    query,
    body: body === undefined ? '' : JSON.stringify(body),
  });
  expect(reply.status).toBe(route.status);
  if ('open' in reply) reply.open(() => true)();
  else if ('content' in reply) expect(reply.contentType).toBe(route.contentType);
  else if (route.status === 204) expect(reply.body).toBe('');
  else expect(route.result?.safeParse(JSON.parse(reply.body)).error?.issues).toBeUndefined();
  await simulator.close();
});

test.each(operations.filter(([, { path }]) => path.includes('{')))(
  '%s is 404 for what is not there',
  async (name, route) => {
    const simulator = new Simulator({ clock: 'manual' });
    const { body } = examples(targetsOf(simulator))[name] ?? {};
    const reply = await controlApi(simulator, { host: '127.0.0.1', token: undefined }).control({
      ...plainRequest,
      method: route.method,
      path: route.path.replace(/\{\w+\}/, '00000000-0000-4000-8000-000000000000'),
      body: body === undefined ? '' : JSON.stringify(body),
    });
    expect(reply.status).toBe(404);
    await simulator.close();
  },
);

/** A simulator in which there is one of everything. */
function targetsOf(simulator: Simulator): Targets {
  const { message_id: message } = JSON.parse(sendBy(simulator, 0, {}).body);
  const { account_id: account = '' } = simulator.accounts.list()[0] ?? {};
  const { fault_id: fault } = simulator.faults.add({
    when: { probability: 0.5 },
    fault: { kind: 'refuse' },
  });
  sendBy(simulator, 1, { to: '+12025550164' });
  return {
    account,
    message,
    fault,
    key: simulator.accounts.keys(account)[0]?.key_id ?? '',
    device: simulator.sims.list(account)[0]?.device_id ?? '',
    snapshot: simulator.snapshots.take(),
  };
}

function pathOf(path: string, { account, key, device, message, fault }: Targets): string {
  const ids: Readonly<Record<string, string>> = {
    account_id: account,
    key_id: key,
    device_id: device,
    message_id: message,
    fault_id: fault,
    number: '1',
  };
  return path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'unknown');
}
