/**
 * The signals that ask a process to stop: Ctrl-C, a service manager, and a terminal that closes.
 */
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Calls the listener at each of these signals, until the returned function is called. */
export function onStopSignal(listener: () => void): () => void {
  for (const signal of stopSignals) process.on(signal, listener);
  return () => {
    for (const signal of stopSignals) process.off(signal, listener);
  };
}
