/** The reply of an exchange that a file or a simulator recorded. */
import type { TrafficExchange } from '#contract/exchange.ts';
import type { Exchange } from './exchange.ts';
import { valueIn } from './reading.ts';
import type { Reply, ReportedExchange } from './reply.ts';

type Recorded = Pick<
  TrafficExchange,
  'reply' | 'sentAt' | 'answeredAt' | 'lacksEnd' | 'precisionMs'
>;

/** A reply whose end was not recorded may have taken this long: no client waits longer. */
const longestReplyMs = 600_000;

const notParsed = Symbol('not parsed');

export class RecordedReply implements Reply {
  readonly status: number;
  readonly headers: Reply['headers'];
  readonly lacksHeaders: boolean | undefined;
  readonly text: string;
  readonly failure: string | undefined;
  readonly interruptions = 0;
  readonly sentAt: number;
  readonly answeredAt: number;
  /** The exchange that has this reply. Set later, because each refers to the other. */
  owner: Exchange | undefined;
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
