/**
 * `npm run compare -- [folder] [rounds]`: installs other mock servers into a folder (default: a
 * temporary one) and compares them with this checkout, in one run; prints the table of
 * `bench/README.md`. Linux only; WireMock needs `java`. All servers run at once and are loaded in
 * turn, by the bench's own generator. Exit code 8: a server failed under load.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { median } from '#bench/load/load-result.ts';
import { runLoad } from '#bench/load/run-load.ts';
import { type RequestTemplate, sendTemplate } from '#bench/load/workload.ts';
import { openApi } from '#src/control/openapi/service-document.ts';
import { freePort } from '#src/http/transport/listen-on.ts';
import { createSimulator } from '#src/simulator.ts';

interface Contender {
  readonly name: string;
  readonly spec: string;
  readonly files: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly loaded?: readonly string[];
}

const [folder = mkdtempSync(join(tmpdir(), 'smstwin-compare-')), rounds = '5'] =
  process.argv.slice(2);
const starts = 3;
const startWithinMs = 60_000;
const kinds = ['send', 'read'] as const;
/** The only SIM is never polled, so no message progresses while another server is measured. */
const sim = { number: '+12025550101', polling: 'external' } as const;
const world = { accounts: [{ name: 'bench', monthly_quota: 'unlimited', sims: [sim] }] } as const;

const simulator = await createSimulator({ world });
const key = simulator.readyFile().accounts[0]?.api_key ?? '';
const send = sendTemplate(key, { to: '+12025550199', from: sim.number, message: 'Hello' });
const values = await valuesOf(send);
await simulator.close();
const filled = (text: string) => text.replace(/%(\w+)%/g, (_, name) => values[name] ?? '?');
const text = readFileSync(new URL('contenders.yaml', import.meta.url), 'utf8');
const all = parse(text) as readonly Contender[];

/** What the placeholders of `contenders.yaml` stand for. */
async function valuesOf({ path, ...init }: typeof send): Promise<Record<string, string>> {
  const queued = await (await simulator.fetch(path, init)).text();
  const readPath = `/api/v1/sms/${JSON.parse(queued).message_id}/`;
  const read = await (await simulator.fetch(readPath, { headers: init.headers })).text();
  const [assumptions, limits] = [simulator.assumptions.get(), simulator.limits.get()];
  const document = openApi({ assumptions, limits, baseUrl: 'http://127.0.0.1' }) as {
    readonly paths: Record<string, { post: { responses: Record<string, unknown> } }>;
  };
  // Prism answers with the lowest 2xx: a replay.
  delete document.paths[path]?.post.responses['200'];
  mkdirSync(folder, { recursive: true });
  const printed = npm('.', 'pack', '--silent', '--pack-destination', folder);
  const packed = join(folder, printed.trim().split('\n').at(-1) ?? '');
  const texts = { queued_text: JSON.stringify(queued), read_text: JSON.stringify(read) };
  const files = { world: JSON.stringify(world), openapi: JSON.stringify(document) };
  return { packed, queued, read, ...texts, ...files };
}

function npm(cwd: string, ...argv: readonly string[]): string {
  return execFileSync('npm', argv, { cwd, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });
}

class Server {
  readonly #child: ChildProcess;
  readonly port: number;
  startedMs = 0;
  messageId = '';

  constructor(contender: Contender, port: number, isLoaded: boolean) {
    const words = [...contender.command, ...((isLoaded && contender.loaded) || [])];
    const [program = '', ...argv] = words.map((word) => word.replace('%port%', `${port}`));
    const cwd = join(folder, contender.name);
    this.port = port;
    this.#child = spawn(program, argv, { cwd, stdio: 'ignore' });
  }

  static async start(contender: Contender, isLoaded: boolean): Promise<Server> {
    const startMs = performance.now();
    const server = new Server(contender, await freePort(0, '127.0.0.1'), isLoaded);
    for (;;) {
      const reply = await server.ask().catch(() => undefined);
      server.startedMs = performance.now() - startMs;
      if (reply?.status === 202) {
        server.messageId = String(Object(await reply.json()).message_id);
        return server;
      }
      const isLate = server.#child.exitCode !== null || server.startedMs > startWithinMs;
      if (isLate) {
        server.#child.kill('SIGKILL');
        throw new Error(`${contender.name} does not answer a send: ${reply?.status}`);
      }
      await sleep(5);
    }
  }

  ask(change: Partial<RequestTemplate> = {}): Promise<Response> {
    const { path, ...init } = { ...send, ...change };
    return fetch(`http://127.0.0.1:${this.port}${path}`, init);
  }

  /** The answers to a body without fields, to a wrong key, and to the last of 130 sends. */
  async manners(): Promise<string> {
    const headers = { ...send.headers, authorization: 'Bearer wrong' };
    const replies = [await this.ask({ body: '{}' }), await this.ask({ headers })];
    let last = await this.ask();
    for (let n = 0; n < 129; n++) last = await this.ask();
    return [...replies, last].map(({ status }) => status).join(', ');
  }

  async load(kind: (typeof kinds)[number], durationMs: number) {
    const path = `/api/v1/sms/${this.messageId}/`;
    const request = kind === 'send' ? send : { ...send, method: 'GET' as const, path, body: '' };
    const before = this.usage().cpuMicros;
    const target = { host: '127.0.0.1', port: this.port };
    const workload = { requests: [request], expects: [kind === 'send' ? 202 : 200] } as const;
    const load = await runLoad(target, workload, { connections: 64, durationMs });
    const cpu = (this.usage().cpuMicros - before) / load.requests;
    const perSecond = (load.requests / load.durationMs) * 1_000;
    return { perSecond, cpu, isValid: load.errors === 0 && load.requests > 0 };
  }

  /** Of all threads: none of the servers has further processes. `/proc` counts hundredths. */
  usage() {
    const read = (name: string) => readFileSync(`/proc/${this.#child.pid}/${name}`, 'utf8');
    const fields = read('stat').split(') ').at(-1)?.split(' ') ?? [];
    const rssMb = (Number(/VmRSS:\s+(\d+)/.exec(read('status'))?.[1]) * 1_024) / 1e6;
    return { cpuMicros: (Number(fields[11]) + Number(fields[12])) * 10_000, rssMb };
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

const shown = (value: number) =>
  (value > 1_000 ? Math.round(value / 100) * 100 : Math.round(value)).toLocaleString('en-US');

interface Measured {
  readonly contender: Contender;
  readonly server: Server;
  readonly cells: readonly string[];
  readonly loads: Readonly<Record<(typeof kinds)[number], Awaited<ReturnType<Server['load']>>[]>>;
}
const running: Measured[] = [];
try {
  for (const contender of all) {
    const own = join(folder, contender.name);
    for (const [name, text] of Object.entries({ 'package.json': '{}', ...contender.files })) {
      mkdirSync(dirname(join(own, name)), { recursive: true });
      writeFileSync(join(own, name), filled(text));
    }
    npm(own, 'install', '--no-audit', '--no-fund', '--no-package-lock', filled(contender.spec));
    const startsMs: number[] = [];
    let manners = '';
    for (let n = 0; n < starts; n++) {
      const server = await Server.start(contender, false);
      startsMs.push(server.startedMs);
      if (n === 0) manners = await server.manners();
      await server.stop();
    }
    const server = await Server.start(contender, true);
    const cells = [shown(median(startsMs)), manners, shown(server.usage().rssMb)];
    running.push({ contender, server, cells, loads: { send: [], read: [] } });
  }
  for (let round = 0; round <= Number(rounds); round++) {
    for (const { server, loads } of round % 2 === 0 ? running : running.toReversed()) {
      for (const kind of kinds) {
        const load = await server.load(kind, round === 0 ? 3_000 : 1_000);
        // The first round is the warm-up.
        if (round > 0) loads[kind].push(load);
      }
    }
  }
  const rows = running.map(({ contender, server, cells, loads }) => {
    const figures = kinds.flatMap((kind) => {
      const isValid = loads[kind].every((load) => load.isValid);
      if (!isValid) process.exitCode = 8;
      return (['perSecond', 'cpu'] as const).map((name) =>
        isValid ? shown(median(loads[kind].map((load) => load[name]))) : 'failed',
      );
    });
    const version = filled(contender.spec).split(/[@-]/).at(-1)?.replace('.tgz', '');
    return [`${contender.name} ${version}`, ...cells, shown(server.usage().rssMb), ...figures];
  });
  const head = ['', 'start ms', 'wrong body, wrong key, 130th send', 'RSS MB idle', 'loaded'];
  const lines = [[...head, 'POST/s', 'CPU µs', 'GET/s', 'CPU µs'], Array(9).fill('---'), ...rows];
  process.stdout.write(lines.map((cells) => `| ${cells.join(' | ')} |\n`).join(''));
} finally {
  await Promise.all(running.map(({ server }) => server.stop()));
}
