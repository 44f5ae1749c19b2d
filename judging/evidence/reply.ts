/** A request as a run makes it, and the reply to it, with its times. */

export interface RequestOptions {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** The local address to call from, for limits by client IP. */
  readonly localAddress?: string;
  /** Default: true. False: a request whose connection broke is not sent again. */
  readonly mayRetry?: boolean;
}

/** The reply to one attempt, or why none came. */
export interface Outcome {
  /** 0 if no usable reply came. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** True if a recorder left out the headers. */
  readonly lacksHeaders?: boolean | undefined;
  /** The SHA-256 of the body, to compare bodies byte for byte without keeping their bytes. */
  readonly digest: string;
  readonly text: string;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
  /** The reason if no usable reply came. */
  readonly failure?: string | undefined;
  /** True if a reply came, but exceeded a bound. */
  readonly isUnusable?: boolean;
}

export interface Reply extends Outcome {
  /** How often the connection broke. Each time, the request may have arrived or not. */
  readonly interruptions: number;
  /** True if this process was blocked meanwhile: the times are then too rough to judge a limit. */
  readonly isLate?: boolean;
  /** In milliseconds, by the run's clock. */
  readonly sentAt: number;
  /** In milliseconds, by the run's clock. */
  readonly answeredAt: number;
  /** The request and its reply, as reports show them. */
  readonly exchange: ReportedExchange;
}

/** One request and its reply as reports show them, without full keys. */
export interface ReportedExchange {
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody?: string | undefined;
  readonly status: number;
  readonly replyHeaders: Readonly<Record<string, string>>;
  readonly replyBody: string;
  readonly failure?: string | undefined;
  readonly durationMs: number;
}

/** The value of a request's header, however its name is written. */
export function headerOf(
  { headers = {} }: Pick<RequestOptions, 'headers'>,
  name: Lowercase<string>,
): string | undefined {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}

/** True for a 2xx. */
export function isSuccess({ status }: Pick<Reply, 'status'>): boolean {
  return status >= 200 && status < 300;
}

/** The part of a reply that probes read. */
export type ProbeReply = Pick<Reply, 'status' | 'headers' | 'text' | 'json'>;
