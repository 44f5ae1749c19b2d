/**
 * Chooses the transport of a port and loads only that one. If the native transport cannot be
 * loaded, the service starts on Node's own server, and the caller reports the reason.
 */
import { ListenError } from '#io/command-error.ts';
import { transports } from '../../config/settings.ts';
import type { PortService, ServicePort, Transport, TransportOptions } from './transport.ts';

/** npm installs the native build for one Node version: the one that runs npm. */
const reinstall = 'If Node was upgraded after the installation, reinstall smstwin.';

export type TransportKind = (typeof transports)[number];

export interface OpenedTransport {
  readonly transport: Transport;
  readonly kind: TransportKind;
  /** One line, set if the requested transport could not be loaded. */
  readonly fallbackReason?: string;
}

/** The transport for a service port. Throws a ListenError for an unknown kind. */
export async function openTransport(
  kind: TransportKind,
  serve: ServicePort,
  options: TransportOptions = {},
): Promise<OpenedTransport> {
  if (kind === 'node') return { transport: await nodeTransport(serve, options), kind };
  if (kind !== 'hyperexpress') {
    throw new ListenError(
      `transport: expected ${transports.map((each) => `"${each}"`).join(' or ')}; got ${JSON.stringify(kind)}`,
    );
  }
  const opened = await openNative(serve, options);
  if (opened.transport !== undefined) return { transport: opened.transport, kind };
  const fallbackReason = `${opened.reason} Serving with Node's own HTTP server.`;
  return { transport: await nodeTransport(serve, options), kind: 'node', fallbackReason };
}

/**
 * A transport on Node's own server. Every control port has one, because it answers some requests
 * later, and uWebSockets.js closes a connection if another request arrives before a late reply.
 */
export async function nodeTransport(
  serve: PortService,
  options: TransportOptions = {},
): Promise<Transport> {
  const { NodeTransport } = await import('./node/node-server.ts');
  return new NodeTransport(serve, options);
}

/** Why something native cannot be used, in one line. */
interface Unusable {
  readonly reason: string;
  readonly transport?: undefined;
}

async function openNative(
  serve: ServicePort,
  options: TransportOptions,
): Promise<{ readonly transport: Transport } | Unusable> {
  const loaded = await loadHyperExpress();
  if ('reason' in loaded) return loaded;
  try {
    return { transport: new loaded.HyperExpressTransport(serve, options) };
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (options.tls === undefined || syscall === undefined) throw error;
    const reason = `The native HTTPS server needs a temporary folder that can be written (${code}).`;
    return { reason };
  }
}

/** The reason, in one line, why the native server cannot be loaded; undefined if it can. */
export async function whyNoNativeServer(): Promise<string | undefined> {
  const loaded = await loadHyperExpress();
  return 'reason' in loaded ? loaded.reason : undefined;
}

async function loadHyperExpress(): Promise<typeof import('./hyper-express/server.ts') | Unusable> {
  const server = await import('./hyper-express/server.ts');
  if (server.unusableNative === undefined) return server;
  // `uws/index.cjs` begins with the cause; a later line that begins like this is a remedy.
  const [cause = '', ...rest] = server.unusableNative.split('\n');
  const remedy = rest.find((line) => /^(?:This build needs|Set TMPDIR)/.test(line)) ?? reinstall;
  return { reason: `${cause.replace(/:$/, '.')} ${remedy}` };
}
