/** A request that was made, what came of it, and when. */
import type { ReportedExchange } from '../report/reported-exchange.ts';

export interface RequestOptions {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** The local address to call from, for limits by client IP. */
  readonly localAddress?: string;
  /** False: a broken connection is not retried. */
  readonly retried?: boolean;
}

/** What came of one attempt. */
export interface Outcome {
  /** 0 if no usable reply came. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** True if a recorder left them out. */
  readonly lacksHeaders?: boolean | undefined;
  /** The SHA-256 of the body, to compare bodies byte for byte without keeping their bytes. */
  readonly digest: string;
  readonly text: string;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
  /** The reason if no usable reply came. */
  readonly failure?: string | undefined;
  /** True if a reply came, but exceeded a bound. */
  readonly unusable?: boolean;
}

export interface Reply extends Outcome {
  /** How often the connection broke. Each time, the request may have arrived or not. */
  readonly interruptions: number;
  /** True if this process itself stood still meanwhile, so that the times are too rough for a limit. */
  readonly isLate?: boolean;
  /** Milliseconds in the run's clock, as `answeredAt`. */
  readonly sentAt: number;
  readonly answeredAt: number;
  /** The request and its reply, as reports show them. */
  readonly exchange: ReportedExchange;
}

/** The part of a reply that probes read. */
export type ProbeReply = Pick<Reply, 'status' | 'headers' | 'text' | 'json'>;
