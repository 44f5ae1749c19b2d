/**
 * A crowd of idle connections in a process of its own, so that it does not delay whoever is timed beside it.
 */
import { fork } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ServedProcess } from '../testkit/served-process.ts';
import { type CrowdPlan, type CrowdReport, IdleCrowd } from './idle-crowd.ts';

const thisFile = fileURLToPath(import.meta.url);
const lookEveryMs = 1_000;

/** Once a second: the crowd, and how many files the server has open, where the system tells. */
export interface Sighting extends CrowdReport {
  readonly descriptors: number | undefined;
}

export interface CrowdProcess {
  /** All are connected. */
  readonly opened: Promise<void>;
  /** What it saw up to now. */
  seen(): readonly Sighting[];
  /** Ends it. */
  leave(): Promise<void>;
}

export function crowdProcess(served: ServedProcess, count: number, streams: number): CrowdProcess {
  const { baseUrl, controlUrl } = served;
  const plan: CrowdPlan = { baseUrl, controlUrl, count, streams };
  const args = [JSON.stringify(plan), String(served.ready.pid)];
  const child = fork(thisFile, args, { execArgv: ['--import', 'tsx'] });
  const seen: Sighting[] = [];
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const opened = new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the crowd did not gather')));
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

async function beCrowd(planText: string, serverPid: string): Promise<void> {
  const crowd = new IdleCrowd(JSON.parse(planText) as CrowdPlan);
  process.on('disconnect', () => process.exit(0));
  await crowd.open();
  const look = (): void => {
    const sighting = { ...crowd.report(), descriptors: descriptorsOf(serverPid) };
    // The parent may have left meanwhile.
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
if (program === thisFile) await beCrowd(plan, serverPid);
