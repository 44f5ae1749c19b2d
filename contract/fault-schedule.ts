/** Fault schedules as data: which fault hits which attempt at which intent of a client. */
import {
  type FaultKindName,
  type FaultKindRow,
  type FaultKinds,
  faultKindNames,
  faultKinds,
} from './fault-kinds.ts';
import type { EndpointName } from './limits.ts';
import type { SendRefusal } from './refusals.ts';

/** One request of a client, named so that concurrency does not shift it. */
export interface Point {
  /** The endpoint that the request asks. */
  readonly endpoint: EndpointName;
  /** The number of the message that is sent, or of the object that is read, from 1. */
  readonly intent: number;
  /** The number of the attempt at this intent, from 1. */
  readonly attempt: number;
}

/** One fault, and the request that it hits. */
export interface ScheduledFault {
  /** The request that the fault hits. */
  readonly at: Point;
  /** What happens to the request. */
  readonly fault: FaultName;
}

/** The faults of one run. */
export type Schedule = readonly ScheduledFault[];

/** What a schedule of the explorer can do to a request. */
export type FaultName = {
  [K in FaultKindName]:
    | (FaultKinds[K] extends { explored: readonly (infer Name)[] } ? Name : K)
    | (FaultKinds[K] extends { crash: infer Name } ? Name : never);
}[FaultKindName];

const kinds: readonly { readonly kind: FaultKindName; readonly declared: FaultKindRow }[] =
  faultKindNames.map((kind) => ({ kind, declared: faultKinds[kind] }));

/**
 * All names, from the weakest to the strongest fault: a finding shows the weakest that fails for
 * the same cause.
 */
export const faultNames = [
  ...kinds.flatMap(({ kind, declared: { explored = [kind] } }) => explored),
  ...kinds.flatMap(({ declared: { crash = [] } }) => crash),
] as readonly FaultName[];

/** True for faults that end the client's processes. */
export function isCrash(name: FaultName): boolean {
  return kinds.some(({ declared: { crash } }) => crash === name);
}

/** The kind of fault that the explorer uses under this name. */
export function kindNamed(name: FaultName): FaultKindName {
  return declarationOf(name).kind;
}

/** The documented refusal of a send that this fault imitates; undefined for any other fault. */
export function refusalNamed(name: FaultName): SendRefusal | undefined {
  return declarationOf(name).declared.refusals?.[name];
}

function declarationOf(name: FaultName): (typeof kinds)[number] {
  const found = kinds.find(
    ({ kind, declared: { explored = [kind], crash } }) => crash === name || explored.includes(name),
  );
  if (found === undefined) throw new Error(`no kind of fault has the name ${name}`);
  return found;
}
