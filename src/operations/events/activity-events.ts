/** The events that a simulator reports: their kinds, their contents, and who can ask for which. */
import { z } from 'zod';
import type { Status } from '#contract/message-status.ts';
import type { SimView } from '../accounts/sim-view.ts';
import type { RequestView } from '../requests/request-views.ts';
import type { ClockState } from '../service/clock-state.ts';
import type { TrafficEvent } from './request-rates.ts';

/** One status change of a message; `from_status` is null for a message that was just accepted. */
export interface MessageEvent {
  readonly message_id: string;
  readonly account_id: string;
  readonly device_id: string;
  readonly from_number: string;
  readonly to: string;
  readonly status: Status;
  readonly from_status: Status | null;
  readonly failure_reason: string | null;
  readonly at: string;
}

/** The kinds that a stream can ask for. */
export const eventKinds = ['message', 'sim', 'clock', 'traffic', 'request', 'operation'] as const;
export type EventKind = (typeof eventKinds)[number];
/** The kinds that a listener can ask for: `traffic` is a summary for streams of `request`. */
export type ListenedKind = Exclude<EventKind, 'traffic'>;
/** The kinds of a stream that asks for none. */
export const defaultKinds: readonly EventKind[] = ['message', 'sim', 'clock', 'traffic'];

/** The content of an event, by its kind. */
export interface EventData {
  readonly message: MessageEvent;
  readonly sim: SimView & { readonly deleted?: true };
  readonly clock: ClockState;
  readonly traffic: TrafficEvent;
  readonly request: RequestView;
  /** An operation that may have changed something. */
  readonly operation: { readonly name: string };
  /** Events were left out, or are no longer kept: read again. */
  readonly behind: Readonly<Record<string, never>>;
}
/** An event of a stream. Ids increase by one for each event that is counted. */
export type ActivityEvent = {
  readonly [K in keyof EventData]: {
    readonly id: number;
    readonly kind: K;
    readonly data: EventData[K];
  };
}[keyof EventData];
export type ActivityListener = (event: ActivityEvent) => void;

const kindPattern = `(${eventKinds.join('|')})`;
export const eventsQuerySchema = z.strictObject({
  kinds: z
    .string()
    .regex(new RegExp(`^${kindPattern}(,${kindPattern})*$`), {
      error: `expected some of ${eventKinds.join(', ')}, separated by commas`,
    })
    .exactOptional()
    .describe(
      `Some of ${eventKinds.join(', ')}; by default all but \`request\` and \`operation\`.`,
    ),
  every: z
    .enum(['0', '1'])
    .exactOptional()
    .describe('`1`: sends every event at any rate. This slows the service.'),
});
