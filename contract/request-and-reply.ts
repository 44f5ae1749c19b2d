/**
 * The request that a transport passes to the service, and the reply to it. Both are plain objects,
 * so a test, a bench or a user in the same process can call `handle()` without a socket.
 */
import type { Cut } from './fault-kinds.ts';

/** A request of a client, as `sim.handle` takes it. */
export interface ApiRequest {
  /** Upper case. */
  readonly method: string;
  /** As sent: never percent-decoded, without the query. */
  readonly path: string;
  /** As sent, without the question mark; empty when there is none. */
  readonly query: string;
  /** `Host` as sent. */
  readonly host?: string | undefined;
  /** Undefined if missing, or if sent several times with different values. */
  readonly authorization: string | undefined;
  /** `Content-Type` as sent. */
  readonly contentType: string | undefined;
  /** `Content-Encoding` as sent. */
  readonly contentEncoding?: string | undefined;
  /** The peer's address: IPv4 dotted, IPv6 in its shortest spelling. */
  readonly clientIp: string;
  /** `X-Forwarded-For` as sent; read only if the settings trust it. */
  readonly forwardedFor: string | undefined;
  /** All headers as sent, by name in lower case: for faults and the record, not for the service. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>> | undefined;
  /** Text, or bytes that are not decoded yet; empty if there is no body. */
  readonly body: string | Uint8Array;
}

/** The reply of the service. */
export interface ApiReply {
  /** The HTTP status. */
  readonly status: number;
  /** JSON text, also for a HEAD reply: the transport then sends only its length. */
  readonly body: string;
  /** Header names in lower case. Values are constants, numbers or checked text, never raw input. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Set by injected faults: how the transport delays or cuts this reply. */
  readonly delivery?: Delivery;
}

/** How a fault delays or cuts a reply. */
export interface Delivery {
  /** Real milliseconds to wait before anything is written. */
  readonly delayMs?: number;
  /**
   * `close`: the connection ends without a byte; `truncate`: after half of the body; `reset`: by a
   * TCP reset, where the transport can; `hang`: nothing is written, the connection stays open.
   */
  readonly cut?: Cut;
}

/** A write that replies wait for. The first call writes; each call returns its error, if any. */
export type PendingWrite = () => Error | undefined;
/** Called with the write that must end before the reply to the present request is sent. */
export type Awaits = (write: PendingWrite) => void;

/** What the template of a reply may hold. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json };

/** True for an object of JSON: neither a list nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The form of a reply, which the simulator fills in and the harness infers. */
export interface ReplyTemplate {
  readonly status?: number;
  /** Headers to add to the reply; null removes one that the simulator sends. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** JSON with placeholders. */
  readonly body?: Json;
  /** The body as literal text, if it is not JSON. */
  readonly text?: string;
  /** The order in which a 400 names failing fields; by default that of the document's table. */
  readonly fields?: readonly string[];
  /** The shape of one entry of `{items}`. */
  readonly item?: Json;
}
