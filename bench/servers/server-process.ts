/**
 * Controls a server in a child process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isExecutable, shippedPath } from '../../src/commands/shipped-files.ts';
import type { Target } from '../load/workload.ts';
import type { Order, ProbeOrder, ProbeReport, Report, ServerSpec } from './messages.ts';

export type Started = Extract<Report, { kind: 'started' }>;
export type Usage = Extract<Report, { kind: 'usage' }>;

const answerWithinMs = 60_000;
/** A start includes the messages that the server holds. */
const startWithinMs = 600_000;

/** A server to be measured, in a child process or elsewhere. */
export interface LoadedServer {
  readonly target: Target;
  readonly started: Pick<Started, 'apiKey' | 'from' | 'startedMs'>;
  readonly messageIds: readonly string[];
  /** Undefined if it cannot be measured. */
  usage(): Promise<Usage | undefined>;
  stop(): Promise<void>;
}

export class ServerProcess implements LoadedServer {
  readonly #child: ChildProcess;
  readonly target: Target;
  readonly started: Started;
  readonly messageIds: readonly string[];

  private constructor(child: ChildProcess, started: Started) {
    this.#child = child;
    this.started = started;
    this.messageIds = started.messageIds;
    this.target = { host: '127.0.0.1', port: started.port };
  }

  static async start(spec: ServerSpec): Promise<ServerProcess> {
    const child = startChild(['--expose-gc', '--max-old-space-size=4096']);
    try {
      return new ServerProcess(child, await ask(child, { kind: 'start', spec }, 'started'));
    } catch (error) {
      // A running child would keep this process alive.
      child.kill('SIGKILL');
      throw error;
    }
  }

  usage(): Promise<Usage> {
    return ask(this.#child, { kind: 'usage' }, 'usage');
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) resolve();
      else {
        this.#child.once('exit', () => resolve());
        this.#child.kill('SIGKILL');
      }
    });
  }
}

/** The probe of a server, in a child process. */
export class ProbeProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static start(order: ProbeOrder, hear: (report: ProbeReport) => void): ProbeProcess {
    const child = startChild([]);
    child.on('message', (report: Report) => {
      if (report.kind === 'probed') hear(report);
    });
    child.send(order);
    return new ProbeProcess(child);
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}

function startChild(flags: readonly string[]): ChildProcess {
  const { file, loader } = serverProgram();
  return fork(file, {
    // The executable hands all arguments to the program.
    execArgv: isExecutable ? [] : [...flags, ...loader],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

/** The source in a checkout; in the package, the built file in the same folder. */
function serverProgram(): { readonly file: string; readonly loader: readonly string[] } {
  const source = fileURLToPath(new URL('./child.ts', import.meta.url));
  if (existsSync(source)) return { file: source, loader: ['--import', 'tsx'] };
  // The executable runs itself; the name says what as.
  return { file: isExecutable ? 'bench-server' : shippedPath('bench-server.js'), loader: [] };
}

function ask<K extends Report['kind']>(
  child: ChildProcess,
  order: Order,
  kind: K,
): Promise<Extract<Report, { kind: K }>> {
  return new Promise((resolve, reject) => {
    const end = (act: () => void): void => {
      clearTimeout(timer);
      child.off('message', hear);
      child.off('exit', exited);
      act();
    };
    const hear = (report: Report): void => {
      if (report.kind === kind) end(() => resolve(report as Extract<Report, { kind: K }>));
      else if (report.kind === 'failed') end(() => reject(new Error(report.why)));
    };
    const exited = (code: number | null): void =>
      end(() => reject(new Error(`a server of the bench exited with code ${code}`)));
    const timer = setTimeout(
      () => end(() => reject(new Error(`a server of the bench did not answer ${order.kind}`))),
      order.kind === 'start' ? startWithinMs : answerWithinMs,
    );
    child.on('message', hear);
    child.on('exit', exited);
    child.send(order);
  });
}
