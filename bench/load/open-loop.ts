/**
 * Open loop: requests start at their scheduled time, whether or not earlier ones were answered.
 * Latency counts from the scheduled time, so a stalling server is charged for every request that it
 * delays. A due request takes a free connection or waits for one. Delays of the scheduler itself
 * are counted separately, because they invalidate the run.
 */

import { type LoadResult, Tally } from './load-result.ts';
import { OpenConnection } from './open-connection.ts';
import type { Load, Target } from './workload.ts';
import { Ordinals, requestBytes, stamper, type Workload } from './workload.ts';

/** A request later than this counts as late; Node's timers are accurate to about a millisecond. */
const lateMs = 10;
/** The longest queue for a connection, in seconds of the rate. */
const backlogSeconds = 2;
const drainMs = 1_000;

export async function openLoop(
  target: Target,
  workload: Workload,
  load: Load & { readonly perSecond: number },
  ordinals = new Ordinals(),
): Promise<LoadResult> {
  const host = `${target.host}:${target.port}`;
  const tally = new Tally(workload.expects);
  const free: OpenConnection[] = [];
  /** Scheduled times of requests that wait for a connection; `first` is the oldest. */
  const waiting: number[] = [];
  let first = 0;
  let turn = 0;
  let inFlight = 0;
  const stamps = workload.requests.map((template) =>
    stamper(template, requestBytes(template, host), ordinals),
  );
  const start = (connection: OpenConnection, intendedMs: number): void => {
    inFlight++;
    const stamp = stamps[turn++ % stamps.length];
    if (stamp !== undefined) connection.send(stamp(), intendedMs);
  };
  const release = (connection: OpenConnection): void => {
    const intendedMs = waiting[first];
    if (intendedMs === undefined) {
      free.push(connection);
      return;
    }
    first++;
    start(connection, intendedMs);
  };
  const hear = {
    reply: (connection: OpenConnection, status: number, intendedMs: number): void => {
      inFlight--;
      const nowMs = performance.now();
      tally.reply(status, nowMs - intendedMs, nowMs);
      release(connection);
    },
    broken: (connection: OpenConnection, wasBusy: boolean): void => {
      if (wasBusy) inFlight--;
      tally.error();
      const index = free.indexOf(connection);
      if (index >= 0) free.splice(index, 1);
      if (connection.attempts < 3)
        void connection.open().then(
          () => release(connection),
          () => {},
        );
    },
  };
  const connections = Array.from(
    { length: load.connections },
    () => new OpenConnection(target, hear),
  );
  await Promise.all(connections.map((connection) => connection.open()));
  free.push(...connections);
  const startedMs = performance.now();
  const count = Math.floor((load.durationMs / 1_000) * load.perSecond);
  const everyMs = 1_000 / load.perSecond;
  let next = 0;
  const sendDue = (): void => {
    const nowMs = performance.now();
    for (; next < count; next++) {
      const intendedMs = startedMs + next * everyMs;
      if (intendedMs > nowMs) break;
      if (nowMs - intendedMs > lateMs) tally.late++;
      const connection = free.pop();
      if (connection !== undefined) start(connection, intendedMs);
      else if (waiting.length - first > backlogSeconds * load.perSecond) tally.dropped++;
      else waiting.push(intendedMs);
    }
  };
  await new Promise<void>((resolve) => {
    const tick = (): void => {
      sendDue();
      if (next < count)
        setTimeout(tick, Math.max(1, startedMs + next * everyMs - performance.now()));
      else resolve();
    };
    tick();
  });
  const untilMs = performance.now() + drainMs;
  while ((inFlight > 0 || first < waiting.length) && performance.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  tally.dropped += inFlight + waiting.length - first;
  load.whenOver?.();
  const result = tally.finish();
  for (const connection of connections) connection.close();
  return result;
}
