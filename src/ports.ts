/**
 * The two ports of a simulator: the service and the control port.
 */

import { isLoopback } from './commands/flag-values.ts';
import type { TlsPair } from './config/tls.ts';
import { matchRoute } from './http/service/routes.ts';
import { refuseUnread } from './http/service/templated-replies.ts';
import {
  nodeTransport,
  openTransport,
  type TransportKind,
} from './http/transport/open-transport.ts';
import type { ServiceHandler, Transport } from './http/transport/transport.ts';
import type { Live } from './operations/live.ts';

/** Where to listen; every field is optional. */
export interface ListenOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /**
   * The base URL to hand out, where clients reach the service by another name or port than it
   * listens on. Its name is also handed out for the control port, and allowed there as `Host`.
   */
  readonly publicUrl?: string | undefined;
  /** Serves the base URL over HTTPS with this certificate and key, as PEM. Default: plain HTTP. */
  readonly tls?: TlsPair | undefined;
  /** Absent or false: no control port. */
  readonly control?: ControlOptions | false;
  /** The HTTP server: `hyperexpress` (default), or `node`, which also answers HTTP/1.0. */
  readonly transport?: TransportKind;
  /** What the operation `simulator.shutdown` does; without it, the simulator closes. */
  readonly onShutdown?: () => void;
  /**
   * Called with one line that the user should see, such as a transport that could not be loaded.
   */
  readonly onNotice?: (line: string) => void;
  /** Called with the exception of a request, after its caller got a 500. */
  readonly onInternalError?: (error: unknown) => void;
}

/** Where the control port listens, and who may use it. */
export interface ControlOptions {
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default 0: any free port. */
  readonly port?: number | undefined;
  /** Required of every request if set; needed if the host is not a loopback address. */
  readonly token?: string | undefined;
  /**
   * Names that `Host` may carry besides the bound host and loopback names, such as a container's
   * name.
   */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** The URLs of the open ports. */
export interface Listening {
  /** Of the service. */
  readonly baseUrl: string;
  /** Of the control port; null if it is not open. */
  readonly controlUrl: string | null;
}

export interface Ports {
  readonly listening: Listening;
  /** The URLs for a client that reached the control port by this `Host`. */
  urlsFor(host: string | undefined): Listening;
  close(): Promise<void>;
}

const loopback = '127.0.0.1';
/** Room for two snapshots of the largest size. The control API has its own limit for each path. */
const controlHeldLimitBytes = 512 * 1024 ** 2;
const closeGraceMs = 4_000;

export async function openPorts(simulator: Live, options: ListenOptions): Promise<Ports> {
  const { host = loopback, port = 0, control = false, transport: kind = 'hyperexpress' } = options;
  const { publicUrl, tls } = options;
  const opened: Transport[] = [];
  const close = async () => {
    await Promise.all(opened.map((transport) => transport.close(closeGraceMs)));
  };
  const transportOptions =
    options.onInternalError === undefined ? {} : { onInternalError: options.onInternalError };
  try {
    const service = await openTransport(kind, serviceHandler(simulator), {
      ...transportOptions,
      tls,
      now: () => simulator.hosting.lastAnswered.simulation.clock.now(),
    });
    if (service.fallbackReason !== undefined) options.onNotice?.(service.fallbackReason);
    opened.push(service.transport);
    const servicePort = await service.transport.listen(port, host);
    const baseUrl = publicUrl ?? urlOf(host, servicePort, tls);
    if (control === false) {
      const listening = { baseUrl, controlUrl: null };
      return { listening, urlsFor: () => listening, close };
    }
    const { controlApi } = await import('./control/control-api.ts');
    const controlHost = control.host ?? loopback;
    const publicHost = publicUrl === undefined ? undefined : hostOf(publicUrl);
    const allowedHosts = [...(control.allowedHosts ?? []), ...(publicHost ? [publicHost] : [])];
    const controlPort = await nodeTransport(
      controlApi(simulator, { host: controlHost, token: control.token, allowedHosts }),
      { ...transportOptions, heldLimitBytes: controlHeldLimitBytes },
    );
    opened.push(controlPort);
    const ownPort = await controlPort.listen(control.port ?? 0, controlHost);
    const isPublic = publicHost !== undefined && !isLoopback(controlHost);
    const controlUrl = urlOf(isPublic ? publicHost : controlHost, ownPort);
    const listening = { baseUrl, controlUrl };
    const urlsFor = (asked: string | undefined) => urlsAskedBy(asked, listening, publicUrl);
    return { listening, urlsFor, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The service, as a transport or `sim.fetch` calls it. */
export function serviceHandler(simulator: Live): ServiceHandler {
  return {
    service: (request) => {
      const { hosting } = simulator;
      return hosting.isFirst(simulator) ? hosting.handle(request) : simulator.handle(request);
    },
    wordRefusal: (status, code, detail) =>
      refuseUnread(simulator.simulation.world, status, code, detail),
    onOwnReply: (path, status) =>
      simulator.counts.requests.refused(matchRoute(path)?.route.endpoint, status),
    onLeft: (delivery, isSeen) => simulator.replyFinished(delivery, isSeen),
  };
}

/** The URLs for a client that reached the control port by this `Host`. */
export function urlsAskedBy<Urls extends { readonly baseUrl: string }>(
  asked: string | undefined,
  urls: Urls,
  publicUrl: string | undefined,
): Urls {
  if (asked === undefined) return urls;
  const controlUrl = `http://${asked}`;
  if (publicUrl !== undefined || isLoopback(hostOf(controlUrl))) return { ...urls, controlUrl };
  const base = new URL(urls.baseUrl);
  base.hostname = new URL(controlUrl).hostname;
  return { ...urls, baseUrl: base.origin, controlUrl };
}

const loopbackOf: Readonly<Record<string, string>> = { '0.0.0.0': loopback, '::': '::1' };

/** The URL for a client on this machine; HTTPS with a certificate. */
export function urlOf(host: string, port: number, tls?: TlsPair): string {
  const scheme = tls === undefined ? 'http' : 'https';
  const reachable = loopbackOf[host] ?? host;
  return `${scheme}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}
