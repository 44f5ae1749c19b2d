/**
 * Preloaded into a served process: on request of its parent, reports the resources of the process
 * after a garbage collection. Does not keep the process running, and ends it when the parent exits.
 */
import { existsSync, readdirSync } from 'node:fs';

export interface Holdings {
  /** After a full collection. */
  readonly heapBytes: number;
  /** Counts of Node's own handles by kind. */
  readonly resources: Readonly<Record<string, number>>;
  /** Open files and sockets, the native transport's included; undefined if not reported. */
  readonly descriptors: number | undefined;
  /** CPU time since the start. */
  readonly cpuMicros: number;
}

const ownDescriptors = '/proc/self/fd';

function holdings(): Holdings {
  const { user, system } = process.cpuUsage();
  globalThis.gc?.();
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
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
