/**
 * Many connections that hardly do anything, as a service has them from clients that poll seldom, or were cut off
 * behind a proxy: most are slow, some are silent, have sent half a head, are idle after an answer, or read events.
 * Both transports close a connection that stays silent for about `idleTimeoutMs`, uWebSockets.js a third of them in
 * one sweep every four seconds; such a client then comes back, as a real one would, some time later. A connection
 * that ends earlier, a slow one or a stream that ends at all, is lost.
 */

import { connect, type Socket } from 'node:net';
import { idleTimeoutMs } from '../../src/http/transport/transport.ts';
import { routeOf } from '../../src/operations/table.ts';
import { get } from '../testkit/raw-socket.ts';

export interface CrowdPlan {
  readonly baseUrl: string;
  readonly controlUrl: string;
  readonly count: number;
  /** How many of them read events, on the control port. */
  readonly streams: number;
}

export interface CrowdReport {
  /** Connections of ours that are open, streams included. */
  readonly open: number;
  /** Closed by the server's idle timeout, and opened again. */
  readonly timedOut: number;
  /** Why, for each that was lost. */
  readonly lost: readonly string[];
}

type Habit = 'silent' | 'half a head' | 'kept alive' | 'slow' | 'stream';

/** Of each twenty, the first ones; all others are slow. */
const habits = ['silent', 'half a head', 'kept alive'] as const;
/** A slow client asks again before its connection counts as idle. */
const slowEveryMs = 7_000;
/** Clients that were closed together do not come back together. */
const comebackWithinMs = 2_000;
/** uWebSockets.js looks at its timeouts every four seconds, so an end may come so much too early. */
const earliestTimeoutMs = idleTimeoutMs - 4_000;
/** So many are being connected at a time: fewer than a listening socket keeps waiting. */
const connecting = 100;

export class IdleCrowd {
  readonly #plan: CrowdPlan;
  readonly #sockets = new Set<Socket>();
  readonly #lost: string[] = [];
  #timedOut = 0;
  #drawn = 0;
  #isOver = false;

  constructor(plan: CrowdPlan) {
    this.#plan = plan;
  }

  /** Resolves once all of them are connected. */
  async open(): Promise<void> {
    let next = 0;
    const openOn = async (): Promise<void> => {
      for (let index = next++; index < this.#plan.count; index = next++) {
        await this.#connect(this.#habitOf(index));
      }
    };
    await Promise.all(Array.from({ length: connecting }, openOn));
  }

  report(): CrowdReport {
    return { open: this.#sockets.size, timedOut: this.#timedOut, lost: this.#lost };
  }

  close(): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #habitOf(index: number): Habit {
    return index < this.#plan.streams ? 'stream' : (habits[index % 20] ?? 'slow');
  }

  #connect(habit: Habit): Promise<void> {
    const { baseUrl, controlUrl } = this.#plan;
    const port = Number(new URL(habit === 'stream' ? controlUrl : baseUrl).port);
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1');
      let quietSinceMs = performance.now();
      let isConnected = false;
      socket.on('connect', () => {
        isConnected = true;
        this.#sockets.add(socket);
        const bytes = opening(habit, port);
        socket.write(bytes);
        quietSinceMs = performance.now();
        if (habit === 'slow') askAgain(socket, bytes, this.#share() * slowEveryMs);
        resolve();
      });
      socket.on('data', () => {
        // Half a head earns no answer but the one that goes before its end.
        if (habit === 'kept alive') quietSinceMs = performance.now();
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        resolve();
        this.#sockets.delete(socket);
        if (this.#isOver) return;
        const quietMs = performance.now() - quietSinceMs;
        this.#ended(habit, isConnected, quietMs);
      });
    });
  }

  #ended(habit: Habit, wasConnected: boolean, quietMs: number): void {
    if (!wasConnected) {
      this.#lost.push(`${habit}: could not connect`);
    } else if (habit === 'stream' || habit === 'slow' || quietMs < earliestTimeoutMs) {
      this.#lost.push(`${habit}: closed after ${Math.round(quietMs)} ms`);
    } else {
      this.#timedOut++;
      this.#comeBack(habit);
    }
  }

  #comeBack(habit: Habit): void {
    setTimeout(() => {
      if (!this.#isOver) void this.#connect(habit);
    }, this.#share() * comebackWithinMs).unref();
  }

  /** From 0 to 1: multiples of the golden ratio fall evenly, however many there are. */
  #share(): number {
    return (++this.#drawn * 0.618_033_988_749_895) % 1;
  }
}

/** After `firstMs`, then at the slow pace. */
function askAgain(socket: Socket, bytes: string, firstMs: number): void {
  let timer = setTimeout(function ask() {
    socket.write(bytes);
    timer = setTimeout(ask, slowEveryMs);
  }, firstMs);
  socket.once('close', () => clearTimeout(timer));
}

/** What a connection says at first; the rest is silence. */
function opening(habit: Habit, port: number): string {
  switch (habit) {
    case 'silent':
      return '';
    case 'half a head':
      return 'GET /api/v1/account/stats/ HTTP/1.1\r\nHost: x\r\nX-Slow: ';
    case 'kept alive':
    case 'slow':
      return get('/nowhere/');
    case 'stream':
      return get(routeOf('events.stream').path).replace('Host: x', `Host: 127.0.0.1:${port}`);
  }
}
