/** One request of an audit and its reply, and what it asked. */

export type Headers = Readonly<Record<string, string>>;

/** What a request stands for. */
export interface Subject {
  /** Who asks, such as `caller-1`; the first one is asked most. */
  readonly caller: string;
  /** The path and query, or what stands for it. */
  readonly path: string;
}

/** What a request was answered. */
export interface Reply {
  /** 0: no whole reply came. */
  readonly status: number;
  /** Lower-case names. */
  readonly headers?: Headers;
}

/** A request and its reply, with their times since the audit began. */
export interface AuditedExchange extends Subject {
  /** From 1 on, in the order of sending. */
  readonly number: number;
  /** Since the audit began. */
  readonly sentAtMs: number;
  /** Since the audit began. */
  readonly answeredAtMs: number;
  /** 0: no whole reply came. */
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Headers;
  /** Milliseconds since 1970, by the audit's clock. */
  readonly answeredAt: number;
  /** `broken`: no whole reply, or a server error. */
  readonly outcome: 'passed' | 'refused' | 'broken';
}
