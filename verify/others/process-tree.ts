/**
 * Reads CPU and memory of a process, its workers and children from Linux's `/proc`.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessUsage {
  readonly cpuMicros: number;
  readonly rssBytes: number;
}

export interface ProcessStat {
  readonly parent: number;
  readonly cpuMicros: number;
}

/** `/proc` counts CPU in hundredths of a second, whatever the kernel's tick. */
const microsPerTick = 10_000;

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
export function treeUsage(root: number): ProcessUsage | undefined {
  let cpuMicros = 0;
  let rssBytes = 0;
  for (const id of processTree(root)) {
    const stat = read(`/proc/${id}/stat`);
    const status = read(`/proc/${id}/status`);
    if (stat === undefined || status === undefined) continue;
    cpuMicros += parseStat(stat).cpuMicros;
    rssBytes += residentBytes(status);
  }
  return rssBytes === 0 ? undefined : { cpuMicros, rssBytes };
}

/** `/proc/<pid>/stat`: user and system time of all threads, and of children that have ended. */
export function parseStat(text: string): ProcessStat {
  // The process name in parentheses may itself hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [, parent] = fields;
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(parent), cpuMicros: ticks * microsPerTick };
}

/** `/proc/<pid>/status`; 0 for an ended process that was not waited for. */
export function residentBytes(text: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1_024;
}

/** Undefined if the process has ended. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
