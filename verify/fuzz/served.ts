/**
 * The fuzzed simulator: in a child process, where crashes and memory can be observed, or in this
 * process.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { createSimulator, type ReadyFile } from '#src/simulator.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { fuzzedSettings } from './facts.ts';

export interface Served {
  readonly ready: ReadyFile;
  /** Why it can no longer be used: it has exited, or a request threw. Undefined if it can. */
  complaint(): string | undefined;
  stop(): Promise<unknown>;
}

export async function serveHere(transport: TransportKind): Promise<Served> {
  const thrown: unknown[] = [];
  const simulator = await createSimulator(fuzzedSettings);
  await simulator.listen({
    control: {},
    transport,
    onInternalError: (error) => thrown.push(error),
  });
  return {
    ready: simulator.readyFile(),
    complaint: () =>
      thrown.length === 0 ? undefined : String(Object(thrown[0]).stack ?? thrown[0]),
    stop: () => simulator.close(),
  };
}

export async function serveInChild(transport: TransportKind): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-fuzz-'));
  const world = join(folder, 'world.json');
  writeFileSync(world, JSON.stringify(fuzzedSettings.world));
  const flags = ['--clock', 'manual', '--seed', '1', '--world', world, '--transport', transport];
  try {
    return await ServedProcess.start(folder, flags);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
