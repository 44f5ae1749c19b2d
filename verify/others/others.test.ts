import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  ContenderProcess,
  differenceOf,
  parseStat,
  processTree,
  treeUsage,
} from './contender-process.ts';
import {
  type Body,
  type Contender,
  contenders,
  mockoonData,
  prismDocument,
  simulatorReplies,
} from './contenders.ts';
import { type Findings, tableOf } from './main.ts';

const folder = mkdtempSync(join(tmpdir(), 'others-'));
afterAll(() => rmSync(folder, { recursive: true }));

const [smstwin] = contenders;
if (smstwin === undefined) throw new Error('no contender');

/** A server that answers every send with `status` and `body`, every read with 200 and the same. */
function scripted(status: number, body: Body): Contender {
  const script = `
    const body = ${JSON.stringify(JSON.stringify(body))};
    require('node:http').createServer((request, response) => {
      response.writeHead(request.method === 'POST' ? ${status} : 200).end(body);
    }).listen(Number(process.argv[1]), '127.0.0.1');`;
  return {
    ...(smstwin as Contender),
    name: 'scripted',
    argv: (_, port) => ['-e', script, `${port}`],
  };
}

test('CPU is user and system time, ended children included, for any process name', () => {
  const stat = '42 (a) b (c)) S 7 42 42 0 -1 4194304 100 0 0 0 150 25 4 1 20 0 11 0 900 1 2 3';
  expect(parseStat(stat)).toEqual({ parent: 7, cpuMicros: 1_800_000 });
});

test.runIf(process.platform === 'linux')('a process tree includes its children', () => {
  expect(processTree(process.ppid)).toContain(process.pid);
  expect(processTree(process.pid)).not.toContain(process.ppid);
  expect(treeUsage(process.pid)?.rssBytes).toBeGreaterThan(10e6);
  expect(treeUsage(2 ** 30)).toBeUndefined();
});

test('the files of Prism and Mockoon have the simulated routes, statuses and bodies', async () => {
  const { openApi, queued, read } = await simulatorReplies();
  const paths = prismDocument(openApi)['paths'] as Record<string, { post: { responses: object } }>;
  const statuses = Object.keys(paths['/api/v1/sms/send/']?.post.responses ?? {});
  expect(statuses.filter((status) => status.startsWith('2'))).toEqual(['202']);
  expect(Object.keys(paths)).toEqual(Object.keys(openApi['paths'] as object));
  const { routes } = mockoonData({ queued, read }) as {
    routes: { endpoint: string; responses: { statusCode: number; body: string }[] }[];
  };
  const served = routes.map(({ endpoint, responses: [first] }) => [
    endpoint,
    first?.statusCode,
    JSON.parse(first?.body ?? ''),
  ]);
  expect(served).toEqual([
    ['api/v1/sms/send/', 202, queued],
    ['api/v1/sms/:message_id/', 200, read],
  ]);
});

test('replies are compared by fields and size, not by values', () => {
  const expected = { status: 'queued', to: '+12025550199' };
  expect(differenceOf('{"to":"+12025550123","status":"failed"}', expected)).toBeUndefined();
  expect(differenceOf('{"status":"queued"}', expected)).toBe('fields status');
  expect(differenceOf('{"status":"queued","to":"+1"}', expected)).toBe('29 bytes for 39');
});

test.runIf(process.platform === 'linux')(
  'a server is started, timed, loaded and ended',
  async () => {
    const replies = await simulatorReplies();
    const server = await ContenderProcess.start(scripted(202, replies.queued), folder, replies);
    expect(server.startedMs).toBeGreaterThan(5);
    const { failed, perSecond } = await server.load('send', 1, 200);
    expect(failed).toBe(0);
    expect(perSecond).toBeGreaterThan(0);
    await server.stop();
    expect(() => server.usage()).toThrow('exited during the comparison');
  },
);

test('a wrong status, a wrong body and an exit are errors that name the server', async () => {
  const replies = await simulatorReplies();
  const start = (contender: Contender) => ContenderProcess.start(contender, folder, replies);
  await expect(start(scripted(200, replies.queued))).rejects.toThrow(
    'scripted: answered 200 instead of 202',
  );
  await expect(start(scripted(202, { status: 'queued' }))).rejects.toThrow(
    "scripted: its 202 differs from the simulator's: fields status",
  );
  const exiting = { ...scripted(202, {}), argv: () => ['-e', 'throw new Error("cannot start")'] };
  await expect(start(exiting)).rejects.toThrow(/scripted: exited with code 1.*cannot start/);
});

function findings(...cpu: readonly (readonly [micros: number, perSecond: number])[]): Findings {
  const roundOf = ([cpuMicrosPerRequest = 0, perSecond = 0]) => ({
    cpuMicrosPerRequest,
    perSecond,
    failed: 0,
  });
  return {
    contender: smstwin as Contender,
    installed: { folder, version: '1.2.3', nodeModulesBytes: 41e6 },
    startsMs: [300, 100, 200],
    idleRssBytes: 100e6,
    loadedRssBytes: 200e6,
    rounds: { send: cpu.map((one) => roundOf([...one])), read: [roundOf([5, 100_149])] },
  };
}

function cellsOf(found: Findings): string[] {
  const lines = tableOf([found]).trimEnd().split('\n');
  expect(new Set(lines.map(({ length }) => length)).size).toBe(1);
  return (lines.at(-1) ?? '').split('|').map((cell) => cell.trim());
}

test('the table shows medians, in Markdown', () => {
  const found = findings([30, 900], [10, 700], [20, 800]);
  expect(cellsOf(found).slice(1, -1)).toEqual([
    ...['smstwin 1.2.3', '200', '100', '200', '800', '20', '100,100', '5', '41'],
    found.contender.what,
  ]);
});

test('a server that failed under load has no load figures', () => {
  const found = findings([30, 900]);
  found.rounds.read.push({ perSecond: 1, cpuMicrosPerRequest: 1, failed: 2 });
  expect(cellsOf(found).slice(4, 9)).toEqual(['–', '–', '–', '–', '–']);
});
