/**
 * The types of the control port's replies that the page uses, derived from the declarations of the
 * operations.
 */
import type { ActivityEvent, EventKind } from '../../operations/activity-events.ts';
import type { OperationName, OperationTable } from '../../operations/table.ts';
import { endpointNames } from '../../sim/limits.ts';
import { statuses as allStatuses } from '../../sim/status.ts';

export type { EventKind, OperationName, OperationTable };

export const endpoints = endpointNames;
export const statuses = allStatuses;

export type Reply<Name extends OperationName> = OperationTable[Name]['reply'];

export type ClockState = Reply<'clock.state'>;
export type State = Reply<'simulator.state'>;
export type Account = Reply<'accounts.list'>['accounts'][number];
export type Status = keyof Account['messages'];
export type Sim = Reply<'sims.pool'>['sims'][number];
export type Message = Reply<'messages.get'>;
export type MessagePage = Reply<'messages.page'>;
export type MessageEvent = Extract<ActivityEvent, { kind: 'message' }>['data'];
/** A body is null if it was too long to keep. */
export type Exchange = Pick<Reply<'requests.get'>, 'request' | 'reply' | 'fault'>;
export type Traffic = Extract<ActivityEvent, { kind: 'traffic' }>['data'];
export type ServiceRequest = Reply<'requests.list'>['requests'][number];
export type Bucket = Reply<'limits.buckets'>['buckets'][number];
export type Endpoint = Bucket['endpoint'];
export type RefereeReport = Reply<'referee.report'>;
export type ClientFinding = RefereeReport['rules'][number]['findings'][number];
export type RefereeDetails = NonNullable<RefereeReport['details']>;
export type LedgerEntry = Reply<'assumptions.ledger'>['assumptions'][number];
