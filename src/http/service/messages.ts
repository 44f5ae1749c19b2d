/**
 * The two plain types of the HTTP border: what a transport hands in and what it sends out.
 * They are no framework's: a test, a bench and an in-process user call `handle()` with no socket.
 */

export interface ApiRequest {
  /** Upper case. */
  readonly method: string;
  /** As sent: never percent-decoded, without the query. */
  readonly path: string;
  /** As sent, without the question mark; empty when there is none. */
  readonly query: string;
  /** `Host` as sent. */
  readonly host?: string | undefined;
  /** Undefined when missing, and when sent more than once with different values. */
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding?: string | undefined;
  /** The peer's address: IPv4 dotted, IPv6 as the transport prints it. */
  readonly clientIp: string;
  /** `X-Forwarded-For` as sent; only read where the settings trust it. */
  readonly forwardedFor: string | undefined;
  /** Text, or bytes that are not decoded yet; empty when there is none. */
  readonly body: string | Uint8Array;
}

export interface ApiReply {
  readonly status: number;
  /**
   * JSON text. A HEAD reply carries it here too; the transport leaves it out and keeps its length.
   */
  readonly body: string;
  /** Header names in lower case. Values are constants, numbers or checked text, never raw input. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Injected faults: how the transport mistreats this reply. */
  readonly delivery?: Delivery;
}

export interface Delivery {
  /** Real milliseconds to wait before anything is written. */
  readonly delayMs?: number;
  /**
   * `close`: the connection ends without a byte; `truncate`: after half of the body; `reset`: by a
   * TCP reset, where the transport can; `hang`: nothing is written, the connection stays open.
   */
  readonly cut?: 'close' | 'truncate' | 'reset' | 'hang';
}
