/**
 * The interface of the two interchangeable servers: HyperExpress and Node's own.
 * A transport moves bytes. Routes, 404, 405 and the rules for HEAD belong to the handler.
 * For speed, the handler of the service port is synchronous and gets no header map. The handler of the control port
 * may answer later, with other content types, or with a stream of events.
 */
import { createServer } from 'node:net';
import { CommandError } from '../../config/command-error.ts';
import type { ApiReply, ApiRequest } from '../service/messages.ts';
import type { Intake } from './arriving-body.ts';

export interface Transport {
  /** Takes the port for itself alone and resolves to its number (0 asks for any free one). */
  listen(port: number, host: string): Promise<number>;
  /** Stops accepting, lets what is in flight finish for at most `graceMs`, then drops every connection. */
  close(graceMs?: number): Promise<void>;
}

/**
 * The body and `clientIp` are only valid during the call. To keep the body, copy or decode it; never keep or spread
 * the request itself.
 */
export type Handle = (request: ApiRequest) => ApiReply;

/** Here the body is a copy and may be kept. */
export interface ControlRequest extends ApiRequest {
  /** Names in lower case; of a header given twice, the last. */
  readonly headers: Readonly<Record<string, string>>;
}
export type ControlHandle = (request: ControlRequest) => ControlReply | Promise<ControlReply>;
export type ControlReply = ApiReply | ContentReply | EventsReply;

/** A page or one of its files. With an `etag`, `If-None-Match` is answered 304 by the transport. */
export interface ContentReply {
  readonly status: number;
  readonly content: string | Uint8Array;
  readonly contentType: string;
  /** Quoted, as it goes over the wire. */
  readonly etag?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Server-sent events. `open` starts them and returns what is to be called, once, when the reader is gone. */
export interface EventsReply {
  readonly status: 200;
  readonly open: (send: SendEvent) => () => void;
}
/** False once the stream is over. `event` and `id` are ours and hold no line break. */
export type SendEvent = (event: string, data: unknown, id?: string) => boolean;

/** The control port's handler, and what it takes of a body; asked before any of the body is read. */
export interface ControlService {
  readonly control: ControlHandle;
  /** Without it, every body is taken up to the transport's own limit. */
  readonly intake?: (request: ControlRequest) => Intake;
}

/** Which of the two kinds of port is served. */
export type Serve = ServiceHandler | ControlService;

export interface ServiceHandler {
  readonly service: Handle;
  /** Whether the transport's own refusals take the nested shape now (`errorBody`); without it, they do not. */
  readonly nestsErrors?: () => boolean;
}

export interface TransportOptions {
  /** A longer body is answered 413. Default 65,536. */
  readonly bodyLimitBytes?: number;
  /** Up to here a body that is too long is read to its end, and the connection stays open. Default 1 MiB. */
  readonly drainLimitBytes?: number;
  /** What all bodies that are still arriving may hold together; one more piece is answered 503. Default 64 MiB. */
  readonly heldLimitBytes?: number;
  /** Replies that faults delay at one time; one more is written at once. Default 10,000. */
  readonly mostDelayed?: number;
  /** When Node's server closes a silent connection. Default 10 s. The native server's is built in. */
  readonly idleTimeoutMs?: number;
  /** The time that `Date` shows; without it, the machine's. The native server always shows the machine's. */
  readonly now?: () => number;
  /** Called with whatever a handler threw; the caller of the service has got a 500. */
  readonly onInternalError?: (error: unknown) => void;
}

export const defaultBodyLimitBytes = 65_536;
export const defaultDrainLimitBytes = 1_048_576;
export const defaultHeldLimitBytes = 64 * 1_048_576;
export const defaultMostDelayed = 10_000;
/** What may wait for a slow reader of events before it is cut off. */
export const eventQueueLimitBytes = 1_048_576;
/** Both servers close a connection that stays silent for about this long. uWebSockets.js has 8 to 12 s built in. */
export const idleTimeoutMs = 10_000;
/** What replies announce in `Keep-Alive`: well below 8 s, so that no client reuses a connection that is about to end. */
export const keepAliveSeconds = 5;

export class PortInUseError extends CommandError {
  override readonly name = 'PortInUseError';
  readonly host: string;
  readonly port: number;
  constructor(host: string, port: number) {
    super(3, `port ${port} on ${host} is in use`);
    this.host = host;
    this.port = port;
  }
}

/** Any other reason why a port cannot be had; the message is one line for the user. */
export class ListenError extends CommandError {
  override readonly name = 'ListenError';
  constructor(message: string) {
    super(2, message);
  }
}

export function checkAddress(port: number, host: string): void {
  // HyperExpress would take these for a path and create a socket file of that name.
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new ListenError(
      `cannot listen on port ${port}: a port is a whole number from 0 to 65535`,
    );
  }
  if (host === '') throw new ListenError('cannot listen: the host is empty');
}

export function listenError(cause: unknown, port: number, host: string): Error {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'EADDRINUSE') return new PortInUseError(host, port);
  const why =
    code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN'
      ? 'the host is no address of this machine'
      : code === 'EACCES'
        ? 'permission denied'
        : String(code ?? cause);
  return new ListenError(`cannot listen on ${host}:${port}: ${why}`);
}

/** Asks the operating system why a port could not be bound. */
export function explainRefusal(port: number, host: string): Promise<Error> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error) => resolve(listenError(error, port, host)));
    probe.listen(port, host, () => {
      probe.close(() => resolve(listenError('the port was refused', port, host)));
    });
  });
}

/** Waits until `busy` is false, at most `graceMs`. */
export async function quiet(busy: () => boolean, graceMs: number): Promise<void> {
  // One turn of the event loop, so that a handler that closes its own server still answers.
  await new Promise((resolve) => setImmediate(resolve));
  const until = performance.now() + graceMs;
  while (busy() && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** An IPv4 address that arrived on an IPv6 socket, in either spelling, as plain IPv4. */
export function plainIp(address: string): string {
  if (address.startsWith('::ffff:') && address.includes('.')) return address.slice(7);
  if (!address.startsWith('0000:0000:0000:0000:0000:ffff:')) return address;
  const bits = Number.parseInt(address.slice(30, 34) + address.slice(35), 16);
  return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`;
}
