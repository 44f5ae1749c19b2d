/**
 * Connects to a service directly, or through the HTTP proxy that the environment names, as curl
 * reads it. An HTTPS service is reached by a tunnel (CONNECT), an HTTP service by requests for its
 * whole URL. Node does this itself only from version 24 on. Messages name the variable, not the
 * proxy's URL, which may contain a password.
 */
import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { BlockList, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { UsageError } from './command-error.ts';
import { plainHost } from './flag-values.ts';

/** Addresses of this machine, which a proxy could not reach. */
const neverProxied = 'localhost 127.0.0.0/8 ::1';
const tunnelWithinMs = 30_000;
/** Error codes for a certificate of an authority that Node does not know. */
const privateAuthority =
  /^(?:(?:DEPTH_ZERO_)?SELF_SIGNED_CERT.*|UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT.*))$/;

export class WayOut {
  readonly #target: URL;
  /** The variable that names the proxy; undefined if there is none. */
  readonly #variable: string | undefined;
  readonly #proxy: URL | undefined;

  constructor(target: URL, env: NodeJS.ProcessEnv = process.env) {
    this.#target = target;
    const spellingOf = (name: string) =>
      [name, name.toUpperCase()].find((spelling) => (env[spelling] ?? '') !== '');
    const scheme = target.protocol.slice(0, -1);
    const variable = spellingOf(`${scheme}_proxy`) ?? spellingOf('all_proxy');
    const exempt = env[spellingOf('no_proxy') ?? ''] ?? '';
    if (variable === undefined || isExempt(target, `${neverProxied} ${exempt}`)) return;
    this.#variable = variable;
    this.#proxy = proxyAt(env[variable] ?? '', variable);
  }

  /** An agent that connects to the service or, for an HTTP service behind a proxy, to the proxy. */
  agent(options: ConstructorParameters<typeof HttpsAgent>[0]): HttpAgent {
    if (this.#target.protocol === 'https:') {
      return this.#proxy === undefined
        ? new HttpsAgent(options)
        : Object.assign(new HttpsAgent(options), { createConnection: this.#tunnel });
    }
    return this.#proxy?.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
  }

  /** Where a request for this path goes, and the headers that it needs there. */
  request(path: string): RequestOptions & { readonly headers: Readonly<Record<string, string>> } {
    const { protocol, origin, port } = this.#target;
    if (this.#proxy === undefined || protocol === 'https:')
      return { protocol, host: plainHost(this.#target.hostname), port, path, headers: {} };
    const headers = authorizationOf(this.#proxy);
    return { ...addressOf(this.#proxy), path: path === '*' ? origin : origin + path, headers };
  }

  /** Why the proxy refused to pass a request on; undefined if it did not. */
  refusal(status: number | undefined): string | undefined {
    return status === 407 && this.#proxy !== undefined ? this.reason('it answered 407') : undefined;
  }

  /** Explains a failed connection: what to do, and which variable named the proxy. */
  reason(failure: string): string {
    if (privateAuthority.test(failure))
      return `${failure}: name the file of the authority that signed its certificate in NODE_EXTRA_CA_CERTS`;
    return this.#variable === undefined
      ? failure
      : `${failure} (through the proxy of ${this.#variable})`;
  }

  /** Connects to an HTTPS service through the proxy. */
  readonly #tunnel = (
    options: ConnectionOptions,
    connected: (error: Error | null, socket?: Duplex) => void,
  ): undefined => {
    const proxy = this.#proxy as URL;
    const authority = `${this.#target.hostname}:${this.#target.port || 443}`;
    const asked = (proxy.protocol === 'https:' ? httpsRequest : httpRequest)({
      ...addressOf(proxy),
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...authorizationOf(proxy) },
      agent: false,
      timeout: tunnelWithinMs,
    });
    asked.once('connect', ({ statusCode = 0 }, socket) => {
      if (statusCode < 300) {
        socket.setTimeout(0);
        connected(null, connectTls({ ...options, socket }));
        return;
      }
      socket.destroy();
      connected(new Error(`it answered ${statusCode} to CONNECT`));
    });
    asked.once('timeout', () => asked.destroy(new Error('it did not answer')));
    asked.once('error', connected);
    asked.end();
  };
}

function proxyAt(text: string, variable: string): URL {
  const whole = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new UsageError(`${variable}: expected a proxy such as http://proxy.example.com:3128`);
}

function addressOf(url: URL) {
  const { protocol, hostname, port } = url;
  const host = plainHost(hostname);
  // Node would take the name in a certificate from the header `Host`, which names the service.
  const servername = isIP(host) === 0 ? host : '';
  return { protocol, host, servername, port: port || (protocol === 'https:' ? 443 : 80) };
}

function authorizationOf({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const user = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  return { 'Proxy-Authorization': `Basic ${user.toString('base64')}` };
}

/** True if a list such as that of NO_PROXY has the host, a domain or a network above it, or `*`. */
function isExempt(target: URL, list: string): boolean {
  const host = plainHost(target.hostname);
  const port = String(addressOf(target).port);
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      const [, name = '', ownPort = port] = /^(\[.*\]|[^:]+|.*)(?::(\d+))?$/.exec(entry) ?? [];
      const domain = name.replace(/^\*?\.|[[\]]/g, '');
      const isAbove = host === domain || host.endsWith(`.${domain}`) || isIn(domain, host);
      return ownPort === port && (domain === '*' || isAbove);
    });
}

/** True if the host is an address of the network, such as `10.0.0.0/8`. */
function isIn(network: string, host: string): boolean {
  const [address = '', bits = isIP(address) === 6 ? '128' : '32'] = network.split('/');
  if (isIP(host) === 0 || isIP(address) !== isIP(host)) return false;
  const family = isIP(host) === 6 ? 'ipv6' : 'ipv4';
  const list = new BlockList();
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > (family === 'ipv6' ? 128 : 32)) return false;
  list.addSubnet(address, Number(bits), family);
  return list.check(host, family);
}
