/**
 * Loaded into a served process before its program: tells its parent, when asked, what the process holds once its
 * garbage is collected. It keeps nothing alive by itself, and ends the process when the parent is gone.
 */
import { existsSync, readdirSync } from 'node:fs';

/** What a process holds. */
export interface Holdings {
  /** After a full collection. */
  readonly heapBytes: number;
  /** Node's own handles by kind. */
  readonly resources: Readonly<Record<string, number>>;
  /** Open files and sockets, those of the native transport too; undefined where the system does not tell. */
  readonly descriptors: number | undefined;
  /** Since its start. */
  readonly cpuMicros: number;
}

const ownDescriptors = '/proc/self/fd';

function holdings(): Holdings {
  const { user, system } = process.cpuUsage();
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) {
    resources[kind] = (resources[kind] ?? 0) + 1;
  }
  globalThis.gc?.();
  return {
    heapBytes: process.memoryUsage().heapUsed,
    resources,
    descriptors: existsSync(ownDescriptors) ? readdirSync(ownDescriptors).length : undefined,
    cpuMicros: user + system,
  };
}

process.on('message', () => void process.send?.(holdings()));
process.on('disconnect', () => process.exit(1));
process.channel?.unref();
