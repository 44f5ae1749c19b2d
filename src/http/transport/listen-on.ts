/**
 * Listens on a port, or finds a free one. It is apart from `listening.ts`, whose errors are public
 * types: those must not need Node's.
 */
import { type AddressInfo, createServer, type Server } from 'node:net';
import { listenError } from './listening.ts';

/** Resolves to the bound port. Rejects with the error to show. */
export function listenOn(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => reject(listenError(error, port, host));
    server.once('error', onError);
    server.listen({ port, host, exclusive: true }, () => {
      server.off('error', onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Finds a port to bind later: `port` if it is free, or any free one for 0. */
export async function freePort(port: number, host: string): Promise<number> {
  const probe = createServer();
  const found = await listenOn(probe, port, host);
  return new Promise((resolve) => probe.close(() => resolve(found)));
}

/** Asks the operating system why a port could not be bound. */
export function explainRefusal(port: number, host: string): Promise<Error> {
  return freePort(port, host).then(
    () => listenError('the port was refused', port, host),
    (error) => error,
  );
}
