/** Servers of tests on a free port of this machine. */
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** Resolves to the port. */
export function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

export interface Listening {
  readonly baseUrl: string;
  /** Ends its connections, too. */
  close(): Promise<void>;
}

export async function serveHttp(server: HttpServer): Promise<Listening> {
  return {
    baseUrl: `http://127.0.0.1:${await listen(server)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
