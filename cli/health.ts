/**
 * `smstwin health` of the executable: the health check of a container that has no shell. The server
 * is another process, whose command line is not known here, so an image must set the ports, hosts
 * and token in variables.
 */
import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';
import { flagsIn, newCommand } from '#io/flags.ts';
import type { Environment } from '#io/given-flags.ts';
import { routeOf } from '#src/operations/table.ts';
import { urlOf } from '#src/ports.ts';
import { serveFlags } from './serve/serve-options.ts';

/**
 * True if the control port that these variables set for `serve` answers. Without a control port,
 * any answer of the service port counts.
 */
export async function isHealthy(env: Environment): Promise<boolean> {
  const io = { env, out: () => {}, error: () => {}, version: '' };
  const flags = flagsIn(newCommand('serve', '', io), serveFlags, [], io);
  if (flags === undefined) return false;
  const { control, controlHost, controlPort, controlToken: token } = flags;
  if (control) {
    const url = urlOf(controlHost, controlPort) + routeOf('simulator.health').path;
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return (await statusOf(url, headers)) === 200;
  }
  const url = urlOf(flags.host, flags.port, flags.tlsCert ?? flags.tls);
  return (await statusOf(url)) !== undefined;
}

/** The status of the reply; undefined if there is no reply. */
function statusOf(url: string, headers = {}): Promise<number | undefined> {
  const get = url.startsWith('https:') ? getHttps : getHttp;
  return new Promise((resolve) => {
    // Any certificate will do: the server is on this machine, and the request has no secret.
    get(url, { headers, rejectUnauthorized: false, agent: false }, (reply) => {
      reply.resume();
      resolve(reply.statusCode);
    }).on('error', () => resolve(undefined));
  });
}
