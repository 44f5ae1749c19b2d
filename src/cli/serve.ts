/**
 * `smstwin serve`: runs a simulator on two ports until a signal stops it.
 */
import { banner } from './banner.ts';
import { defectList, defectNotice, simulationWith } from './defects.ts';
import { type CommandIo, newCommand, readFlags } from './flags.ts';
import { prepareReadyFile, writeReadyFile } from './ready-file.ts';
import { requestLine } from './request-log.ts';
import { addServeFlags, serveOptions } from './serve-options.ts';

/** The process exits after this time even if closing has not finished. */
const closeWithinMs = 4_500;

export async function serve(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('serve', 'Run the simulator.', io);
  addServeFlags(command);
  if (readFlags(command, argv, io.env) === 'answered') return 0;
  if (command.opts()['listDefects'] === true) {
    io.out(defectList());
    return 0;
  }
  const options = await serveOptions(command);
  if (options.readyFile !== undefined) prepareReadyFile(options.readyFile);
  const { createSimulator } = await import('../simulator.ts');
  const notice = (line: string) => io.error(`smstwin: ${line}\n`);
  const simulator = await createSimulator(options.settings, {
    ...(await simulationWith(options.defect)),
    journal: options.journal,
    journalMaxBytes: options.journalMaxBytes,
    onNotice: notice,
  });
  if (options.defect !== undefined) notice(defectNotice(options.defect));
  const { log = 'off' } = options.settings;
  if (log !== 'off') {
    simulator.activity.listen('request', (request) => io.error(requestLine(log, request)));
  }
  const { stopped, stop } = stopSignal();
  try {
    await simulator.listen({
      host: options.host,
      port: options.port,
      control: options.control,
      transport: options.transport,
      onNotice: notice,
      onInternalError: (error) => notice(stackOf(error)),
      onShutdown: stop,
    });
    const served = simulator.readyFile();
    if (options.readyFile !== undefined) writeReadyFile(options.readyFile, served);
    io.out(banner(served, options, io));
  } catch (error) {
    // Open ports would keep the process running and the journal locked.
    await simulator.close();
    throw error;
  }
  await stopped;
  setTimeout(() => process.exit(0), closeWithinMs).unref();
  await simulator.close();
  return 0;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** `stopped` resolves at the first signal or call of `stop`; a second signal exits at once. */
function stopSignal(): { readonly stopped: Promise<void>; readonly stop: () => void } {
  let resolveStopped = () => {};
  const stopped = new Promise<void>((resolve) => {
    resolveStopped = resolve;
  });
  let signals = 0;
  const stop = () => {
    signals += 1;
    if (signals > 1) process.exit(1);
    resolveStopped();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return { stopped, stop };
}
