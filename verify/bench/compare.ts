/**
 * `npm run compare -- [folder] [rounds]`: installs other mock servers into a folder (default: a
 * temporary one, removed at the end) and compares them with this checkout, in one run; prints the
 * table of `bench/README.md`. Linux only; WireMock needs `java`. One server runs at a time, loaded
 * by the bench's own generator. Exit code 8: a server failed under load.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { invalidity } from '#bench/load/load-result.ts';
import { type RequestTemplate, sendTemplate } from '#bench/load/workload.ts';
import { cpuOf, median, type Round, runRound, throughputOf } from '#bench/measure.ts';
import { onStopSignal } from '#io/command-error.ts';
import { openApi } from '#src/control/openapi/service-document.ts';
import { freePort } from '#src/http/transport/listening.ts';
import { Simulator } from '#src/simulator.ts';
import { tarball } from '../package/packed.ts';

/** An entry of `contenders.yaml`. Its spec and its files may hold placeholders of `valuesOf`. */
interface Contender {
  readonly name: string;
  /** What npm installs. */
  readonly spec: string;
  /** The texts of its input files, by their paths in its folder. */
  readonly files: Readonly<Record<string, string>>;
  /** Starts it in its folder, on the port that replaces `%port%`. */
  readonly command: readonly string[];
  /** Arguments added to the command before the load. */
  readonly loadArguments?: readonly string[];
}

const [givenFolder, rounds = '5'] = process.argv.slice(2);
const folder = givenFolder ?? mkdtempSync(join(tmpdir(), 'smstwin-compare-'));
const startWithinMs = 60_000;
const connections = 64;
/** Sends in a row: more than the limits of the service allow in a minute. */
const manySends = 130;
/** The process that runs now: npm or a server. */
let child: ChildProcess | undefined;
process.on('exit', () => {
  child?.kill('SIGKILL');
  if (givenFolder === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});
onStopSignal(() => process.exit(130));

function run(cwd: string, words: readonly string[], stdio: StdioOptions = 'ignore') {
  const [program = '', ...argv] = words;
  child = spawn(program, argv, { cwd, stdio });
  return { child, ended: once(child, 'exit') };
}

async function npm(cwd: string, ...argv: readonly string[]): Promise<void> {
  const [code] = await run(cwd, ['npm', ...argv], ['ignore', 'ignore', 'inherit']).ended;
  if (code !== 0) throw new Error(`npm ${argv.join(' ')} ended with ${code}`);
}

/** The only SIM is never polled: no message progresses. */
const sim = { number: '+12025550101', polling: 'external' } as const;
const world = { accounts: [{ name: 'bench', monthly_quota: 'unlimited', sims: [sim] }] } as const;
const simulator = new Simulator({ world });
const key = simulator.readyFile().accounts[0]?.api_key ?? '';
const send = sendTemplate(key, { to: '+12025550199', from: sim.number, message: 'Hello' });
const values = await valuesOf(send);
await simulator.close();
const filled = (text: string) => text.replace(/%(\w+)%/g, (whole, name) => values[name] ?? whole);

function readOf(message: string) {
  const path = `/api/v1/sms/${JSON.parse(message).message_id}/`;
  return { method: 'GET', path, headers: send.headers } as const;
}

/** The values of the placeholders in `contenders.yaml`. */
async function valuesOf({ path, ...init }: typeof send): Promise<Record<string, string>> {
  const queued = await (await simulator.fetch(path, init)).text();
  const { path: readPath, ...readInit } = readOf(queued);
  const read = await (await simulator.fetch(readPath, readInit)).text();
  const [assumptions, limits] = [simulator.assumptions.get(), simulator.limits.get()];
  const document = openApi({ assumptions, limits, baseUrl: 'http://127.0.0.1' }) as {
    readonly paths: Record<string, { post: { responses: Record<string, unknown> } }>;
  };
  // Without the 200 of a replay, because Prism answers with the lowest 2xx.
  delete document.paths[path]?.post.responses['200'];
  mkdirSync(folder, { recursive: true });
  await npm('.', 'pack', '--silent', '--pack-destination', folder);
  const packed = join(folder, tarball);
  const texts = { queued_text: JSON.stringify(queued), read_text: JSON.stringify(read) };
  const files = { world: JSON.stringify(world), openapi: JSON.stringify(document) };
  return { packed, queued, read, ...texts, ...files };
}

/** Starts a server and waits until it answers a send as the simulator does. */
async function started(cwd: string, command: readonly string[]) {
  const port = await freePort(0, '127.0.0.1');
  const words = command.map((word) => word.replace('%port%', `${port}`));
  const startMs = performance.now();
  const { child: server, ended } = run(cwd, words);
  const ask = (change: Partial<RequestTemplate> = {}) => {
    const { path, ...init } = { ...send, ...change };
    return fetch(`http://127.0.0.1:${port}${path}`, init);
  };
  for (;;) {
    const reply = await ask().catch(() => undefined);
    const startedMs = performance.now() - startMs;
    if (reply?.status === 202) {
      const stop = async () => {
        server.kill('SIGKILL');
        await ended;
      };
      const target = { host: '127.0.0.1', port };
      const usage = async () => usageOf(server.pid);
      return { target, ask, startedMs, queued: await reply.text(), usage, stop };
    }
    if (server.exitCode !== null || startedMs > startWithinMs)
      throw new Error(`${cwd} does not answer a send: ${reply?.status}`);
    await sleep(5);
  }
}

type Server = Awaited<ReturnType<typeof started>>;

/** CPU time and memory of the process. `/proc` counts hundredths of a second of CPU. */
function usageOf(pid: number | undefined) {
  const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8');
  const fields = read('stat').split(') ').at(-1)?.split(' ') ?? [];
  const rssBytes = Number(/VmRSS:\s+(\d+)/.exec(read('status'))?.[1]) * 1_024;
  const cpuMicros = (Number(fields[11]) + Number(fields[12])) * 10_000;
  return { kind: 'usage', cpuMicros, rssBytes } as const;
}

const rounded = (value: number) =>
  (value > 1_000 ? Math.round(value / 100) * 100 : Math.round(value)).toLocaleString('en-US');

async function installed({ name, spec, files }: Contender): Promise<string> {
  const own = join(folder, name);
  for (const [file, text] of Object.entries({ 'package.json': '{}', ...files })) {
    mkdirSync(dirname(join(own, file)), { recursive: true });
    writeFileSync(join(own, file), filled(text));
  }
  await npm(own, 'install', '--no-audit', '--no-fund', '--no-package-lock', filled(spec));
  return own;
}

/** What shows how faithful a server is: the statuses for a wrong body, a wrong key, many sends. */
async function statusesOf({ ask }: Server): Promise<string> {
  const wrongKey = { headers: { ...send.headers, authorization: 'Bearer wrong' } };
  const replies = [await ask({ body: '{}' }), await ask(wrongKey)];
  for (let n = 1; n < manySends; n++) await ask();
  replies.push(await ask());
  return replies.map(({ status }) => status).join(', ');
}

/** Requests a second and microseconds of CPU a request, under a load of this request. */
async function figuresOf(server: Server, request: RequestTemplate, status: number) {
  const workload = { requests: [request], expects: [status] } as const;
  const round = (durationMs: number) => runRound(server, workload, { connections, durationMs });
  // Warms the server up; the result does not count.
  await round(3_000);
  const measured: Round[] = [];
  while (measured.length < Number(rounds)) measured.push(await round(1_000));
  const loads = measured.map(({ load }) => load);
  if (invalidity(loads, { isOpenLoop: false }).length === 0)
    return [throughputOf(measured), cpuOf(measured)].map(rounded);
  process.exitCode = 8;
  return ['failed', 'failed'];
}

async function rowOf(contender: Contender): Promise<string[]> {
  const { name, spec, command, loadArguments = [] } = contender;
  const own = await installed(contender);
  let server = await started(own, command);
  const statuses = await statusesOf(server);
  const startsMs = [server.startedMs];
  while (startsMs.length < 3) {
    await server.stop();
    server = await started(own, [...command, ...loadArguments]);
    startsMs.push(server.startedMs);
  }
  const idle = await server.usage();
  const sends = await figuresOf(server, send, 202);
  const reads = await figuresOf(server, { ...readOf(server.queued), body: '' }, 200);
  const loaded = await server.usage();
  await server.stop();
  const version = filled(spec).split(/[@-]/).at(-1)?.replace('.tgz', '');
  const megabytes = [idle, loaded].map(({ rssBytes }) => rounded(rssBytes / 1e6));
  const figures = [...megabytes, ...sends, ...reads];
  return [`${name} ${version}`, rounded(median(startsMs)), statuses, ...figures];
}

const text = readFileSync(new URL('contenders.yaml', import.meta.url), 'utf8');
const rows: (readonly string[])[] = [];
for (const contender of parse(text) as readonly Contender[]) rows.push(await rowOf(contender));
const head = [
  '',
  'start ms',
  `wrong body, wrong key, ${manySends}th send`,
  'RSS MB idle',
  'loaded',
];
const lines = [[...head, 'POST/s', 'CPU µs', 'GET/s', 'CPU µs'], Array(9).fill('---'), ...rows];
process.stdout.write(lines.map((cells) => `| ${cells.join(' | ')} |\n`).join(''));
