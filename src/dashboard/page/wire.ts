/**
 * The types of the control port's replies that the page uses, derived from the declarations of the
 * operations.
 */
import type { ActivityEvent } from '../../operations/activity-events.ts';
import type { OperationName, OperationTable } from '../../operations/table.ts';
import { endpointNames } from '../../sim/limits.ts';
import { statuses as allStatuses } from '../../sim/status.ts';

export type { OperationName, OperationTable };

export const endpoints = endpointNames;
export const statuses = allStatuses;

export type Reply<Name extends OperationName> = OperationTable[Name]['reply'];

export type ClockState = Reply<'clock.state'>;
export type State = Reply<'simulator.state'>;
export type Account = Reply<'accounts.list'>['accounts'][number];
export type Status = keyof Account['messages'];
export type Key = Reply<'accounts.keys'>['keys'][number];
export type CreatedKey = Reply<'accounts.createKey'>;
export type Sim = Reply<'sims.pool'>['sims'][number];
export type Message = Reply<'messages.get'>;
export type MessagePage = Reply<'messages.list'>;
export type MessageEvent = Extract<ActivityEvent, { kind: 'message' }>['data'];
export type Received = Reply<'sims.received'>['received'][number];
/** A body is null if it was too long to keep. */
export type Exchange = Pick<Reply<'requests.get'>, 'request' | 'reply' | 'fault'>;
export type Traffic = Extract<ActivityEvent, { kind: 'traffic' }>['data'];
export type ServiceRequest = Reply<'requests.list'>['requests'][number];
export type Bucket = Reply<'limits.buckets'>['buckets'][number];
export type Endpoint = Bucket['endpoint'];
export type Fault = Reply<'faults.list'>['faults'][number];
export type HostedWorld = Reply<'worlds.get'>;
export type Outcome = Reply<'outcomes.get'>['outcomes'][number];
export type RefereeReport = Reply<'referee.report'>;
export type ClientFinding = RefereeReport['rules'][number]['findings'][number];
export type RefereeDetails = NonNullable<RefereeReport['details']>;
export type LedgerEntry = Reply<'assumptions.ledger'>['assumptions'][number];
export type AssumptionValue = string | number | readonly string[] | Templates;
/** The value of `replyTemplates`. */
export type Templates = Readonly<Record<string, object>>;
