/**
 * A request and a reply in the reference model: the content of the wire, decoded once.
 */
export interface ModelRequest {
  /** Upper case. */
  readonly method: string;
  /** As sent: never percent-decoded, without the query. */
  readonly path: string;
  /** As sent, without the question mark. */
  readonly query: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding?: string | undefined;
  readonly clientIp: string;
  readonly forwardedFor: string | undefined;
  readonly body: string | Uint8Array;
}

export interface ModelReply {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
  /** Header names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}
