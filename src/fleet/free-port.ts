/**
 * A port for a process that is started next: HAProxy and the shards bind their ports themselves.
 */
import { createServer } from 'node:net';
import { listenError } from '../http/transport/transport.ts';

/** The port itself, or any free one for 0. Throws a PortInUseError. */
export function freePort(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => reject(listenError(error, port, host)));
    probe.listen(port, host, () => {
      const address = probe.address();
      const found = typeof address === 'object' && address !== null ? address.port : port;
      probe.close(() => resolve(found));
    });
  });
}
