/**
 * Starts a server in a child process, so that its CPU and memory are measured apart from those of
 * the load generator.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CommandError } from '#io/command-error.ts';
import { isExecutable, shippedPath } from '#io/shipped-files.ts';
import type { SettingsInput } from '#src/simulator.ts';
import type { Target } from '../load/workload.ts';

// What the bench and the child process send each other: orders to it, and reports from it.

/** The server to start: the floor (a bare handler), or a simulator. */
export type ServerSpec =
  | { readonly kind: 'hyperexpress' }
  | {
      readonly kind: 'simulator';
      readonly settings: SettingsInput;
      /** The number of messages that it holds before the load. */
      readonly preload: number;
    };

export type Order =
  | { readonly kind: 'start'; readonly spec: ServerSpec }
  | { readonly kind: 'usage' };

export type Report =
  | {
      readonly kind: 'started';
      readonly port: number;
      readonly startDurationMs: number;
      readonly apiKey: string;
      readonly from: string;
      readonly messageIds: readonly string[];
    }
  | { readonly kind: 'usage'; readonly cpuMicros: number; readonly rssBytes: number }
  | { readonly kind: 'failed'; readonly why: string };

type Started = Extract<Report, { kind: 'started' }>;
export type Usage = Extract<Report, { kind: 'usage' }>;

const answerWithinMs = 60_000;
/** A start includes the messages that the server holds. */
const startWithinMs = 600_000;

/** A server to be measured, in a child process or elsewhere. */
export interface LoadedServer {
  readonly target: Target;
  readonly started: Pick<Started, 'apiKey' | 'from' | 'startDurationMs'>;
  readonly messageIds: readonly string[];
  /** Undefined if it cannot be measured. */
  usage(): Promise<Usage | undefined>;
  stop(): Promise<void>;
}

export async function startServer(spec: ServerSpec): Promise<LoadedServer> {
  const { file, loader } = serverProgram();
  const child = fork(file, {
    // The executable passes all arguments to the program, so it cannot take flags of Node.
    execArgv: isExecutable ? [] : ['--expose-gc', '--max-old-space-size=4096', ...loader],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  // `ask` reports an error; without a listener, one between two orders would end the bench.
  child.on('error', () => {});
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const started = await ask(child, { kind: 'start', spec }, 'started');
  return {
    target: { host: '127.0.0.1', port: started.port },
    started,
    messageIds: started.messageIds,
    usage: () => ask(child, { kind: 'usage' }, 'usage'),
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** The source in a checkout; in the package, the built file in the same folder. */
function serverProgram(): { readonly file: string; readonly loader: readonly string[] } {
  const source = fileURLToPath(new URL('./child.ts', import.meta.url));
  if (existsSync(source)) return { file: source, loader: ['--import', 'tsx'] };
  // The executable starts itself again; this name selects the program.
  return { file: isExecutable ? 'bench-server' : shippedPath('bench-server.js'), loader: [] };
}

/** Sends an order and resolves to the report of this kind. Ends the child if none comes in time. */
function ask<K extends Report['kind']>(
  child: ChildProcess,
  order: Order,
  kind: K,
): Promise<Extract<Report, { kind: K }>> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      child.off('message', hear).off('exit', exited).off('error', failed);
    };
    const fail = (error: Error): void => {
      end();
      // A running child would keep this process alive.
      child.kill('SIGKILL');
      reject(error);
    };
    const hear = (report: Report): void => {
      if (report.kind === 'failed') fail(new Error(report.why));
      if (report.kind !== kind) return;
      end();
      resolve(report as Extract<Report, { kind: K }>);
    };
    const failWith = (why: string) => fail(new CommandError(1, `a server of the bench ${why}`));
    const exited = (code: number | null) => failWith(`exited with code ${code}`);
    const failed = ({ message }: Error) => failWith(`cannot be started or reached: ${message}`);
    const timer = setTimeout(
      () => failWith(`did not answer ${order.kind}`),
      order.kind === 'start' ? startWithinMs : answerWithinMs,
    );
    child.on('message', hear).on('exit', exited).on('error', failed);
    child.send(order);
  });
}
