/**
 * Idle connections in a child process, so that they do not delay the timed callers.
 */
import { fork } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ServedProcess } from '../testkit/served-process.ts';
import { IdleClients, type IdlePlan, type IdleReport } from './idle-clients.ts';

const thisFile = fileURLToPath(import.meta.url);
const lookEveryMs = 1_000;

/** Once a second: the connections, and the server's open files if the system reports them. */
export interface Sighting extends IdleReport {
  readonly descriptors: number | undefined;
}

export interface IdleClientsProcess {
  /** Resolves when all are connected. */
  readonly opened: Promise<void>;
  /** The sightings so far. */
  seen(): readonly Sighting[];
  /** Ends it. */
  leave(): Promise<void>;
}

export function idleClientsProcess(
  served: ServedProcess,
  count: number,
  streams: number,
): IdleClientsProcess {
  const { baseUrl, controlUrl } = served;
  const plan: IdlePlan = { baseUrl, controlUrl, count, streams };
  const args = [JSON.stringify(plan), String(served.ready.pid)];
  const child = fork(thisFile, args, { execArgv: ['--import', 'tsx'] });
  const seen: Sighting[] = [];
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const opened = new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the idle connections were not opened')));
    child.on('message', (sighting: Sighting) => {
      seen.push(sighting);
      resolve();
    });
  });
  return {
    opened,
    seen: () => [...seen],
    leave: async () => {
      child.disconnect();
      await ended;
    },
  };
}

async function runIdleClients(planText: string, serverPid: string): Promise<void> {
  const clients = new IdleClients(JSON.parse(planText) as IdlePlan);
  process.on('disconnect', () => process.exit(0));
  await clients.open();
  const look = (): void => {
    const sighting = { ...clients.report(), descriptors: descriptorsOf(serverPid) };
    // The parent may have disconnected.
    if (process.connected) process.send?.(sighting);
  };
  look();
  setInterval(look, lookEveryMs);
}

function descriptorsOf(pid: string): number | undefined {
  const folder = `/proc/${pid}/fd`;
  return existsSync(folder) ? readdirSync(folder).length : undefined;
}

const [, program, plan = '', serverPid = ''] = process.argv;
if (program === thisFile) await runIdleClients(plan, serverPid);
