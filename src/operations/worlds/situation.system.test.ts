/**
 * Each situation is copied as a test and run as it is: with Vitest in one process, with pytest
 * against a server. It is red where the requests break a rule for clients, and green where not.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { requestTo } from '#verify/testkit/twin/request.ts';
import { acmeOtherNumber, sendBy, Twin } from '#verify/testkit/twin/twin.ts';
import { Simulator } from '../../simulator.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
// Inside the checkout, so that Vitest is found.
const folder = mkdtempSync(join(root, 'build-situations-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Query = Parameters<Simulator['past']['situation']>[0];
interface Case {
  readonly broken?: readonly string[];
  readonly make: (simulator: Simulator) => Query;
}

const idOf = (body: string) => JSON.parse(body).message_id as string;

const cases: Readonly<Record<string, Case>> = {
  'a lost reply and its retry': {
    make: (simulator) => {
      simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_response' } });
      const id = idOf(sendBy(simulator, 0, { request_id: 'a' }).body);
      simulator.clock.advance('2s');
      sendBy(simulator, 0, { request_id: 'a' });
      return { message_id: id };
    },
  },
  'a message that was sent twice': {
    // Only the referee of a finished client finds it, as the old request_id could come back.
    broken: ['CLIENT-3', 'CLIENT-5'],
    make: (simulator) => {
      simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_response' } });
      sendBy(simulator, 0, { request_id: 'a' });
      simulator.clock.advance('2s');
      sendBy(simulator, 0, { request_id: 'b' });
      for (let n = 0; n < 50; n++) sendBy(simulator, 0, { request_id: `${n}`, message: `${n}` });
      simulator.faults.add({ when: { nth: [9] }, fault: { kind: 'lost_response' } });
      return { number: 1 };
    },
  },
  'a message that waits for its SIM': {
    make: (simulator) => {
      const sim = simulator.sims.all().find(({ number }) => number === acmeOtherNumber);
      simulator.sims.patch(sim?.device_id ?? '', { connected: false });
      const id = idOf(sendBy(simulator, 0, { from: acmeOtherNumber }).body);
      simulator.clock.advance('10m');
      return { message_id: id };
    },
  },
  'a retry that came too early': {
    broken: ['CLIENT-1'],
    make: (simulator) => {
      simulator.limits.patch({ send: 1 });
      sendBy(simulator, 0, { request_id: 'a' });
      sendBy(simulator, 0, { request_id: 'b' });
      simulator.clock.advance('3s');
      sendBy(simulator, 0, { request_id: 'b' });
      return { number: 3 };
    },
  },
  'a 429 that was waited for': {
    make: (simulator) => {
      simulator.limits.patch({ send: 1 });
      sendBy(simulator, 0, { request_id: 'a' });
      sendBy(simulator, 0, { request_id: 'b' });
      simulator.clock.advance('60s');
      const id = idOf(sendBy(simulator, 0, { request_id: 'b' }).body);
      return { message_id: id };
    },
  },
  'a scripted recipient': {
    make: (simulator) => {
      const id = idOf(sendBy(simulator, 1, { to: '+12025550161' }).body);
      simulator.clock.advance('1h');
      return { message_id: id };
    },
  },
  'a spent quota': {
    make: (simulator) => {
      const account = simulator.accounts.list()[0];
      simulator.accounts.patch(account?.account_id ?? '', { monthly_quota: 0 });
      sendBy(simulator, 0, { request_id: 'a' });
      return { number: 1 };
    },
  },
  'a request that is never handled, and one that is malformed': {
    make: (simulator) => {
      simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_request' } });
      simulator.faults.add({ when: { nth: [2] }, fault: { kind: 'malformed' } });
      for (let n = 0; n < 3; n++) {
        sendBy(simulator, 0, { request_id: 'a' });
        simulator.clock.advance('5s');
      }
      return { number: 3 };
    },
  },
  'a held message among many others': {
    make: (simulator) => {
      for (let n = 0; n < 50; n++) sendBy(simulator, 1, { message: `other ${n}` });
      const sendAt = new Date(simulator.clock.now() + 3_600_000).toISOString();
      const id = idOf(sendBy(simulator, 0, { send_at: sendAt, request_id: 'a' }).body);
      simulator.clock.advance('30m');
      return { message_id: id };
    },
  },
  'the world after a line, with a key that was made': {
    make: (simulator) => {
      const { account_id: id } = simulator.accounts.create({ name: 'hooli' });
      const { key } = simulator.accounts.createKey(id, { name: 'first' });
      simulator.sims.create(id, { number: '+12025550177' });
      const authorization = `Bearer ${key}`;
      const fields = { to: '+12025550123', from: '+12025550177', message: "It's here" };
      const body = JSON.stringify(fields);
      const more = { method: 'POST', authorization, body, contentType: 'application/json' };
      simulator.handle(requestTo('/api/v1/sms/send/', more));
      simulator.clock.advance('1h');
      sendBy(simulator, 0, {});
      return { entry: 6 };
    },
  },
  'a message as it was after a line, before more requests': {
    make: (simulator) => {
      sendBy(simulator, 0, { request_id: 'a' });
      const id = idOf(sendBy(simulator, 0, { request_id: 'b' }).body);
      simulator.clock.advance('1h');
      sendBy(simulator, 0, { request_id: 'c' });
      return { message_id: id, entry: 3 };
    },
  },
};

test('all situations run as they were copied, in Vitest: red where a client rule is broken', async () => {
  const alias = { smstwin: `${root}src/api.ts` };
  // Vitest's own timeout of 5 s ends a test on a busy machine.
  const config = `export default ${JSON.stringify({ resolve: { alias }, test: { testTimeout: 120_000 } })};`;
  writeFileSync(join(folder, 'vitest.config.mjs'), config);
  for (const [index, { make }] of Object.values(cases).entries()) {
    const { simulator } = new Twin();
    const text = simulator.past.situation(make(simulator));
    writeFileSync(join(folder, `situation-${index}.test.ts`), text);
    await simulator.close();
  }
  const results = await vitestIn(folder);
  for (const [index, [name, { broken = [] }]] of Object.entries(cases).entries()) {
    const { message } = results[`situation-${index}.test.ts`] ?? {};
    // Every other assertion held, as the one on client rules is the last.
    const found = [...(message ?? '').matchAll(/CLIENT-\d+/g)].map(([id]) => id);
    const isGreen = broken.length === 0;
    // A message says why a test is red that should be green.
    expect([name, isGreen ? message : message !== undefined, new Set(found)]).toEqual([
      name,
      isGreen ? undefined : true,
      new Set(broken),
    ]);
  }
});

test('a test up to a line shows the message as it was then, or says that it was not sent yet', async () => {
  const { simulator } = new Twin();
  const after = cases['a message as it was after a line, before more requests']?.make(simulator);
  const text = simulator.past.situation(after ?? {});
  expect(text).toContain('a message to +12025550123 is queued');
  expect(text).toContain('"request_id":"b"');
  expect(text).not.toContain('"request_id":"c"');
  const before = { ...after, entry: 2 };
  expect(() => simulator.past.situation(before)).toThrow('none of its requests up to line 2');
  await simulator.close();
});

test('a test keeps only the requests that its situation needs, and says if it cannot', async () => {
  const { simulator } = new Twin();
  const held = cases['a held message among many others']?.make(simulator) ?? {};
  expect(simulator.past.situation(held).match(/await send\('POST/g)).toHaveLength(1);
  expect(simulator.past.situation({}).match(/await send\('POST/g)).toHaveLength(51);
  const { simulator: other } = new Twin();
  cases['a message that was sent twice']?.make(other);
  const titles = [
    'request 1, whose reply was lost, and its retries',
    'request 2, answered 202, and the other attempts',
  ];
  for (const number of [1, 2]) {
    const text = other.past.situation({ number });
    expect(text).toContain(`test("${titles[number - 1]}", async`);
    expect(text.match(/await send\('POST|faults\.add/g)).toHaveLength(3);
  }
  await other.close();
  expect(() => simulator.past.situation({ number: 999 })).toThrow('no longer has the requests');
  const python = simulator.past.situation({ language: 'pytest' });
  expect(python).toMatch(/^import json\n/);
  for (const { api_key: key } of simulator.readyFile().accounts) expect(python).not.toContain(key);
  await simulator.close();
  const silent = new Simulator({ clock: 'manual' }, { journal: false });
  expect(() => silent.past.situation({})).toThrow('no journal is kept');
  await silent.close();
});

/** Runs the tests of a folder. Returns the message of each that failed, by its file. */
async function vitestIn(cwd: string): Promise<Readonly<Record<string, { message?: string }>>> {
  const command = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', cwd];
  // On a busy machine, a test takes seconds that waits for a reply that never comes.
  const flags = ['--reporter', 'json', '--maxWorkers', '1', '--no-isolate'];
  flags.push('--testTimeout', '60000');
  const { stdout } = await promisify(execFile)(process.execPath, [...command, ...flags], {
    cwd,
    env: { ...process.env, VITEST: undefined },
  }).catch((failed: { stdout: string }) => failed);
  const { testResults } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as {
    testResults: {
      name: string;
      status: string;
      assertionResults: { failureMessages: string[] }[];
      message: string;
    }[];
  };
  return Object.fromEntries(
    testResults.map(({ name, status, assertionResults, message }) => [
      name.slice(name.lastIndexOf('/') + 1),
      status === 'passed'
        ? {}
        : { message: assertionResults.flatMap((one) => one.failureMessages).join() || message },
    ]),
  );
}
