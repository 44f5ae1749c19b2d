/** `smstwin serve`: runs a simulator on two ports until a signal stops it. */
import { minuteMs } from '#contract/time.ts';
import { type CommandIo, type Flag, flagsIn, newCommand } from '#io/flags.ts';
import { foreignJson, foreignText } from '#io/terminal.ts';
import { JournalError } from '#judging/evidence/journal-line.ts';
import type { RequestView } from '#src/operations/requests/request-views.ts';
import type { InternalOptions } from '#src/simulator.ts';
import { closeAtStop, noticesTo, stackOf, stopSignal, timedNoticesTo } from '../process.ts';
import { announce } from './banner.ts';
import { prepareReadyFile } from './ready-file.ts';
import { serveFlags, serveOptions, shardTokenVariable } from './serve-options.ts';

/** Flags that `serve` has only in a checkout (`verify/defects/flags.ts`), and what reads them. */
export interface CheckoutFlags {
  readonly flags: readonly Flag[];
  readonly read: (values: Readonly<Record<string, unknown>>) => Promise<CheckoutRequest>;
}

export interface CheckoutRequest {
  /** A text to print instead of serving. */
  readonly answer?: string;
  readonly notice?: string;
  readonly simulation?: InternalOptions['simulation'];
}

export async function serve(
  argv: readonly string[],
  io: CommandIo,
  checkout?: CheckoutFlags,
): Promise<number> {
  const command = newCommand('serve', 'Run the simulator.', io);
  const flags = flagsIn(command, [...serveFlags, ...(checkout?.flags ?? [])], argv, io);
  if (flags === undefined) return 0;
  const checkoutRequest = await checkout?.read(flags);
  if (checkoutRequest?.answer !== undefined) {
    io.out(checkoutRequest.answer);
    return 0;
  }
  const options = await serveOptions(command, io.env[shardTokenVariable]);
  const { settings, readyFile, journal, journalDir, journalMaxBytes, share } = options;
  if (readyFile !== undefined) prepareReadyFile(readyFile);
  const { Simulator } = await import('#src/simulator.ts');
  const { log = 'off' } = settings;
  const notice = log === 'off' ? noticesTo(io, 'smstwin') : timedNoticesTo(io, log);
  // Without a log, the banner shows the start, and the exit code the end.
  const lifecycle = log === 'off' ? () => {} : notice;
  const simulator = new Simulator(settings, {
    ...{ journal, journalDir, journalMaxBytes, share },
    simulation: checkoutRequest?.simulation,
    onNotice: notice,
  });
  if (checkoutRequest?.notice !== undefined) notice(checkoutRequest.notice);
  if (log !== 'off')
    simulator.activity.listen('request', (request) => io.error(requestLine(log, request)));
  const { stopped, stop } = stopSignal();
  try {
    const { host, port, publicUrl, tls, control, transport } = options;
    await simulator.listen({
      ...{ host, port, publicUrl, tls, control, transport },
      onNotice: notice,
      onInternalError: internalErrorLog(notice),
      onShutdown: stop,
    });
    announce(simulator.readyFile(), options, io);
    lifecycle(`started: serves ${simulator.readyFile().base_url}`);
  } catch (error) {
    // Open ports would keep the process running and the journal locked.
    await simulator.close();
    throw error;
  }
  return closeAtStop(stopped, () => simulator.close(), { lifecycle });
}

/** A line of `--log`: one request of the service. Shows the key's id, never the key. */
export function requestLine(format: 'text' | 'json', request: RequestView): string {
  if (format === 'json') return `${foreignJson(JSON.stringify(request))}\n`;
  const { at, method, endpoint, status, code, account_id: account, duration_ms: ms } = request;
  const words = [at, method, endpoint ?? 'unknown', status, code ?? '-', account ?? 'anonymous'];
  const trace = request.traceparent === null ? '' : ` traceparent=${request.traceparent}`;
  return `${foreignText(words.join(' '))} ${ms.toFixed(3)}ms${trace}\n`;
}

/**
 * Returns a function that prints the stack of a bug. If the journal cannot be written, every
 * request fails, so it prints one line a minute for that; the control port's health shows it, too.
 */
export function internalErrorLog(
  notice: (line: string) => void,
  nowMs: () => number = Date.now,
): (error: unknown) => void {
  const quietUntilMs = new Map<string, number>();
  return (error) => {
    if (!(error instanceof JournalError)) {
      for (const line of stackOf(error)) notice(line);
    } else if (nowMs() >= (quietUntilMs.get(error.message) ?? 0)) {
      quietUntilMs.set(error.message, nowMs() + minuteMs);
      notice(`${error.message}; every request is 500 until a restart with room on the disk`);
    }
  };
}
