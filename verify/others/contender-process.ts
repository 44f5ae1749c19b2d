/**
 * One compared server in a child process, started as its users start it. Its CPU and memory, those
 * of its workers included, are read from Linux's `/proc`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { type Body, type Contender, type Replies, sendPath } from './contenders.ts';

const startWithinMs = 30_000;
const askEveryMs = 5;

export interface Usage {
  readonly cpuMicros: number;
  readonly rssBytes: number;
}

/** One load of a round. */
export interface Round {
  readonly perSecond: number;
  readonly cpuMicrosPerRequest: number;
  /** Replies that are missing or have another status than expected. */
  readonly failed: number;
}

export class ContenderProcess {
  readonly name: string;
  /** From the start of the process to its first reply. */
  readonly startedMs: number;
  readonly #url: string;
  readonly #child: ChildProcess;
  readonly #replies: Replies;
  /** The message that is read. */
  #messageId = '';

  private constructor(
    { name }: Contender,
    url: string,
    startedMs: number,
    child: ChildProcess,
    replies: Replies,
  ) {
    this.name = name;
    this.#url = url;
    this.startedMs = startedMs;
    this.#child = child;
    this.#replies = replies;
  }

  /** Resolves when the first send and the first read have the expected answers. */
  static async start(
    contender: Contender,
    folder: string,
    replies: Replies,
  ): Promise<ContenderProcess> {
    const port = await freePort();
    const errorFile = join(folder, `${contender.name}-errors.log`);
    const errors = openSync(errorFile, 'w');
    const startMs = performance.now();
    const child = spawn(process.execPath, contender.argv(folder, port), {
      cwd: contender.from === 'sources' ? undefined : folder,
      stdio: ['ignore', 'ignore', errors],
    });
    closeSync(errors);
    const url = `http://127.0.0.1:${port}`;
    try {
      await firstReply(url, child, startMs);
      const startedMs = performance.now() - startMs;
      const server = new ContenderProcess(contender, url, startedMs, child, replies);
      await server.#check();
      return server;
    } catch (error) {
      kill(child);
      const complaint = readFileSync(errorFile, 'utf8').trim().split('\n').slice(0, 8).join(' | ');
      throw new Error(`${contender.name}: ${(error as Error).message}; stderr: ${complaint}`);
    }
  }

  /** `requests`: ends the load after so many. */
  async load(kind: 'send' | 'read', seconds: number, requests?: number): Promise<Round> {
    const { apiKey, send } = this.#replies;
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const request =
      kind === 'send'
        ? { method: 'POST' as const, path: sendPath, body: JSON.stringify(send) }
        : { method: 'GET' as const, path: `/api/v1/sms/${this.#messageId}/` };
    const before = this.usage();
    const result = await autocannon({
      url: this.#url,
      connections: 64,
      ...(requests === undefined ? { duration: seconds } : { amount: requests }),
      requests: [{ ...request, headers }],
    });
    const after = this.usage();
    const count = result['2xx'];
    return {
      perSecond: count / result.duration,
      cpuMicrosPerRequest: (after.cpuMicros - before.cpuMicros) / count,
      failed: result.errors + result.non2xx,
    };
  }

  usage(): Usage {
    const usage = treeUsage(this.#child.pid ?? 0);
    if (usage === undefined) throw new Error(`${this.name} exited during the comparison`);
    return usage;
  }

  stop(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
    kill(this.#child);
    return ended;
  }

  /** Both routes must answer like the simulator. */
  async #check(): Promise<void> {
    const { apiKey, send, queued, read } = this.#replies;
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(send) };
    const sent = await checked(await fetch(`${this.#url}${sendPath}`, init), 202, queued);
    this.#messageId = String(sent['message_id']);
    await checked(
      await fetch(`${this.#url}/api/v1/sms/${this.#messageId}/`, { headers }),
      200,
      read,
    );
  }
}

async function firstReply(url: string, child: ChildProcess, startMs: number): Promise<void> {
  let failure: Error | undefined;
  child.once('exit', (code) => {
    failure = new Error(`exited with code ${code}`);
  });
  for (;;) {
    try {
      await (await fetch(url)).text();
      return;
    } catch (error) {
      if (failure !== undefined) throw failure;
      if (performance.now() - startMs > startWithinMs) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, askEveryMs));
  }
}

async function checked(reply: Response, status: number, expected: Body): Promise<Body> {
  const text = await reply.text();
  if (reply.status !== status) {
    throw new Error(`answered ${reply.status} instead of ${status}: ${text.slice(0, 200)}`);
  }
  const difference = differenceOf(text, expected);
  if (difference !== undefined)
    throw new Error(`its ${status} differs from the simulator's: ${difference}`);
  return JSON.parse(text) as Body;
}

/** Compares the fields and, roughly, the size; values may differ. */
export function differenceOf(text: string, expected: Body): string | undefined {
  const fields = (body: Body): string => Object.keys(body).sort().join(', ');
  const body = JSON.parse(text) as Body;
  if (fields(body) !== fields(expected)) return `fields ${fields(body)}`;
  const size = JSON.stringify(expected).length;
  return Math.abs(text.length - size) > size / 10 ? `${text.length} bytes for ${size}` : undefined;
}

/** A port that is free now: not every server can choose one itself. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

function kill({ pid }: ChildProcess): void {
  for (const id of pid === undefined ? [] : processTree(pid)) {
    try {
      process.kill(id, 'SIGKILL');
    } catch {
      // Already ended.
    }
  }
}

/** A process and all its descendants. */
export function processTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : undefined;
    if (stat !== undefined) parents.set(Number(name), parseStat(stat).parent);
  }
  const found = [root];
  // The list grows during the loop.
  for (const id of found) {
    for (const [child, parent] of parents) if (parent === id) found.push(child);
  }
  return found;
}

/** Undefined if the whole tree has ended. */
export function treeUsage(root: number): Usage | undefined {
  let cpuMicros = 0;
  let rssBytes = 0;
  for (const id of processTree(root)) {
    const stat = read(`/proc/${id}/stat`);
    const status = read(`/proc/${id}/status`);
    if (stat === undefined || status === undefined) continue;
    cpuMicros += parseStat(stat).cpuMicros;
    rssBytes += Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
  }
  return rssBytes === 0 ? undefined : { cpuMicros, rssBytes };
}

/** `/proc` counts CPU in hundredths of a second, whatever the kernel's tick. */
const microsPerTick = 10_000;

/** `/proc/<pid>/stat`: user and system time of all threads, and of children that have ended. */
export function parseStat(text: string): { readonly parent: number; readonly cpuMicros: number } {
  // The process name in parentheses may itself hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), cpuMicros: ticks * microsPerTick };
}

/** Undefined if the process has ended. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
