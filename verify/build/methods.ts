/**
 * The methods of a simulator, by the table of operations: which there are, and where their
 * arguments and results differ from those of the control port.
 */
import { type Json, schemaOf } from '#src/control/openapi/json-schema.ts';
import type { Operation } from '#src/operations/define.ts';
import { nouns } from '#src/operations/table.ts';

/** Operations that are not methods of a noun, since other methods of the simulator do the same. */
const omittedOperations = [
  'simulator.health',
  'simulator.journal',
  'simulator.shutdown',
  'referee.report',
];

/** The arguments of methods that take more than the input of the control port. */
export const ownArguments: Readonly<Record<string, string>> = {
  'clock.setMode':
    "mode: 'manual' | 'real' | 'scaled' | { mode: 'manual' | 'real' | 'scaled'; rate?: number }, rate?: number",
  'clock.advance':
    'how: string | number | { by: string | number } | { to: string | number } | { until_idle: true }',
  'simulator.reset': '',
  'snapshots.restore': 'snapshot: Snapshot',
};

/** The results of methods that differ from the reply over HTTP. */
export const ownResults: Readonly<Record<string, string>> = {
  'simulator.metrics': 'readonly MetricFamily[]',
  'simulator.reset': 'void',
  'limits.reset': 'void',
  'snapshots.take': 'Snapshot',
  'snapshots.restore': 'void',
};

export interface Method {
  readonly operation: Operation;
  /** As a user writes it: `sim.faults.add`. */
  readonly path: string;
  readonly name: string;
}

export function methodsOf(noun: string): Method[] {
  return Object.entries<Operation>(nouns[noun as keyof typeof nouns])
    .filter(([, { name }]) => !omittedOperations.includes(name))
    .map(([name, operation]) => {
      if (operation.name === 'referee.judge') return { operation, name, path: 'sim.referee' };
      return {
        operation,
        name,
        path: noun === 'simulator' ? `sim.${name}` : `sim.${noun}.${name}`,
      };
    });
}

export const shownNouns = Object.keys(nouns).filter((noun) => noun !== 'events');

/** The control port wraps a list in an object, so that it can grow; a method returns the list. */
export function resultSchema({ output, reply }: Operation): Json | undefined {
  if (output === undefined) return undefined;
  const schema = schemaOf(output, 'output');
  const [field, ...others] = Object.values((schema['properties'] ?? {}) as Record<string, Json>);
  const isList = reply !== undefined && others.length === 0 && field?.['items'] !== undefined;
  return isList ? { ...field, $defs: schema['$defs'] } : schema;
}

/** The name of the id in the path, such as `account_id`. */
export function idOf({ path }: Operation): string | undefined {
  return /\{(\w+)\}/.exec(path)?.[1];
}
