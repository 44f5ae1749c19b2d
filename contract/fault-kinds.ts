/** What a fault does to a request or its reply. */
export type FaultKind =
  | { readonly kind: 'delay'; readonly ms: number }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body?: unknown;
      /** Checked text, sent unchanged. */
      readonly headers?: Readonly<Record<string, string>>;
      /** The shortest wait that a 429 without headers asks for. Default 1. */
      readonly waitSeconds?: number;
    }
  /** The connection closes before the service accepts the request: no token is spent. */
  | { readonly kind: 'refuse' }
  /** The same as `refuse`, with a TCP reset. */
  | { readonly kind: 'reset' }
  /** The request is never handled nor answered: the connection stays open. */
  | { readonly kind: 'lost_request' }
  /** The request is handled, then the connection closes without a reply. */
  | { readonly kind: 'lost_response' }
  /** The request is handled, but never answered. */
  | { readonly kind: 'hang' }
  /** Half of the reply is sent, then the connection closes. */
  | { readonly kind: 'truncate' }
  /** The body of the reply is not valid JSON. */
  | { readonly kind: 'malformed' };
