/** The events that a simulator reports: their kinds and contents, and which readers get which. */
import { z } from 'zod';
import type { EndpointName } from '#contract/limits.ts';
import { type Status, statuses } from '#contract/message-status.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import type { RequestView } from '../requests/request-views.ts';
import type { ClockState, SimView } from '../views.ts';

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
export const eventKinds = [
  'message',
  'messages',
  'sim',
  'clock',
  'traffic',
  'request',
  'operation',
] as const;
export type EventKind = (typeof eventKinds)[number];
/**
 * The kinds that a listener can ask for. Only streams have the other two: `messages` sums `message`
 * events, `traffic` sums `request` events.
 */
export type ListenedKind = Exclude<EventKind, 'messages' | 'traffic'>;
/** The kinds of a stream that asks for none. */
export const defaultKinds: readonly EventKind[] = ['message', 'sim', 'clock', 'traffic'];

/** The content of an event, by its kind. */
export interface EventData {
  readonly message: MessageEvent;
  readonly messages: StatusCounts;
  readonly sim: SimView & { readonly deleted?: true };
  readonly clock: ClockState;
  readonly traffic: TrafficCounts;
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
    .describe(`Some of ${eventKinds.join(', ')}; by default ${defaultKinds.join(', ')}.`),
  pause: z
    .string()
    .exactOptional()
    .describe('The least time between two writes, `"40ms"` by default: later events wait for it.'),
  every: z
    .enum(['0', '1'])
    .exactOptional()
    .describe('`1`: sends every event at any rate. This slows the service.'),
});

/**
 * The event `messages`: how many messages there are in each status, as soon as that changes. For
 * readers who need no single message: at 1,500 sends a second, single events double the cost.
 */
export type StatusCounts = Readonly<Record<Status | 'total', number>>;

export function statusCounts({ accounts }: Pick<Registry, 'accounts'>): StatusCounts {
  const counts = { queued: 0, sending: 0, sent: 0, delivered: 0, failed: 0 };
  for (const account of accounts.values())
    for (const status of statuses) counts[status] += account.counts[status];
  return { total: Object.values(counts).reduce((sum, count) => sum + count), ...counts };
}

/**
 * The event `traffic`: how many requests there were since the last one, by endpoint and status. It
 * is made from existing counts, because an event for each request would cost several times
 * as much as the request.
 */
export interface TrafficCounts {
  /** Simulated time of the last request counted, in ISO 8601. */
  readonly at: string;
  /** Number of the last request counted. */
  readonly last_number: number;
  readonly counts: {
    /** Null: not a path of the service. */
    endpoint: EndpointName | null;
    status: number;
    count: number;
  }[];
}
