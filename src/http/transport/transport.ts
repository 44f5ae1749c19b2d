/**
 * The interface of the two interchangeable servers, HyperExpress and Node's own, and of the
 * handlers that they call. A server, here a *transport*, only moves bytes: routes, 404, 405 and the
 * rules for HEAD belong to the handler. For speed, the handler of the service port is synchronous
 * and gets no header map. The handler of the control port may answer later, with other content
 * types, or with a stream of events.
 */
import type { ApiReply, ApiRequest, Awaits, Delivery } from '#contract/request-and-reply.ts';
import type { TlsPair } from '../../config/tls.ts';
import type { Intake } from './arriving-body.ts';

export interface Transport {
  /** Binds the port exclusively and resolves to its number (0 selects a free one). */
  listen(port: number, host: string): Promise<number>;
  /** Stops accepting, waits at most `graceMs` for open requests, then drops all connections. */
  close(graceMs?: number): Promise<void>;
}

/**
 * Answers a request of the service. The body and `clientIp` are only valid during the call. To keep
 * the body, copy or decode it; never keep or spread the request itself. `awaits`: given if the
 * reply can wait for the write that records the request.
 */
export type Handle = (request: ApiRequest, awaits?: Awaits) => ApiReply;

/** A request on the control port. Its body is a copy and may be kept. */
export interface ControlRequest extends ApiRequest {
  /** By name in lower case. Of several headers of one name, the last one. */
  readonly headers: Readonly<Record<string, string>>;
}
export type ControlHandle = (request: ControlRequest) => ControlReply | Promise<ControlReply>;
export type ControlReply = ApiReply | ContentReply | EventsReply;

/** A reply of any content type. With an `etag`, `If-None-Match` is answered with 304. */
export interface ContentReply {
  readonly status: number;
  readonly content: string | Uint8Array;
  readonly contentType: string;
  /** The tag with its quotes, as sent. */
  readonly etag?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A stream of server-sent events. */
export interface EventsReply {
  readonly status: 200;
  /** The shortest time between two writes, if not the usual one. */
  readonly pauseMs?: number | undefined;
  /** Starts the events; may call `end`. Returns what to call once the reader has left. */
  readonly open: (send: SendEvent, end: () => void) => () => void;
}
/** Returns false once the stream has ended. `event` and `id` must not hold a line break. */
export type SendEvent = (event: string, data: unknown, id?: string) => boolean;

export interface ControlPort {
  readonly control: ControlHandle;
  /** The limits of a body, asked for before it is read. Default: those of the transport. */
  readonly intake?: (request: ControlRequest) => Intake;
  /** Headers of every reply, including the replies that the transport gives by itself. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a transport needs to serve a port: the service port, or the control port. */
export type PortService = ServicePort | ControlPort;

/** Writes a refusal in the shape that the assumptions in force give it. */
export type ShapeRefusal = (status: number, code: string, detail: string) => ApiReply;

export interface ServicePort {
  readonly service: Handle;
  /** Words the refusals that the transport gives by itself. Default: `{"code", "detail"}`. */
  readonly shapeRefusal?: ShapeRefusal;
  /** Called when the transport itself answers; `path` may be empty. Must not throw. */
  readonly onOwnReply?: (path: string, status: number) => void;
  /** Called once a reply that a fault delayed was sent, or (`isSeen` false) its client has left. */
  readonly onReplyFinished?: (delivery: Delivery, isSeen: boolean) => void;
}

/** The limits of a transport, and whom it reports to; every field is optional. */
export interface TransportOptions {
  /** Serves HTTPS with this certificate and key. Default: plain HTTP. */
  readonly tls?: TlsPair | undefined;
  /** A longer body is answered 413. Default 65,536. */
  readonly bodyLimitBytes?: number;
  /** A longer body is not read to its end, and ends its connection. Default 1 MiB. */
  readonly drainLimitBytes?: number;
  /** Bytes of all bodies still arriving; one more is answered 503. Default 64 MiB. */
  readonly heldLimitBytes?: number;
  /** Replies delayed by faults at one time; the next one is written at once. Default 10,000. */
  readonly mostDelayed?: number;
  /** When Node's server closes a silent connection. Default 10 s. The native time is fixed. */
  readonly idleTimeoutMs?: number;
  /** The time in the `Date` header. Default: real time, which the native server always shows. */
  readonly now?: () => number;
  /** Called with any exception of a handler, after its client got a 500. */
  readonly onInternalError?: ((error: unknown) => void) | undefined;
}

export const defaultBodyLimitBytes = 65_536;
export const defaultDrainLimitBytes = 1_048_576;
export const defaultHeldLimitBytes = 64 * 1_048_576;
/** The held bodies of a control port, which also limits each path: two of the largest snapshots. */
export const controlHeldLimitBytes = 512 * 1_048_576;
export const defaultMostDelayed = 10_000;
/** Bytes that may wait for a slow reader of events before it is disconnected. */
export const eventQueueLimitBytes = 1_048_576;
/** Idle timeout of Node's server, close to the 8 to 12 s that are built into uWebSockets.js. */
export const idleTimeoutMs = 10_000;
/** Announced in `Keep-Alive`: well below 8 s, so that no client reuses an expiring connection. */
export const keepAliveSeconds = 5;
