/** One request of an audit and its reply, and what it asked. */

export type Headers = Readonly<Record<string, string>>;

/** What a request stands for. */
export interface Subject {
  /** Who asks, such as `caller-1`; the first one is asked most. */
  readonly caller: string;
  /** The path and query, or what stands for it. */
  readonly path: string;
}

export interface Reply {
  /** 0: no whole reply came. */
  readonly status: number;
  /** Lower-case names. */
  readonly headers?: Headers;
}

/** A request and its reply, with their times since the audit began. */
export interface Exchange extends Subject {
  readonly number: number;
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  readonly status: number;
  readonly headers: Headers;
  /** Milliseconds since 1970, by the audit's clock. */
  readonly answeredAt: number;
  readonly outcome: 'passed' | 'refused' | 'broken';
}
