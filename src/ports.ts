/**
 * Opens the two ports of a simulator, the service and the control port, and makes their URLs. Both
 * ports only translate HTTP: `simulator.handle` answers the service, the operations answer the
 * control port.
 */
import { matchRoute } from '#contract/routes.ts';
import { authorityOf, isLoopback } from '#io/flag-values.ts';
import type { TlsPair } from './config/tls.ts';
import { refuseUnread } from './http/service/templated-replies.ts';
import {
  nodeTransport,
  openTransport,
  type TransportKind,
} from './http/transport/open-transport.ts';
import {
  controlHeldLimitBytes,
  type ServicePort,
  type Transport,
} from './http/transport/transport.ts';
import type { RunningWorld } from './operations/running-world.ts';
import { prefixOf } from './worlds/address.ts';

/** Where to listen; every field is optional. */
export interface ListenOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /**
   * The base URL to show to clients, if they reach the service by another name or port than the one
   * it listens on. The URL of the control port then has the same name, and accepts it as `Host`.
   */
  readonly publicUrl?: string | undefined;
  /** Serves the base URL over HTTPS with this certificate and key, as PEM. Default: plain HTTP. */
  readonly tls?: TlsPair | undefined;
  /** Absent or false: no control port. */
  readonly control?: ControlOptions | false;
  /**
   * The HTTP server. `node`, which also answers HTTP/1.0, is the default for a run that is recorded
   * in a file, for which it is faster, and for a scaled clock, which only its `Date` shows.
   * Otherwise: `hyperexpress`.
   */
  readonly transport?: TransportKind | undefined;
  /** What the operation `simulator.shutdown` does; without it, the simulator closes. */
  readonly onShutdown?: () => void;
  /** Called with one line that the user should see, such as why a transport did not load. */
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
  /** Further names that `Host` may carry, such as the name of a container. */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** The URLs of the open ports. */
export interface Listening {
  /** The URL of the service. */
  readonly baseUrl: string;
  /** The URL of the control port; null if it is not open. */
  readonly controlUrl: string | null;
}

/** The open ports of a simulator. */
export interface Ports {
  readonly listening: Listening;
  /** The URLs for a client that reached the control port by this `Host`. */
  urlsFor(host: string | undefined): Listening;
  close(): Promise<void>;
}

const loopback = '127.0.0.1';
/** The longest time for requests in flight: a process that ends has 5 seconds in all. */
const closeGraceMs = 4_000;

/**
 * Opens the service port and, if asked for, the control port. If one of them fails, closes both and
 * throws a PortInUseError or a ListenError.
 */
export async function openPorts(simulator: RunningWorld, options: ListenOptions): Promise<Ports> {
  const { control = false, publicUrl } = options;
  const opened: Transport[] = [];
  const close = async () => {
    const untilMs = performance.now() + closeGraceMs;
    // The control port closes last, so that until then it can report that the service drains.
    for (const transport of opened) await transport.close(Math.max(0, untilMs - performance.now()));
  };
  try {
    const baseUrl = await openService(simulator, options, opened);
    if (control === false) {
      const listening = { baseUrl, controlUrl: null };
      return { listening, urlsFor: () => listening, close };
    }
    const controlUrl = await openControl(simulator, control, options, opened);
    const listening = { baseUrl, controlUrl };
    return { listening, urlsFor: (host) => urlsForHost(host, listening, publicUrl), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens the service port, adds its transport to `opened`, and returns the base URL. */
async function openService(
  simulator: RunningWorld,
  { host = loopback, port = 0, transport: kind = 'hyperexpress', ...options }: ListenOptions,
  opened: Transport[],
): Promise<string> {
  const { onInternalError, publicUrl, tls } = options;
  const transportOptions = { onInternalError, tls, now: () => shownMs(simulator) };
  const service = await openTransport(kind, serviceOf(simulator), transportOptions);
  if (service.fallbackReason !== undefined) options.onNotice?.(service.fallbackReason);
  opened.push(service.transport);
  const servicePort = await service.transport.listen(port, host);
  return publicUrl ?? urlOf(host, servicePort, tls);
}

/** Opens the control port, adds its transport to `opened`, and returns its URL. */
async function openControl(
  simulator: RunningWorld,
  { host = loopback, port = 0, token, allowedHosts = [] }: ControlOptions,
  { onInternalError, publicUrl }: ListenOptions,
  opened: Transport[],
): Promise<string> {
  const { controlApi } = await import('./control/control-api.ts');
  const publicHost = publicUrl === undefined ? undefined : new URL(publicUrl).hostname;
  const allowed = [...allowedHosts, ...(publicHost ? [publicHost] : [])];
  const transport = await nodeTransport(
    controlApi(simulator, { host, token, allowedHosts: allowed }),
    { onInternalError, heldLimitBytes: controlHeldLimitBytes },
  );
  opened.push(transport);
  const controlPort = await transport.listen(port, host);
  const isPublic = publicHost !== undefined && !isLoopback(host);
  return urlOf(isPublic ? publicHost : host, controlPort);
}

/** The time in the `Date` of a reply: that of the world which gives it. */
export function shownMs(simulator: RunningWorld): number {
  const { hostedWorlds } = simulator;
  const world = hostedWorlds.isFirst(simulator) ? hostedWorlds.router.lastAnswered : simulator;
  return world.wallClock.now();
}

/**
 * The service, as a transport or `sim.fetch` calls it. The first world passes each request to the
 * world that its address or key names; any other world answers all requests itself.
 */
export function serviceOf(simulator: RunningWorld): ServicePort {
  return {
    service: (request, awaits) => {
      const { hostedWorlds } = simulator;
      const answers = hostedWorlds.isFirst(simulator) ? hostedWorlds.router : simulator;
      return answers.handle(request, awaits);
    },
    shapeRefusal: (status, code, detail) =>
      refuseUnread(simulator.simulation.world, status, code, detail),
    onOwnReply: (path, status) =>
      simulator.counts.requests.refused(matchRoute(path)?.route.endpoint, status),
    onReplyFinished: (delivery, isSeen) => {
      simulator.hostedWorlds.router.delivers(delivery);
      simulator.replyFinished(delivery, isSeen);
    },
  };
}

/**
 * The URLs for a client that reached the control port by this `Host`: that client can reach the
 * service by the same name, unless the name is a loopback name or the user gave a `publicUrl`.
 */
export function urlsForHost<Urls extends { readonly baseUrl: string }>(
  host: string | undefined,
  urls: Urls,
  publicUrl: string | undefined,
): Urls {
  // The guard of the control port has checked the name, but not the port behind it.
  if (host === undefined || !URL.canParse(`http://${host}`)) return urls;
  const controlUrl = `http://${host}`;
  if (publicUrl !== undefined || isLoopback(new URL(controlUrl).hostname))
    return { ...urls, controlUrl };
  const base = new URL(urls.baseUrl);
  base.hostname = new URL(controlUrl).hostname;
  return { ...urls, baseUrl: base.origin, controlUrl };
}

/** The URLs of a world on these ports; empty while the server does not listen. */
export function worldUrls(ports: Ports | undefined, worldId: string, host: string | undefined) {
  const urls = ports?.urlsFor(host);
  const within = (url: string | null | undefined) => {
    if (typeof url !== 'string') return '';
    return worldId === '' ? url : `${url}${prefixOf(worldId)}`;
  };
  return { baseUrl: within(urls?.baseUrl), controlUrl: within(urls?.controlUrl) };
}

/** The loopback address for each address that means "all addresses of this machine". */
const loopbackOf: Readonly<Record<string, string>> = { '0.0.0.0': loopback, '::': '::1' };

/** The URL of a port for a client on this machine. `tls`: its certificate, if it has one. */
export function urlOf(host: string, port: number, tls?: TlsPair | string): string {
  const scheme = tls === undefined ? 'http' : 'https';
  return `${scheme}://${authorityOf(loopbackOf[host] ?? host, port)}`;
}
