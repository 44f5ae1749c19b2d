import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Round } from '../../bench/measure.ts';
import { newCommand, readFlags } from '../../src/cli/flags.ts';
import type { Findings } from './compare.ts';
import { ContenderProcess, differenceOf } from './contender-process.ts';
import { type Contender, contenders, projectRoot } from './contenders.ts';
import { diskBytes, type Installed } from './install.ts';
import { mockoonData, prismDocument } from './mock-files.ts';
import { addOthersFlags, type OthersOptions, othersOptions } from './options.ts';
import { parseStat, processTree, residentBytes, treeUsage } from './process-tree.ts';
import { othersText, serverResult } from './report.ts';
import { type Body, simulatorReplies } from './simulator-replies.ts';

const folder = mkdtempSync(join(tmpdir(), 'others-'));
afterAll(() => rmSync(folder, { recursive: true }));
const installed: Installed = { folder, cwd: folder, version: '1.2.3', nodeModulesBytes: 41e6 };

function contenderOf(name: string): Contender {
  const found = contenders.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
}

/** A server that answers every send with `status` and `body`, every read with 200 and the same. */
function scripted(status: number, body: Body): Contender {
  const script = `
    const body = ${JSON.stringify(JSON.stringify(body))};
    require('node:http').createServer((request, response) => {
      response.writeHead(request.method === 'POST' ? ${status} : 200).end(body);
    }).listen(Number(process.argv[1]), '127.0.0.1');`;
  return {
    ...contenderOf('fastify'),
    name: 'scripted',
    argv: (_, port) => ['-e', script, `${port}`],
  };
}

function read(...argv: readonly string[]): OthersOptions {
  const command = newCommand('o', '', { out: () => {}, error: () => {}, env: {}, version: '1' });
  addOthersFlags(command);
  readFlags(command, argv, {});
  return othersOptions(command);
}

test('without flags all servers are compared, in a folder outside the project', () => {
  expect(read()).toEqual({
    folder: join(tmpdir(), 'smstwin-others'),
    servers: contenders.map(({ name }) => name),
    rounds: 5,
  });
});

test('every flag sets its option', () => {
  const flags = ['--server', 'prism', '--server', 'prism', '--server', 'mockoon'];
  const options = read(...flags, '--rounds', '2', '--folder', folder, '--report', 'json=a=b');
  expect(options).toEqual({ folder, servers: ['prism', 'mockoon'], rounds: 2, report: 'a=b' });
});

test.each([
  [['--server', 'wiremock'], 'expected smstwin, '],
  [['--rounds', '0'], 'expected a whole number from 1'],
  [['--report', 'html=f'], 'expected json=FILE'],
  [['--folder', projectRoot], 'expected a folder outside the project'],
  [['--folder', join(projectRoot, 'verify/others/x')], 'expected a folder outside the project'],
  [['more'], "unexpected argument 'more'"],
])('%j is refused in one line', (argv, why) => {
  expect(() => read(...argv)).toThrow(why);
});

test('CPU is user and system time, ended children included, for any process name', () => {
  const stat = '42 (a) b (c)) S 7 42 42 0 -1 4194304 100 0 0 0 150 25 4 1 20 0 11 0 900 1 2 3';
  expect(parseStat(stat)).toEqual({ parent: 7, cpuMicros: 1_800_000 });
});

test('resident memory is read in bytes; it is 0 for an ended process', () => {
  expect(residentBytes('Name:\tnode\nVmHWM:\t 9 kB\nVmRSS:\t   2048 kB\n')).toBe(2_097_152);
  expect(residentBytes('Name:\tnode\nState:\tZ (zombie)\n')).toBe(0);
});

test.runIf(process.platform === 'linux')('a process tree includes its children', () => {
  expect(processTree(process.ppid)).toContain(process.pid);
  expect(processTree(process.pid)).not.toContain(process.ppid);
  expect(treeUsage(process.pid)?.rssBytes).toBeGreaterThan(10e6);
  expect(treeUsage(2 ** 30)).toBeUndefined();
});

test('the files of Prism and Mockoon have the simulated routes, statuses and bodies', async () => {
  const { openApi, queued, read: readBody } = await simulatorReplies();
  const paths = prismDocument(openApi)['paths'] as Record<string, { post: { responses: object } }>;
  const statuses = Object.keys(paths['/api/v1/sms/send/']?.post.responses ?? {});
  expect(statuses.filter((status) => status.startsWith('2'))).toEqual(['202']);
  expect(Object.keys(paths)).toEqual(Object.keys(openApi['paths'] as object));
  const { routes } = mockoonData(queued, readBody) as {
    routes: { endpoint: string; responses: { statusCode: number; body: string }[] }[];
  };
  const served = routes.map(({ endpoint, responses: [first] }) => [endpoint, first?.statusCode]);
  expect(served).toEqual([
    ['api/v1/sms/send/', 202],
    ['api/v1/sms/:message_id/', 200],
  ]);
  expect(routes.map(({ responses: [first] }) => JSON.parse(first?.body ?? ''))).toEqual([
    queued,
    readBody,
  ]);
});

test('replies are compared by fields and size, not by values', () => {
  const expected = { status: 'queued', to: '+12025550199' };
  expect(differenceOf('{"to":"+12025550123","status":"failed"}', expected)).toBeUndefined();
  expect(differenceOf('{"status":"queued"}', expected)).toBe('fields status');
  expect(differenceOf('{"status":"queued","to":"+1"}', expected)).toBe('29 bytes for 39');
});

test('a server is started, timed, read and ended', async () => {
  const replies = await simulatorReplies();
  const server = await ContenderProcess.start(scripted(202, replies.queued), installed, replies);
  expect(server.startedMs).toBeGreaterThan(5);
  await server.prepareReads();
  const [request] = server.workload('read').requests;
  expect(request.slot?.next(3)).toBe(replies.queued['message_id']);
  expect(server.usage()?.rssBytes).toBeGreaterThan(10e6);
  await server.stop();
  expect(server.usage()).toBeUndefined();
});

test('a wrong status, a wrong body and an exit are errors that name the server', async () => {
  const replies = await simulatorReplies();
  const start = (contender: Contender) => ContenderProcess.start(contender, installed, replies);
  await expect(start(scripted(200, replies.queued))).rejects.toThrow(
    'scripted: answered 200 instead of 202',
  );
  await expect(start(scripted(202, { status: 'queued' }))).rejects.toThrow(
    "scripted: its 202 differs from the simulator's: fields status",
  );
  const exiting = { ...scripted(202, {}), argv: () => ['-e', 'throw new Error("cannot start")'] };
  await expect(start(exiting)).rejects.toThrow(/scripted: exited with code 1.*cannot start/);
});

test('a folder is as large as its files', () => {
  expect(diskBytes(join(projectRoot, 'verify/others'))).toBeGreaterThan(20_000);
});

function round(cpuMicrosPerRequest: number, requests: number, errors = 0): Round {
  const load = { requests, errors, durationMs: 1_000, late: 0, dropped: 0 } as Round['load'];
  return { load, cpuMicrosPerRequest, rssBytes: 1, serverCores: 1 };
}

function findings(...send: readonly Round[]): Findings {
  return {
    startsMs: [300, 100, 200],
    idleRssBytes: 100e6,
    loadedRssBytes: 200e6,
    rounds: { send: [...send], read: [round(5, 100_149)] },
    sends: 12,
  };
}

const environment = {
  node: 'v1',
  cpus: '2 x X',
  load_average: 0.5,
  started_at: '',
  connections: 64,
};

test('the table shows medians, in Markdown', () => {
  const entrant = { contender: contenderOf('smstwin'), installed };
  const found = findings(round(30, 900), round(10, 700), round(20, 800));
  const result = serverResult(entrant, found);
  expect(result).toMatchObject({ invalid: [], start_ms: 200, sends: 12 });
  const lines = othersText({ ...environment, servers: [result] }).split('\n');
  const cells = lines.map((line) => line.split('|').map((cell) => cell.trim()));
  expect(cells.find(([, name]) => name === 'smstwin 1.2.3')?.slice(2, -1)).toEqual([
    ...['200', '100', '200', '800', '20', '100,100', '5', '41', entrant.contender.what],
  ]);
  expect(
    new Set(lines.filter((line) => line.startsWith('|')).map(({ length }) => length)).size,
  ).toBe(1);
  expect(lines).toContain('smstwin held 12 messages when its memory under load was read');
});

test('a server that failed under load has no load figures', () => {
  const entrant = { contender: contenderOf('prism'), installed };
  const result = serverResult(entrant, findings(round(30, 900, 2)));
  expect(result.send).toEqual({
    requests_per_second: null,
    cpu_us_per_request: null,
    rounds: [30],
  });
  expect(result.loaded_rss_bytes).toBeNull();
  expect(othersText({ ...environment, servers: [result] })).toMatch(
    /INVALID: prism: 2 of \d+ requests/,
  );
});

test('a contender that is only started is valid and has a start time', () => {
  const entrant = { contender: contenderOf('smstwin-sources'), installed };
  const nothing = { ...findings(), rounds: { send: [], read: [] }, idleRssBytes: Number.NaN };
  expect(serverResult(entrant, nothing)).toMatchObject({
    invalid: [],
    start_ms: 200,
    idle_rss_bytes: null,
    send: { requests_per_second: null, cpu_us_per_request: null },
  });
});
