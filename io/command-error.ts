/**
 * How a command ends: by a signal, or by an error. The base class of errors has lines, one for each
 * mistake, and an exit code. Any other exception is a bug: its stack is printed, the exit code is
 * 1.
 */
import { foreignText } from './terminal.ts';

export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  readonly exitCode: number;
  /** Made safe to print, as a line may quote text that others wrote. */
  readonly lines: readonly string[];

  constructor(exitCode: number, ...lines: readonly string[]) {
    super(lines.join('\n'));
    this.exitCode = exitCode;
    this.lines = lines.map(foreignText);
  }
}

/** Wrong usage or configuration: exit code 2. */
export class UsageError extends CommandError {
  override readonly name: string = 'UsageError';

  constructor(...lines: readonly string[]) {
    super(2, ...lines);
  }
}

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

/** The first line of a library's message. Later lines often quote the input, keys included. */
export function firstLine(message: string): string {
  return (message.split('\n', 1)[0] ?? '').replace(/:$/, '');
}

/** The lines of a CommandError, as a command prints them. `command`: '' for `smstwin` itself. */
export function printedError(command: string, { lines }: CommandError): string {
  return lines.map((line) => `${`smstwin ${command}`.trim()}: ${line}\n`).join('');
}

/** Signals that ask a process to stop: of Ctrl-C, a service manager, a terminal that closes. */
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Calls the listener at each stop signal, until the returned function is called. `npx smstwin` does
 * not pass a signal on, it only ends: under npx, the end of the parent process counts as a signal.
 */
export function onStopSignal(listener: () => void): () => void {
  for (const signal of stopSignals) process.on(signal, listener);
  const { ppid: parent } = process;
  const endIfOrphan = () => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    listener();
  };
  const watch = isUnderNpx() ? setInterval(endIfOrphan, 500).unref() : undefined;
  return () => {
    clearInterval(watch);
    for (const signal of stopSignals) process.off(signal, listener);
  };
}

/** True if this process is `npx smstwin`, and not one command of a longer script. */
function isUnderNpx(): boolean {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = process.env;
  return event === 'npx' && /^["']?smstwin\b[^&;|]*$/.test(script);
}
