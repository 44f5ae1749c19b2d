/**
 * Makes an exchange from a request, its reply, and what is known of the caller and the sender
 * number (`exchangeOf`), and a reply from what a file or a simulator recorded (`RecordedReply`).
 */
import type { TrafficExchange } from '#contract/exchange.ts';
import { documentedLimits } from '#contract/limits.ts';
import { matchRoute, type RouteMatch } from '#contract/routes.ts';
import type { Ahead } from './clock-offset.ts';
import type { Caller, Exchange, Sender } from './exchange.ts';
import { objectIn, valueIn } from './reading.ts';
import type { Reply, RequestOptions } from './reply.ts';

/** What is known of the caller and the sender number of a request. */
export interface Knowledge<R extends RequestParts> {
  callerOf(request: R, reply: Reply): Caller;
  senderOf(account: string | undefined, number: string, reply: Reply): Sender | undefined;
  /** The target's time minus ours, as far as this reply may show it. */
  aheadOf(reply: Reply): Ahead;
}

interface RequestParts extends Pick<RequestOptions, 'method' | 'path' | 'headers' | 'body'> {
  /** Undefined if the path has it. */
  readonly query?: string;
}

/** The route of a path. The last slash of a limited endpoint may be missing (`trailingSlash`). */
export function routeIn(path: string): RouteMatch | undefined {
  if (path.endsWith('/')) return matchRoute(path);
  const match = matchRoute(`${path}/`);
  return match !== undefined && match.route.endpoint in documentedLimits ? match : undefined;
}

/** A request and its reply, with what is known of its caller and its sender number. */
export function exchangeOf<R extends RequestParts>(
  request: R,
  reply: Reply,
  known: Knowledge<R>,
): Exchange {
  const { method, headers = {}, body } = request;
  const parts = request.path.includes('?') ? request.path.split('?', 2) : [request.path];
  const [path = '', query = request.query ?? ''] = parts;
  const match = routeIn(path);
  const fields = method === 'POST' ? objectIn(body) : undefined;
  const caller = known.callerOf(request, reply);
  const number = fields?.['from'] ?? fields?.['from_number'];
  const sender =
    typeof number === 'string' ? known.senderOf(caller.account, number, reply) : undefined;
  const ahead = known.aheadOf(reply);
  // Each field is named, because a spread here would cost more than the rest of the function.
  return {
    method,
    path,
    query,
    ahead,
    headers,
    body,
    fields,
    endpoint: match?.route.endpoint,
    id: match?.id || undefined,
    caller,
    sender,
    reply,
    sentAt: reply.sentAt,
    answeredAt: reply.answeredAt,
    isRetried: reply.interruptions > 0,
  };
}

type Timed = Pick<TrafficExchange, 'reply' | 'sentAt' | 'answeredAt' | 'lacksEnd' | 'precisionMs'>;

/** How late a reply whose end was not recorded may be: no client waits longer. */
const unknownDurationMs = 600_000;

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
  /** The exchange of this reply. */
  to: Exchange | undefined;
  // For this class only. Not private, because private fields make objects slower to create.
  /** The status that was recorded, which judges may see as another one. */
  readonly recordedStatus: number;
  readonly durationMs: number;
  shown: Reply['exchange'] | undefined;
  parsed: unknown = notParsed;

  /** `status`: as judges see it. `text`: the body, with names for keys. */
  constructor(
    { reply, sentAt, answeredAt, lacksEnd, precisionMs }: Timed,
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
    this.answeredAt = answeredAt + (lacksEnd ? unknownDurationMs : precisionMs);
  }

  /** Parsed on demand: many are never read, and a value takes more memory than its text. */
  get json(): unknown {
    if (this.parsed === notParsed) this.parsed = valueIn(this.text);
    return this.parsed;
  }

  /** A recorded text is complete, so texts compare as well as digests. */
  get digest(): string {
    return this.text;
  }

  /** Made on demand, as few are shown. */
  get exchange(): Reply['exchange'] {
    const { method = '', path = '', query = '', headers = {}, body } = this.to ?? {};
    this.shown ??= {
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
    return this.shown;
  }
}
