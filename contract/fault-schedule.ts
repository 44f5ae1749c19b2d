/** Fault schedules as data: which attempt at which intent of a client meets which fault. */
import {
  type FaultKindName,
  type FaultKindRow,
  type FaultKinds,
  faultKindNames,
  faultKinds,
} from './fault-kinds.ts';
import type { EndpointName } from './limits.ts';
import type { SendRefusal } from './refusals.ts';

/** What a schedule of the explorer can do to a request. */
export type FaultName = {
  [K in FaultKindName]:
    | (FaultKinds[K] extends { explored: readonly (infer Name)[] } ? Name : K)
    | (FaultKinds[K] extends { crash: infer Name } ? Name : never);
}[FaultKindName];

const rows: readonly { readonly kind: FaultKindName; readonly row: FaultKindRow }[] =
  faultKindNames.map((kind) => ({ kind, row: faultKinds[kind] }));

/**
 * All names, from the weakest to the strongest fault: a finding shows the weakest that fails for
 * the same cause.
 */
export const faultNames = [
  ...rows.flatMap(({ kind, row: { explored = [kind] } }) => explored),
  ...rows.flatMap(({ row: { crash = [] } }) => crash),
] as readonly FaultName[];

/** True for faults that end the client's processes. */
export function isCrash(name: FaultName): boolean {
  return rows.some(({ row: { crash } }) => crash === name);
}

/** The kind of fault that the explorer uses under this name. */
export function kindNamed(name: FaultName): FaultKindName {
  return rowOf(name).kind;
}

/** The documented refusal of a send that this fault imitates; undefined for any other fault. */
export function refusalNamed(name: FaultName): SendRefusal | undefined {
  return rowOf(name).row.refusals?.[name];
}

function rowOf(name: FaultName): (typeof rows)[number] {
  const row = rows.find(
    ({ kind, row: { explored = [kind], crash } }) => crash === name || explored.includes(name),
  );
  if (row === undefined) throw new Error(`no kind of fault has the name ${name}`);
  return row;
}

/** One request of a client, named so that concurrency does not shift it. */
export interface Point {
  readonly endpoint: EndpointName;
  /** The number of the message that is sent, or of the object that is read, from 1. */
  readonly intent: number;
  /** From 1. */
  readonly attempt: number;
}

/** One fault and the call that it strikes. */
export interface ScheduledFault {
  readonly at: Point;
  readonly fault: FaultName;
}

/** The faults of one run. */
export type Schedule = readonly ScheduledFault[];
