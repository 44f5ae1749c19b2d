/**
 * The types of the control port's replies that the page uses, derived from the declarations in
 * `src/operations/`.
 */
import type { OperationName, OperationTable } from '#src/operations/table.ts';

export type { OperationName, OperationTable };

export type Reply<Name extends OperationName> = OperationTable[Name]['reply'];

export type State = Reply<'simulator.state'>;
export type Account = Reply<'accounts.list'>['accounts'][number];
export type Status = keyof Account['messages'];
export type Sim = Reply<'sims.pool'>['sims'][number];
export type Message = Reply<'messages.get'>;
/** A request and its reply; a body is null if it was too long to keep. */
export type ShownExchange = Pick<Reply<'requests.get'>, 'request' | 'reply' | 'fault'>;
export type ServiceRequest = Reply<'requests.list'>['requests'][number];
export type Bucket = Reply<'limits.buckets'>['buckets'][number];
export type RefereeReport = Reply<'referee.report'>;
