/**
 * Fault schedules as data: which fault hits which attempt at which intent of a client; and a
 * finding of the explorer, which files, reports and the page share.
 */
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

/** One exchange of the run. */
export interface TimelineEntry {
  /** Its number in the run, from 1. */
  readonly number: number;
  /** When the request came, on the service's clock. */
  readonly at: string;
  /** The HTTP method. */
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The endpoint; null for a path that the service does not have. */
  readonly endpoint: string | null;
  /** The number of its intent, from 1. */
  readonly intent: number | null;
  /** The number of the attempt at that intent, from 1. */
  readonly attempt: number | null;
  /** What the schedule did to the request. */
  readonly fault: FaultName | null;
  /** The body of the request. */
  readonly body: string;
  /** What the service answered, whether or not the client saw it. */
  readonly status: number;
  /** False if the client cannot have seen the whole reply. */
  readonly seen: boolean;
}

/** One way in which the client fails, and the smallest schedule that shows it. */
export interface FindingView {
  /** The faults. */
  readonly schedule: Schedule;
  /** False if the exploration ended first: fewer or weaker faults may fail too. */
  readonly shrunk: boolean;
  /** The client rule that was broken, or `sent_twice`, `not_accepted`, `timeout`, `failed`. */
  readonly cause: string;
  /** What the client did, in words. */
  readonly what: string;
  /** All failures of the run, with the numbers of the exchanges that prove them. */
  readonly failures: readonly {
    readonly cause: string;
    readonly what: string;
    readonly exchanges: readonly number[];
  }[];
  /** Every exchange of the run, in order. */
  readonly timeline: readonly TimelineEntry[];
  /**
   * Other schedules that fail for the same cause and shrink to this one, or to an equivalent
   * schedule.
   */
  readonly also: readonly Schedule[];
  /** The end of the client's output. */
  readonly output: string;
}
