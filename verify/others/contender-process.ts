/**
 * One compared server in a child process, started as its users start it. Its CPU and memory are
 * read from the system.
 */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import type { Target } from '../../bench/load/load.ts';
import type { RequestTemplate, Workload } from '../../bench/load/workload.ts';
import { endChild, startChild } from './children.ts';
import type { Contender } from './contenders.ts';
import type { Installed } from './install.ts';
import { type ProcessUsage, treeUsage } from './process-tree.ts';
import { type Body, readCase, type SimulatorReplies, sendCase } from './simulator-replies.ts';

export type Kind = 'send' | 'read';

const startWithinMs = 30_000;
const askEveryMs = 5;
/** The number of messages that are read in turn. */
const readMessages = 200;

export class ContenderProcess {
  readonly contender: Contender;
  readonly target: Target;
  /** From the start of the process to its first reply. */
  readonly startedMs: number;
  readonly #child: ChildProcess;
  readonly #replies: SimulatorReplies;
  #messageIds: readonly string[] = [];

  private constructor(
    contender: Contender,
    target: Target,
    startedMs: number,
    child: ChildProcess,
    replies: SimulatorReplies,
  ) {
    this.contender = contender;
    this.target = target;
    this.startedMs = startedMs;
    this.#child = child;
    this.#replies = replies;
  }

  /** Resolves when the first send has the expected answer. */
  static async start(
    contender: Contender,
    { folder, cwd }: Installed,
    replies: SimulatorReplies,
  ): Promise<ContenderProcess> {
    const target = { host: '127.0.0.1', port: await freePort() };
    const errorFile = join(folder, `${contender.name}-errors.log`);
    const startMs = performance.now();
    const child = startChild(process.execPath, contender.argv(folder, target.port), {
      cwd,
      errorFile,
    });
    try {
      const [send] = sendCase.workload({ ...replies.caller, messageIds: [] }).requests;
      const reply = await firstReply(target, send, child, startMs);
      const startedMs = performance.now() - startMs;
      await checkReply(reply, 202, replies.queued);
      return new ContenderProcess(contender, target, startedMs, child, replies);
    } catch (error) {
      await endChild(child);
      const complaint = readFileSync(errorFile, 'utf8').trim().split('\n').slice(0, 8).join(' | ');
      throw new Error(`${contender.name}: ${(error as Error).message}; stderr: ${complaint}`);
    }
  }

  /** Sends the messages to be read, and checks that both routes answer like the simulator. */
  async prepareReads(): Promise<void> {
    const ids: string[] = [];
    try {
      for (let n = 0; n < readMessages; n++) {
        const reply = await ask(this.target, this.workload('send').requests[0]);
        ids.push(String((await checkReply(reply, 202, this.#replies.queued))['message_id']));
      }
      this.#messageIds = ids;
      const [read] = this.workload('read').requests;
      const path = read.path.replace(read.slot?.text ?? '', ids[0] ?? '');
      await checkReply(await ask(this.target, { ...read, path }), 200, this.#replies.read);
    } catch (error) {
      throw new Error(`${this.contender.name}: ${(error as Error).message}`);
    }
  }

  workload(kind: Kind): Workload {
    const caller = { ...this.#replies.caller, messageIds: this.#messageIds };
    return (kind === 'send' ? sendCase : readCase).workload(caller);
  }

  /** Undefined if the process has ended. */
  usage(): ProcessUsage | undefined {
    return treeUsage(this.#child.pid ?? 0);
  }

  stop(): Promise<void> {
    return endChild(this.#child);
  }
}

async function firstReply(
  target: Target,
  template: RequestTemplate,
  child: ChildProcess,
  startMs: number,
): Promise<Response> {
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  child.once('exit', (code) => {
    failure ??= new Error(`exited with code ${code}`);
  });
  for (;;) {
    try {
      return await ask(target, template);
    } catch (error) {
      if (failure !== undefined) throw failure;
      if (performance.now() - startMs > startWithinMs) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, askEveryMs));
  }
}

function ask(target: Target, { method, path, headers, body }: RequestTemplate): Promise<Response> {
  return fetch(`http://${target.host}:${target.port}${path}`, {
    method,
    headers,
    signal: AbortSignal.timeout(startWithinMs),
    ...(method === 'POST' ? { body } : {}),
  });
}

async function checkReply(reply: Response, status: number, expected: Body): Promise<Body> {
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
