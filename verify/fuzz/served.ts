/**
 * The simulator that is fuzzed: in a process of its own, so that its crash is seen and its memory
 * is its own, or in this one.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TransportKind } from '../../src/http/transport/open-transport.ts';
import { createSimulator, type ReadyFile, type Simulator } from '../../src/simulator.ts';
import { fuzzedSettings } from './facts.ts';

export interface Served {
  readonly ready: ReadyFile;
  /** Why it is of no more use: it has ended, or a request threw; undefined while all is well. */
  complaint(): string | undefined;
  stop(): Promise<void>;
}

const startWithinMs = 60_000;
const thisFile = fileURLToPath(import.meta.url);

export async function serveHere(transport: TransportKind): Promise<Served> {
  const thrown: unknown[] = [];
  const simulator = await listening(transport, (error) => thrown.push(error));
  return {
    ready: simulator.readyFile(),
    complaint: () =>
      thrown.length === 0 ? undefined : String(Object(thrown[0]).stack ?? thrown[0]),
    stop: () => simulator.close(),
  };
}

export async function serveInChild(transport: TransportKind): Promise<Served> {
  const child = fork(thisFile, ['serve', transport], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let told = '';
  child.stderr?.on('data', (chunk) => {
    told += String(chunk);
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const complaint = () => {
    const { exitCode, signalCode } = child;
    if (exitCode === null && signalCode === null) return told === '' ? undefined : told;
    return `the server ended with ${exitCode ?? signalCode}: ${told}`;
  };
  const ready = await new Promise<ReadyFile>((resolve, reject) => {
    child.once('message', (message) => resolve(message as ReadyFile));
    child.once('exit', () => reject(new Error(complaint())));
    setTimeout(() => reject(new Error('the server did not start')), startWithinMs).unref();
  });
  const stop = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  return { ready, complaint, stop };
}

async function listening(
  transport: TransportKind,
  onInternalError: (error: unknown) => void,
): Promise<Simulator> {
  const simulator = await createSimulator(fuzzedSettings);
  // Asked to shut down, it stays: somebody has to answer the next request.
  await simulator.listen({ control: {}, transport, onInternalError, onShutdown: () => {} });
  return simulator;
}

if (process.argv[1] === thisFile && process.argv[2] === 'serve') {
  const transport = process.argv[3] === 'node' ? 'node' : 'hyperexpress';
  const simulator = await listening(transport, (error) => console.error(error));
  process.send?.(simulator.readyFile());
  process.on('disconnect', () => process.exit(0));
}
