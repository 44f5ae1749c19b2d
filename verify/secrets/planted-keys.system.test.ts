/**
 * A key leaves the process only in the reply that creates it, in the start banner and in the ready
 * file. This plants keys, runs a session with everything on, and searches every other byte that
 * left.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { banner } from '#cli/serve/banner.ts';
import { requestLine } from '#cli/serve/serve.ts';
import { conform } from '#conformance/main.ts';
import { SettingsError } from '#io/mistakes.ts';
import { servedOperations } from '#src/control/documents.ts';
import { eventKinds } from '#src/operations/events/activity-events.ts';
import type { ApiKey } from '#src/sim/accounts/account.ts';
import { Registry } from '#src/sim/accounts/registry.ts';
import { Simulation } from '#src/simulation/simulation.ts';
import { type SettingsInput, Simulator } from '#src/simulator.ts';
import { sendBy } from '../testkit/twin/twin.ts';

const explicitKey = 'a-key-that-stands-in-the-world-file-0123456789';
const settings: SettingsInput = {
  clock: 'manual',
  seed: 11,
  world: {
    accounts: [
      {
        name: 'acme',
        keys: [{ name: 'explicit', key: explicitKey }, { name: 'drawn' }],
        sims: [{ number: '+12025550101' }],
      },
      { name: 'globex', sims: [{ number: '+12025550111' }] },
    ],
    pool: [{ number: '+12025550190' }],
  },
};
const reportKinds = ['text', 'junit', 'json', 'html', 'markdown', 'github'];

/** Every key that was ever made, the harness's own included. */
const keys = new Set<string>();
/** Keys of the worlds that the session creates. */
const keysOfHostedWorlds = new Set<string>();

class WatchedRegistry extends Registry {
  override createKey(...given: Parameters<Registry['createKey']>): ApiKey {
    const key = super.createKey(...given);
    // A past that is rebuilt from the journal knows a key by its digest alone.
    if (!key.key.startsWith('sha256=')) keys.add(key.key);
    return key;
  }
}

/** All text that left the process, by its place. */
const outputs = new Map<string, string>();
let folder: string;
let createdReply: string;
let published: string;

function record(where: string, text: string): void {
  outputs.set(where, `${outputs.get(where) ?? ''}${text}\n`);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-keys-'));
  const simulator = new Simulator(settings, {
    journal: join(folder, 'run.ndjson'),
    onNotice: (line) => record('notices', line),
    simulation: (parsed, startMs) => new Simulation(parsed, startMs, { Registry: WatchedRegistry }),
  });
  for (const format of ['text', 'json'] as const) {
    simulator.activity.listen('request', (request) => {
      record(`log ${format}`, requestLine(format, request));
    });
  }
  simulator.activity.openStream((event) => record('events', JSON.stringify(event)), {
    kinds: eventKinds,
    every: true,
  });
  const { baseUrl, controlUrl } = await simulator.listen({
    control: {},
    onInternalError: (error) => record('internal errors', String(error)),
  });
  const control = controlUrl ?? '';
  const ready = simulator.readyFile();
  const options = { settings, host: '127.0.0.1', port: 0, control: false } as const;
  const rest = { transport: 'node', readyFile: undefined } as const;
  published =
    JSON.stringify(ready) + banner(ready, { ...options, ...rest }, { version: '1', env: {} });
  await useService(simulator, baseUrl);
  createdReply = await useControl(simulator, control);
  await useHarness(baseUrl, control);
  // The world that a restore makes is another class, so the harness makes its keys before.
  await readControl(simulator, control, 'before a restore');
  const snapshot = await (await fetch(`${control}/control/snapshot`)).text();
  await fetch(`${control}/control/snapshot`, { method: 'PUT', body: snapshot });
  await readControl(simulator, control, 'after a restore');
  await simulator.close();
  for (const name of readdirSync(folder))
    record(`file ${name}`, readFileSync(join(folder, name), 'utf8'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function useService(simulator: Simulator, baseUrl: string): Promise<void> {
  const [acme] = simulator.readyFile().accounts;
  sendBy(simulator, 0, { request_id: 'a' });
  sendBy(simulator, 0, { to: 'nonsense' });
  const schemes = ['Bearer', 'bearer', 'Basic', 'Bearer Bearer', 'Token'];
  const faults = [{ kind: 'malformed' }, { kind: 'status', status: 418 }] as const;
  for (const fault of faults) simulator.faults.add({ when: { every: 3 }, fault });
  for (const scheme of schemes) {
    for (const key of [acme?.api_key ?? '', (acme?.api_key ?? '').toUpperCase()]) {
      const headers = { authorization: `${scheme} ${key}`, 'content-type': 'application/json' };
      for (const path of ['/api/v1/account/stats/', '/api/v1/sms/x/', '/api/v1/account/stats']) {
        const reply = await fetch(`${baseUrl}${path}`, { headers });
        record('service', `${JSON.stringify([...reply.headers])} ${await reply.text()}`);
      }
    }
  }
  simulator.faults.clear();
}

/** The reply that shows a new key. */
async function useControl(simulator: Simulator, control: string): Promise<string> {
  const [acme] = simulator.accounts.list();
  const account = `${control}/control/accounts/${acme?.account_id}`;
  const post = async (path: string, body: unknown) =>
    (await fetch(`${account}${path}`, { method: 'POST', body: JSON.stringify(body) })).text();
  const created = await post('/keys', { name: 'planted' });
  record('exchange', await post('/requests', { method: 'GET', path: '/api/v1/account/stats/' }));
  record('twice', await post('/sims', { number: '+12025550101' }));
  simulator.accounts.revokeKey(simulator.accounts.keys(acme?.account_id ?? '')[1]?.key_id ?? '');
  simulator.clock.advance('1d');
  return created;
}

/** Every row that only reads, with its ids filled in. */
async function readControl(simulator: Simulator, control: string, when: string): Promise<void> {
  const [account] = simulator.accounts.list();
  const [message] = simulator.messages.list();
  const requests = simulator.requests.list();
  const world = simulator.worlds.create({});
  const ids = {
    '{account_id}': account?.account_id,
    '{message_id}': message?.message_id,
    '{device_id}': simulator.sims.all()[0]?.device_id,
    '{number}': String(requests[0]?.number),
    '{world_id}': world.world_id,
  };
  const queries: Readonly<Record<string, string>> = {
    'requests.trace': `?message_id=${message?.message_id}`,
    'past.situation': `?message_id=${message?.message_id}`,
    'past.at': `?time=${simulator.clock.state().now}`,
  };
  for (const { api_key: key } of world.accounts) {
    keys.add(key);
    keysOfHostedWorlds.add(key);
  }
  for (const { number } of requests)
    record(`request ${when}`, JSON.stringify(simulator.requests.get(number)));
  for (const { verb, path, name } of servedOperations) {
    if (verb !== 'GET' || name === 'events.stream') continue;
    const filled = Object.entries(ids).reduce(
      (all, [name, id]) => all.replace(name, id ?? ''),
      path,
    );
    const query = queries[name] ?? '';
    const reply = await fetch(`${control}${filled}${query}`);
    // No test file can hold an explicit key, which this message was sent with.
    expect([path, reply.status]).toEqual([path, name === 'past.situation' ? 409 : 200]);
    record(`${path} ${when}`, await reply.text());
  }
}

/** Runs `conform` on a simulator of its flags, and on one whose control port it is given. */
async function useHarness(baseUrl: string, control: string): Promise<void> {
  const io = {
    out: (text: string) => record('harness', text),
    error: (text: string) => record('harness', text),
    signal: new AbortController().signal,
  };
  const cases = ['AUTH-2', 'AUTH-3', 'SEND-3', 'RES-1'];
  const flags = ['--api-key', explicitKey, '--from', '+12025550101', '--to', '+12025550123'];
  for (const [name, more] of [
    ['flags', flags],
    ['control', ['--control-url', control]],
  ] as const) {
    const reports = reportKinds
      .filter((kind) => kind !== 'text')
      .flatMap((kind) => ['--report', `${kind}=${join(folder, `${name}.${kind}`)}`]);
    await conform([baseUrl, ...cases, ...more, ...reports, '--timeout', '10s'], io);
  }
}

test('AUTH-2 a key is in the reply that creates it, in the banner and in the ready file', () => {
  const { key } = JSON.parse(createdReply);
  expect(keys).toContain(key);
  expect(published.split(explicitKey).length).toBeGreaterThan(3);
});

test('AUTH-2 a key is in nothing else that leaves: journal, snapshot, log, events, control replies, reports', () => {
  expect(keys.size).toBeGreaterThan(10);
  expect(outputs.size).toBeGreaterThan(60);
  for (const where of ['log text', 'log json', 'events', 'file run.ndjson', 'file control.html'])
    expect([where, (outputs.get(where) ?? '').length > 300]).toEqual([where, true]);
  const leaks = [...outputs].flatMap(([where, text]) =>
    [...keys]
      .filter((key) => text.includes(key.slice(-20)))
      // A world shows the keys with which it was created, and none created later.
      .filter(
        (key) => !where.startsWith('/control/worlds/{world_id}') || !keysOfHostedWorlds.has(key),
      )
      .map(() => where),
  );
  expect(leaks).toEqual([]);
});

test('AUTH-2 a key in settings that cannot be used is not repeated', () => {
  const world = { accounts: [{ name: 'a', keys: [{ name: 'k', key: `${explicitKey} ` }] }] };
  expect(() => new Simulator({ world } as SettingsInput)).toThrow(SettingsError);
  expect(() => new Simulator({ world } as SettingsInput)).not.toThrow(explicitKey);
});
