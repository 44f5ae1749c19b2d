/**
 * Listens on a port, or finds a free one. Checks the address before, and explains why it cannot be
 * used: one line for the user, and an error of its own for a port in use.
 */
import { type AddressInfo, createServer, type Server } from 'node:net';
import { ListenError, PortInUseError } from '#io/command-error.ts';

/** Throws a ListenError for a port or host that no server can listen on. */
export function checkAddress(port: number, host: string): void {
  // HyperExpress would take any other port for a path and create a socket file of that name.
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new ListenError(
      `cannot listen on port ${port}: a port is a whole number from 0 to 65535`,
    );
  }
  if (host === '')
    throw new ListenError('cannot listen: the host is empty; name a host or an IP address');
}

const notOwnAddress = 'the host is not an address of this machine; name one, such as 127.0.0.1';
const listenFailures: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: notOwnAddress,
  ENOTFOUND: notOwnAddress,
  EAI_AGAIN: 'the name of the host cannot be resolved now; name an IP address',
  EACCES: 'permission denied; choose a port above 1023',
};

/** The error to show for an error of the operating system. */
export function listenError(cause: unknown, port: number, host: string): Error {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'EADDRINUSE') return new PortInUseError(host, port);
  const text = String(code ?? cause);
  return new ListenError(`cannot listen on ${host}:${port}: ${listenFailures[text] ?? text}`);
}

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

/** A port that no other process can bind before `release`. */
export interface HeldPort {
  readonly port: number;
  release(): Promise<void>;
}

/** Holds a port to bind later: `port` if it is free, or any free one for 0. */
export async function holdPort(port: number, host: string): Promise<HeldPort> {
  const holder = createServer((socket) => socket.destroy());
  const held = await listenOn(holder, port, host);
  return { port: held, release: () => new Promise((resolve) => holder.close(() => resolve())) };
}

/** Finds a port that is free at this moment: see `holdPort`. */
export async function freePort(port: number, host: string): Promise<number> {
  const held = await holdPort(port, host);
  await held.release();
  return held.port;
}

/** Asks the operating system why a port could not be bound. */
export function explainRefusal(port: number, host: string): Promise<Error> {
  return freePort(port, host).then(
    () => listenError('the port was refused', port, host),
    (error) => error,
  );
}
