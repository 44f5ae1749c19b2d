/**
 * Callers that each send at a steady pace, with their own connection and account. Latency counts
 * from the scheduled start, so a stalling server is charged for every request that it delays.
 */

import type { ReadyFile } from '../../src/simulator.ts';
import { RawSocket } from '../testkit/raw-socket.ts';

export interface CallersPlan {
  readonly ready: ReadyFile;
  /** Per caller; the limit of its account allows 120. */
  readonly perMinute: number;
  readonly seconds: number;
}

export interface CallersReport {
  /** Milliseconds, ascending. */
  readonly latencies: readonly number[];
  /** How late the callers' own timers were, ascending: delay that is not the server's. */
  readonly lateness: readonly number[];
  /** Replies other than 202. */
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

/** The smallest latency that at least `share` of all do not exceed. */
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

/** How late it woke, in milliseconds; undefined if the time has passed. */
async function until(atMs: number): Promise<number | undefined> {
  const leftMs = atMs - performance.now();
  if (leftMs <= 0) return undefined;
  await new Promise((resolve) => setTimeout(resolve, leftMs));
  return performance.now() - atMs;
}
