/**
 * Callers that each send at a steady pace, on a connection and an account of their own. Latency runs from the
 * moment at which a request was meant to start, so that a server that stalls is charged for all whom it kept waiting.
 */

import type { ReadyFile } from '../../src/simulator.ts';
import { RawSocket } from '../testkit/raw-socket.ts';

export interface CallersPlan {
  readonly ready: ReadyFile;
  /** Of each caller; 120 is what the limit of its account allows. */
  readonly perMinute: number;
  readonly seconds: number;
}

export interface CallersReport {
  /** Milliseconds, in rising order. */
  readonly latencies: readonly number[];
  /** By how much a timer of ours was late, in rising order: the share of the waiting that is not the server's. */
  readonly lateness: readonly number[];
  /** Replies that are not a 202. */
  readonly unexpected: readonly string[];
}

/** One caller for each account. */
export async function callSteadily({ ready, ...pace }: CallersPlan): Promise<CallersReport> {
  const latencies: number[] = [];
  const lateness: number[] = [];
  const unexpected: string[] = [];
  const everyMs = 60_000 / pace.perMinute;
  const requests = Math.floor((pace.seconds * 1_000) / everyMs);
  const port = Number(new URL(ready.base_url).port);
  const startMs = performance.now() + 100;
  const call = async (account: ReadyFile['accounts'][number], index: number): Promise<void> => {
    const socket = await RawSocket.open(port);
    const bytes = sendOf(account);
    const firstMs = startMs + (index * everyMs) / ready.accounts.length;
    for (let turn = 0; turn < requests; turn++) {
      const intendedMs = firstMs + turn * everyMs;
      const lateMs = await until(intendedMs);
      if (lateMs !== undefined) lateness.push(lateMs);
      await socket.write(bytes);
      const reply = await socket.reply();
      latencies.push(performance.now() - intendedMs);
      if (reply.status !== 202) unexpected.push(`${account.name}: ${reply.status} ${reply.body}`);
    }
    socket.destroy();
  };
  await Promise.all(
    ready.accounts.map((account, index) =>
      call(account, index).catch((error: unknown) => {
        unexpected.push(`${account.name}: ${String(error)}`);
      }),
    ),
  );
  const rising = (one: number, other: number): number => one - other;
  return { latencies: latencies.sort(rising), lateness: lateness.sort(rising), unexpected };
}

/** The smallest latency that `share` of all do not exceed. */
export function percentile(rising: readonly number[], share: number): number {
  return rising[Math.max(0, Math.ceil(rising.length * share) - 1)] ?? Number.NaN;
}

function sendOf({ api_key: key, sims }: ReadyFile['accounts'][number]): string {
  const body = JSON.stringify({ to: '+12025550123', from: sims[0]?.number, message: 'steady' });
  return [
    'POST /api/v1/sms/send/ HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
}

/** By how much it woke too late; undefined where it is past already. */
async function until(atMs: number): Promise<number | undefined> {
  const leftMs = atMs - performance.now();
  if (leftMs <= 0) return undefined;
  await new Promise((resolve) => setTimeout(resolve, leftMs));
  return performance.now() - atMs;
}
