/**
 * A request as a run makes it, and the reply to it, with its times: as a run got it, or as a file or
 * a simulator recorded it.
 */
import type { TrafficExchange } from '#contract/exchange.ts';
import { valueIn } from './reading.ts';

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
  /**
   * Equal for equal bodies, byte for byte: the SHA-256 of the body, or the body itself if it is kept
   * whole as text.
   */
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

/** Longer than the body of a message. */
const keptLength = 1_000;

/**
 * True if a fault garbled the reply: it is not JSON, although it begins as JSON or its status is
 * 2xx.
 */
export function isGarbled(reply: Pick<Reply, 'status' | 'text' | 'json'>): boolean {
  const { text } = reply;
  if (text === '' || (!isSuccess(reply) && !/^\s*[{[]/.test(text))) return false;
  // A short body is read again, so its value is kept; that of a long one would take too much memory.
  return (text.length < keptLength ? reply.json : valueIn(text)) === undefined;
}

/** What a report shows of a request. */
type RepliedRequest = Pick<RequestOptions, 'method' | 'path' | 'headers' | 'body'> & {
  readonly query: string;
};

type Recorded = Pick<
  TrafficExchange,
  'reply' | 'sentAt' | 'answeredAt' | 'lacksEnd' | 'precisionMs'
>;

/** A reply whose end was not recorded may have taken this long: no client waits longer. */
const longestReplyMs = 600_000;

const notParsed = Symbol('not parsed');

/** The reply of an exchange that a file or a simulator recorded. */
export class RecordedReply implements Reply {
  readonly status: number;
  readonly headers: Reply['headers'];
  readonly lacksHeaders: boolean | undefined;
  readonly text: string;
  readonly failure: string | undefined;
  readonly interruptions = 0;
  readonly sentAt: number;
  readonly answeredAt: number;
  /** The request of this reply. Set later, because an exchange is made of both. */
  owner: RepliedRequest | undefined;
  // For this class only. Not private, because private fields make objects slower to create.
  readonly recordedStatus: number;
  readonly durationMs: number;
  reported: ReportedExchange | undefined;
  parsed: unknown = notParsed;

  /**
   * `status`: as judges see it, which may differ from the recorded one. `text`: the body, with names
   * for keys.
   */
  constructor(
    { reply, sentAt, answeredAt, lacksEnd, precisionMs }: Recorded,
    status = 0,
    text = reply?.body ?? '',
  ) {
    this.recordedStatus = reply?.status ?? 0;
    this.durationMs = answeredAt - sentAt;
    this.status = status;
    this.headers = reply?.headers ?? {};
    this.lacksHeaders = reply?.lacksHeaders;
    this.text = text;
    this.failure = reply === undefined ? 'none was recorded' : undefined;
    this.sentAt = sentAt;
    this.answeredAt = answeredAt + (lacksEnd ? longestReplyMs : precisionMs);
  }

  /** Parsed on demand: most bodies are never read, and a value takes more memory than its text. */
  get json(): unknown {
    if (this.parsed === notParsed) this.parsed = valueIn(this.text);
    return this.parsed;
  }

  /** A recorded text is complete, so texts compare as well as digests. */
  get digest(): string {
    return this.text;
  }

  /** Made on demand, because few are reported. */
  get exchange(): ReportedExchange {
    const { method = '', path = '', query = '', headers = {}, body } = this.owner ?? {};
    this.reported ??= {
      method,
      url: query === '' ? path : `${path}?${query}`,
      requestHeaders: headers,
      requestBody: body,
      status: this.recordedStatus,
      replyHeaders: this.headers,
      replyBody: this.text,
      failure: this.failure,
      durationMs: this.durationMs,
    };
    return this.reported;
  }
}
