/**
 * `npm run bench:transports`: the cost of a send over each transport, plain and over TLS, compared
 * with a bare handler on `node:http` that reads the body and answers with as many bytes. One run
 * measures all of them in turn. wrk makes the load, and each server counts its own processor time.
 */
import { execFile, fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { median } from '../../bench/load/load-result.ts';
import { selfSigned } from '../../src/config/self-signed.ts';
import { createSimulator } from '../../src/simulator.ts';
import { listen } from '../testkit/listen.ts';

const kinds = ['bare', 'node', 'hyperexpress', 'node tls', 'hyperexpress tls'] as const;
type Kind = (typeof kinds)[number];

/** A server that listens, and the key to send with. */
interface Started {
  readonly url: string;
  readonly key: string;
}

const warmUpSeconds = 5;

const reply = JSON.stringify({
  message_id: '3f0f5b4e-6d9c-4b1e-9d0f-3c6f3f2f0c11',
  to: '+12025550123',
  from: '+12025550101',
  status: 'queued',
  request_id: null,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
});

/** The bare handler. */
async function startBare(): Promise<Started> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      Buffer.concat(chunks);
      response.writeHead(202, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(reply),
      });
      response.end(reply);
    });
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, key: '' };
}

async function start(kind: Kind): Promise<Started> {
  if (kind === 'bare') return startBare();
  const [transport, secured] = kind.split(' ') as ['node' | 'hyperexpress', string | undefined];
  const simulator = await createSimulator({ noLimits: true }, { journal: false });
  const tls = secured && (await selfSigned(['127.0.0.1'], Date.now()));
  const { baseUrl } = await simulator.listen({ transport, tls: tls || undefined });
  return { url: baseUrl, key: simulator.readyFile().accounts[0]?.api_key ?? '' };
}

const cpuMicros = () => process.cpuUsage().user + process.cpuUsage().system;

interface Cost {
  readonly perSecond: number;
  readonly cpuMicros: number;
}

async function measure(kind: Kind, folder: string, seconds: number): Promise<Cost> {
  const child = fork(fileURLToPath(import.meta.url), [kind], { execArgv: ['--import', 'tsx'] });
  const nextMessage = <T>() =>
    new Promise<T>((resolve) => child.once('message', (message) => resolve(message as T)));
  const { url, key } = await nextMessage<Started>();
  const script = join(folder, 'send.lua');
  const body = JSON.stringify({ to: '+12025550123', from: '+12025550101', message: 'Hello' });
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const lines = Object.entries(headers).map(([name, value]) => `wrk.headers["${name}"]="${value}"`);
  writeFileSync(script, `wrk.method="POST"\nwrk.body='${body}'\n${lines.join('\n')}\n`);
  const load = async (duration: number) => {
    const flags = ['-t1', '-c64', `-d${duration}s`, '-s', script, `${url}/api/v1/sms/send/`];
    const { stdout } = await promisify(execFile)('wrk', flags);
    if (stdout.includes('Non-2xx')) throw new Error(stdout);
    return Number(/(\d+) requests in/.exec(stdout)?.[1]);
  };
  const usedMicros = () => {
    child.send('usage');
    return nextMessage<number>();
  };
  // Until the compiler has optimised all code of a send.
  await load(warmUpSeconds);
  const before = await usedMicros();
  const requests = await load(seconds);
  const cost = {
    perSecond: requests / seconds,
    cpuMicros: ((await usedMicros()) - before) / requests,
  };
  child.disconnect();
  return cost;
}

async function main(rounds: number, seconds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-transports-'));
  const costs = new Map<Kind, Cost[]>(kinds.map((kind) => [kind, []]));
  for (let round = 0; round < rounds; round++) {
    for (const kind of kinds) costs.get(kind)?.push(await measure(kind, folder, seconds));
  }
  rmSync(folder, { recursive: true });
  const medianOf = (kind: Kind, what: keyof Cost) =>
    median((costs.get(kind) ?? []).map((cost) => cost[what]));
  for (const kind of kinds) {
    const [perSecond, micros] = [medianOf(kind, 'perSecond'), medianOf(kind, 'cpuMicros')];
    console.log(`${kind.padEnd(18)}${perSecond.toFixed(0).padStart(8)}/s ${micros.toFixed(1)} µs`);
  }
  const printRatio = (name: string, kind: Kind, base: Kind, what: keyof Cost) =>
    console.log(`${name}: ${(medianOf(kind, what) / medianOf(base, what)).toFixed(2)}`);
  printRatio('node / bare, sends a second', 'node', 'bare', 'perSecond');
  printRatio('bare / node, processor time', 'bare', 'node', 'cpuMicros');
  printRatio('node / hyperexpress, sends a second', 'node', 'hyperexpress', 'perSecond');
  printRatio('node tls / node, processor time', 'node tls', 'node', 'cpuMicros');
  printRatio(
    'hyperexpress tls / plain, processor time',
    'hyperexpress tls',
    'hyperexpress',
    'cpuMicros',
  );
}

const [kindOrRounds = '3', seconds = '5'] = process.argv.slice(2);
const kind = kinds.find((each) => each === kindOrRounds);
if (kind === undefined) await main(Number(kindOrRounds), Number(seconds));
else {
  process.on('disconnect', () => process.exit(0));
  process.on('message', () => process.send?.(cpuMicros()));
  process.send?.(await start(kind));
}
