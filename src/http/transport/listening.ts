/**
 * Checks the address that a server is to listen on, and explains why it cannot: one line for the
 * user, and an error of its own for a port in use.
 */
import { CommandError } from '#io/command-error.ts';

/** Another process listens on the port. */
export class PortInUseError extends CommandError {
  override readonly name = 'PortInUseError';
  /** The address that was tried. */
  readonly host: string;
  /** The port that was tried. */
  readonly port: number;
  constructor(host: string, port: number) {
    super(3, `port ${port} on ${host} is in use; choose another, or 0 for a free one`);
    this.host = host;
    this.port = port;
  }
}

/** A port that cannot be bound for any other reason; the message is one line for the user. */
export class ListenError extends CommandError {
  override readonly name = 'ListenError';
  constructor(message: string) {
    super(2, message);
  }
}

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
