/**
 * Measures what redaction costs a neighbour: a client sends an exchange that is slow to redact
 * through a recorder, while another one times its own requests through it, at a steady pace. One run
 * measures with redaction and without, and prints a line for each load. The clients and the service
 * run in a child process.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startRecording } from '#record/record.ts';
import { type Redaction, redactions } from '#record/redaction.ts';
import { listen } from '../testkit/processes/listen.ts';

const measuredMs = 4_000;
const paceMs = 5;
const mebibyte = 1_048_000;

const message = (text: string) => JSON.stringify({ to: '+12025559876', message: text });
const numbers = (first: number, step: number) =>
  JSON.stringify({ to: Array.from({ length: 2_000 }, (_, index) => `+${first + index * step}`) });
const prose = 'the quick brown fox 4711 jumps "over" the lazy dog\n';

/** Bodies that are sent once and echoed by the service. */
const loads: readonly (readonly [name: string, body: string])[] = [
  ['nothing else', ''],
  ['a mebibyte of one letter', message('a'.repeat(mebibyte - 100))],
  ['a mebibyte of prose', message(prose.repeat(mebibyte / 2 / prose.length))],
  ['2,000 numbers', numbers(12_025_550_000, 1)],
  ['2,000 junk numbers', numbers(13_100_348, 104_729)],
];

/** What to ask: a load of this body, through the recorder at this address. */
interface Task {
  readonly baseUrl: string;
  readonly body: string;
}

/** The milliseconds that each of the neighbour's requests took, ascending. */
async function timesOf({ baseUrl, body }: Task): Promise<readonly number[]> {
  const ask = async () => (await fetch(`${baseUrl}/api/v1/account/stats/`)).arrayBuffer();
  for (let count = 0; count < 50; count++) await ask();
  if (body !== '') {
    const sent = await fetch(`${baseUrl}/api/v1/sms/send/`, { method: 'POST', body });
    await sent.arrayBuffer();
  }
  const times: number[] = [];
  const startedMs = performance.now();
  while (performance.now() - startedMs < measuredMs) {
    const askedMs = performance.now();
    await ask();
    times.push(performance.now() - askedMs);
    await setTimeout(paceMs);
  }
  return times.sort((one, other) => one - other);
}

/** Serves, echoing every body, and makes the requests of each task that the parent sends. */
async function serveAndAsk(): Promise<void> {
  const service = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => response.writeHead(400).end(Buffer.concat(chunks)));
  });
  process.send?.(`http://127.0.0.1:${await listen(service)}`);
  process.on('message', async (task: Task) => process.send?.(await timesOf(task)));
}

/** Measures each load with redaction and without, and prints a line for it. */
async function measure(): Promise<void> {
  const clients = fork(import.meta.filename, ['clients']);
  const upstream = new URL(String((await once(clients, 'message'))[0]));
  for (const [name, body] of loads) {
    const columns: string[] = [];
    for (const redact of [[], redactions] as const) {
      const times = await timesThrough(clients, upstream, body, redact);
      const [p50, p99, worst] = [0.5, 0.99, 1].map((share) =>
        (times[Math.ceil(share * times.length) - 1] ?? 0).toFixed(1),
      );
      const label = redact.length > 0 ? 'redacted' : 'plain';
      columns.push(`${label}: p50 ${p50} ms, p99 ${p99} ms, longest ${worst} ms`);
    }
    process.stdout.write(`${name.padEnd(26)}${columns.join('; ')}\n`);
  }
  clients.kill();
}

/** The neighbour's times through a new recorder with these redactions. */
async function timesThrough(
  clients: ChildProcess,
  upstream: URL,
  body: string,
  redact: readonly Redaction[],
): Promise<readonly number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-redaction-'));
  const out = join(folder, 'recording.ndjson');
  const { baseUrl, close } = await startRecording({ upstream, out, redact });
  const task: Task = { baseUrl, body };
  clients.send(task);
  const [times] = (await once(clients, 'message')) as [readonly number[]];
  await close();
  rmSync(folder, { recursive: true });
  return times;
}

if (process.argv[2] === 'clients') await serveAndAsk();
else await measure();
