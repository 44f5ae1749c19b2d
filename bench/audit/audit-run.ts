/**
 * The findings of an audit, of an own or a running simulator.
 */
import type { EndpointName } from '../../src/sim/limits.ts';
import { type AuditEntry, audit, type EndpointAudit } from './recount.ts';

export interface AuditRun {
  readonly endpoints: readonly EndpointAudit[];
  /** Simulated seconds of load. */
  readonly simulatedSeconds: number;
  readonly requests: number;
  /** Why the counts are not valid, such as a gap in the record. */
  readonly invalid: readonly string[];
  /** Accepted and refused sends per simulated second, for the plot. */
  readonly perSecond: readonly { readonly accepted: number; readonly refused: number }[];
}

export function auditRun(
  entries: readonly AuditEntry[],
  limits: Readonly<Partial<Record<EndpointName, number | null>>>,
  invalid: readonly string[] = [],
): AuditRun {
  const startMs = entries[0]?.atMs ?? 0;
  const endMs = entries.at(-1)?.atMs ?? startMs;
  const perSecond = Array.from({ length: Math.floor((endMs - startMs) / 1_000) + 1 }, () => ({
    accepted: 0,
    refused: 0,
  }));
  for (const { endpoint, atMs, passed } of entries) {
    const second = endpoint === 'send' && perSecond[Math.floor((atMs - startMs) / 1_000)];
    if (second && passed) second.accepted++;
    else if (second) second.refused++;
  }
  return {
    endpoints: audit(entries, limits),
    simulatedSeconds: (endMs - startMs) / 1_000,
    requests: entries.length,
    invalid,
    perSecond,
  };
}

export function isBroken({ endpoints }: AuditRun): boolean {
  return endpoints.some(({ over, under }) => over > 0 || under > 0);
}
