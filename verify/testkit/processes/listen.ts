/** Lets a server listen on a free port of this machine; resolves to the port. */
import type { AddressInfo, Server } from 'node:net';

export function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
