/** Fuzzes a server in a child process, on each transport in turn, and prints a report. */
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { compareTransports } from './compare.ts';
import { type FuzzReport, fuzz } from './run.ts';
import { serveInChild } from './served.ts';

export interface FuzzOptions {
  /** Over all transports. */
  readonly fuzz: number;
  readonly seed: number;
  readonly transports: readonly TransportKind[];
  readonly chunk: number | undefined;
}

/** Requests of the comparison of both transports. */
const mostCompared = 5_000;

/** Prints a report or the failure for each transport; returns false after a failure. */
export async function fuzzTransports(options: FuzzOptions): Promise<boolean> {
  const { seed, transports, chunk } = options;
  const requests = Math.ceil(options.fuzz / transports.length);
  let isSound = true;
  const fail = (failure: string) => {
    isSound = false;
    console.error(failure);
  };
  for (const transport of transports) {
    const served = await serveInChild(transport);
    try {
      const onProgress = (line: string) => console.log(line);
      const report = await fuzz({ requests, seed, transport, chunk, onProgress }, served);
      console.log(reportText(transport, seed, report));
    } catch (error) {
      fail(`${transport}: ${textOf(error)}`);
    } finally {
      await served.stop();
    }
  }
  if (transports.length < 2) return isSound;
  try {
    const compared = await compareTransports(Math.min(requests, mostCompared), seed);
    console.log(`${compared} requests to both transports, seed ${seed}: the same were served`);
  } catch (error) {
    fail(textOf(error));
  }
  return isSound;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function reportText(transport: TransportKind, seed: number, report: FuzzReport): string {
  const { requests, connections, closed, seconds, replies, rssBytes } = report;
  const [warm, end] = rssBytes.map((bytes) => `${Math.round(bytes / 2 ** 20)} MiB`);
  const statuses = [...replies].sort(([a], [b]) => a - b).map(([status, n]) => `${status}: ${n}`);
  const rate = Math.round(requests / seconds);
  return [
    `${transport}: ${requests} requests on ${connections} connections, seed ${seed}, ${seconds.toFixed(1)} s, ${rate} a second: sound`,
    `  replies ${statuses.join(', ')}; ${closed} connections closed by the server on broken HTTP`,
    `  memory of the server ${warm} after the warm-up, ${end} at the end`,
  ].join('\n');
}
