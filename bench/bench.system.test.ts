/** `smstwin bench` as a user runs it: cases, and audits of a running simulator. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Simulator } from '#src/simulator.ts';
import { newIo } from '#verify/testkit/io-fixture.ts';
import { bench } from './main.ts';
import type { BenchResult } from './report/result.ts';

test('a case is measured with its floors, reported and compared with its thresholds', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'));
  const json = join(directory, 'r.json');
  const html = join(directory, 'r.html');
  const { io, texts } = newIo();
  const flags = ['--scenario', 'throttled', '--duration', '200ms', '--rounds', '1'];
  const few = ['--warm-up', '200', '--held', '1000'];
  const thresholds = ['--slo', 'errors<1', '--slo', 'rps<1'];
  const reports = ['--report', `json=${json}`, '--report', `html=${html}`];
  expect(await bench([...flags, ...few, ...thresholds, ...reports], io)).toBe(7);
  const result = JSON.parse(readFileSync(json, 'utf8')) as BenchResult;
  const [found] = result.cases;
  expect(found?.invalid).toEqual([]);
  expect(found?.cpu_ratio).toBeGreaterThan(0);
  expect(result.held).toBe(1_000);
  expect(Object.keys(found?.servers.service.statuses ?? {})).toContain('429');
  expect(found?.slos).toEqual([
    { slo: 'errors<1', met: true },
    { slo: 'rps<1', met: false },
  ]);
  expect(readFileSync(html, 'utf8')).not.toMatch(/src=|href="(?!#)/);
  expect(texts.out).toContain('CPU per request:');
  expect(texts.error).toContain('throttled: service, round 1 of 1');
});

test('without a native server the service is measured alone and the reason is printed', () => {
  const program = ['--import', 'tsx', 'cli/main.ts', 'bench', '--scenario', 'throttled'];
  const few = '--duration 200ms --rounds 1 --warm-up 200 --held 0 --slo errors<1'.split(' ');
  const { status, stdout } = spawnSync('node', [...program, ...few], {
    encoding: 'utf8',
    env: { ...process.env, SMSTWIN_UWS: '/nowhere' },
  });
  expect(stdout).toMatch(/No ratio: there is no floor\. No usable uWebSockets\.js for /);
  expect(stdout).toMatch(/\n {2}service +\d/);
  expect(stdout).not.toMatch(/\n {2}hyperexpress /);
  expect(stdout).toMatch(/throttled +unknown/);
  expect(status).toBe(0);
});

test.each([
  [401, 'throttled', 'throttled: the API key was refused (401)'],
  [
    403,
    'read',
    /^http\S+ answered a send from \+12025550101 with 403 \{\}; expected 202 with a message_id$/,
  ],
] as const)(
  'sends answered %i in the scenario %s are a usage error',
  async (status, name, line) => {
    const server = createServer((request, response) => {
      response.writeHead(request.method === 'GET' ? 200 : status).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const caller = ['--api-key', 'k', '--from', '+12025550101', '--warm-up', '10'];
    const argv = [`http://127.0.0.1:${port}`, '--scenario', name, ...caller];
    try {
      const failure: unknown = await bench(argv, newIo().io).catch((error: unknown) => error);
      expect(failure).toMatchObject({
        name: 'UsageError',
        lines: [typeof line === 'string' ? line : expect.stringMatching(line)],
      });
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  },
  30_000,
);

test('a run that cannot send leaves no account on the service', async () => {
  const simulator = new Simulator({ noLimits: true });
  const { baseUrl, controlUrl } = await simulator.listen({ control: {} });
  const accounts = simulator.accounts.list().length;
  simulator.faults.add({ when: { every: 1 }, fault: { kind: 'status', status: 503 } });
  const argv = [baseUrl, '--control-url', controlUrl ?? '', '--scenario', 'read'];
  const failure: unknown = await bench(argv, newIo().io).catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: 'UsageError' });
  expect(simulator.accounts.list()).toHaveLength(accounts);
  await simulator.close();
});

test.each([
  [{}, 0, 'every limit held'],
  [{ send: 121 }, 7, 'OVER-ADMISSION'],
  [{ send: 119 }, 7, 'UNDER-ADMISSION'],
])(
  'a running simulator with limits %j is audited over its control port',
  async (limits, code, text) => {
    const simulator = new Simulator({ limits });
    try {
      const { baseUrl, controlUrl } = await simulator.listen({ control: {} });
      const { io, texts } = newIo();
      const flags = ['--scenario', 'limit-audit', '--duration', '500ms'];
      expect(await bench([baseUrl, '--control-url', controlUrl ?? '', ...flags], io)).toBe(code);
      expect(texts.out).toContain(text);
      expect(simulator.accounts.list()).toHaveLength(3);
    } finally {
      await simulator.close();
    }
  },
  30_000,
);
