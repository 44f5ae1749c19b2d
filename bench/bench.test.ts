/** Flags and targets that `smstwin bench` refuses, each with one line that says why. */
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { Simulator } from '#src/simulator.ts';
import { hostileServers, serveHostile } from '#verify/hostile/hostile-servers.ts';
import { newIo } from '#verify/testkit/io-fixture.ts';
import { bench } from './main.ts';
import { scenarioNames } from './scenarios/bench-case.ts';

test.each([
  [['--scenario', 'sends'], 'expected send, read'],
  [['--scenario', 'endurance'], 'expected send, read, throttled, mixed or limit-audit'],
  [['--slo', 'p99'], 'expected a threshold'],
  [
    ['--scenario', 'limit-audit', '--slo', 'p99<1us'],
    '--slo p99<1us: no case of this run measures it',
  ],
  [['--scenario', 'send', '--slo', 'growth<1%'], 'expected a threshold'],
  [['--rate', '10000000'], 'expected a whole number from 1 to 9999999'],
  [['--connections', '99999999999'], 'expected a whole number from 1 to 9999999'],
  [['--report', 'pdf=x'], 'expected one of json, html'],
  [['--report', 'html=/nonexistent/x'], '/nonexistent/x cannot be written'],
  [['--report', 'json=/'], '/ cannot be written'],
  [['--duration', '10'], 'expected a duration from 100ms to 24h, such as 10s'],
  [['--to', 'x'], '--to x: expected a number in E.164'],
  [['--held', '1', 'http://127.0.0.1:1'], "--held needs bench's own simulator"],
  [['--limit', 'send=5', 'http://127.0.0.1:1'], "--limit needs bench's own simulator"],
  [['--api-key', 'k'], '--api-key needs a base_url'],
  [
    ['http://127.0.0.1:1', '--api-key', 'k\n', '--from', '+1'],
    '--api-key: holds a character that no header can carry',
  ],
  [['http://192.0.2.1/', '--api-key', 'k', '--from', '+12025550101'], 'is not this machine'],
  [['http://127.0.0.1:1'], 'needs --api-key and --from, or --control-url'],
])('%j is refused', async (argv, why) => {
  await expect(bench(argv, newIo().io)).rejects.toThrow(why);
});

/** The address of a server that has closed. */
async function closedAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

test.each([
  ['--api-key', 'k', '--from', '+12025550101'],
  ['--control-url', 'http://127.0.0.1:1'],
])('an unreachable target is named and not measured: exit 3', async (...flags) => {
  const target = await closedAddress();
  const { io, texts } = newIo();
  await expect(bench([target, ...flags], io)).rejects.toMatchObject({
    exitCode: 3,
    lines: [`${target} is not reachable: ECONNREFUSED; start it, or name another address`],
  });
  expect(texts).toEqual({ out: '', error: '' });
});

test('an unreachable or wrong control port is named: exit 3', async () => {
  const simulator = new Simulator();
  try {
    const { baseUrl } = await simulator.listen();
    const silent = await closedAddress();
    for (const [url, line] of [
      [silent, `${silent} is not reachable: ECONNREFUSED; start it, or name another address`],
      [baseUrl, `${baseUrl} is not a control port: /control/health answered 404`],
    ] as const) {
      const { io, texts } = newIo();
      const run = bench([baseUrl, '--control-url', url], io);
      await expect(run).rejects.toMatchObject({ exitCode: 3, lines: [line] });
      expect(texts).toEqual({ out: '', error: '' });
    }
  } finally {
    await simulator.close();
  }
});

test('a control port with a token is read with it, and another token is a usage error', async () => {
  const simulator = new Simulator();
  try {
    const urls = await simulator.listen({ control: { token: 'right' } });
    const controlUrl = urls.controlUrl ?? '';
    const argv = [urls.baseUrl, '--control-url', controlUrl, '--scenario', 'limit-audit'];
    const flags = ['--duration', '100ms', '--control-token'];
    for (const token of [[], ['--control-token', 'wrong']]) {
      const line = `--control-token: ${controlUrl} requires another token (401)`;
      await expect(bench([...argv, ...token], newIo().io)).rejects.toThrow(line);
    }
    expect(await bench([...argv, ...flags, 'right'], newIo().io)).toBe(0);
  } finally {
    await simulator.close();
  }
});

test.each(scenarioNames)('AUTH-3 a wrong key is a usage error in the scenario %s', async (name) => {
  const simulator = new Simulator();
  try {
    const { baseUrl, controlUrl } = await simulator.listen({ control: {} });
    const caller = ['--api-key', 'wrong-key', '--from', '+12025550101'];
    const argv = [baseUrl, '--scenario', name, ...caller, '--control-url', controlUrl ?? ''];
    const failure: unknown = await bench(argv, newIo().io).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'UsageError',
      lines: [`--api-key: ${baseUrl} refuses this key (401)`],
    });
  } finally {
    await simulator.close();
  }
});

test.each([
  ['body of 600 MB', 'a body of more than 131072 bytes'],
  ['endless body', 'a body of more than 131072 bytes'],
  ['nested brackets', 'nests deeper than 64 levels'],
  ['body cut short', 'the reply broke off'],
  ['redirect to itself', 'with 302'],
  ['ids with control characters', 'expected 202 with a message_id'],
  ['fields of another type', 'expected 202 with a message_id'],
])('a server with %s is refused in one line', async (name, why) => {
  const server = await serveHostile(hostileServers[name] ?? (() => {}));
  const argv = [server.baseUrl, '--api-key', 'k', '--from', '+12025550101', '--scenario', 'read'];
  await expect(bench(argv, newIo().io)).rejects.toThrow(why);
  server.close();
});
