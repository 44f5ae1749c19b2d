/**
 * Many nearly idle connections, as from clients that poll rarely. Most ask slowly; some are silent,
 * have sent half a head, are idle after an answer, or read events.
 * Both transports close a connection after about `idleTimeoutMs` of silence; the client then
 * reconnects later, as a real one would. A connection that is closed earlier counts as lost. So
 * does a stream, or one that asks slowly, if it is closed at all.
 */
import { connect, type Socket } from 'node:net';
import { idleTimeoutMs } from '#src/http/transport/transport.ts';
import { routeOf } from '#src/operations/table.ts';
import { get } from '../testkit/processes/raw-socket.ts';

export interface IdlePlan {
  readonly baseUrl: string;
  readonly controlUrl: string;
  readonly count: number;
  /** The number of clients that read events on the control port. */
  readonly streams: number;
  /** The number of clients that never finish a body. */
  readonly unfinishedBodies?: number;
}

export interface IdleReport {
  /** Open connections of these clients, streams included. */
  readonly open: number;
  /** Connections closed by the server's idle timeout and opened again. */
  readonly timedOut: number;
  /** The reason for each lost connection. */
  readonly lost: readonly string[];
}

type Habit = 'silent' | 'half a head' | 'half a body' | 'kept alive' | 'slow' | 'stream';

/** The habits of the first clients of each twenty; the others are slow. */
const habits = ['silent', 'half a head', 'kept alive'] as const;
/** A slow client asks again before its connection times out. */
const slowEveryMs = 7_000;
/** Spreads the reconnects of clients that were closed together. */
const comebackWithinMs = 2_000;
/** uWebSockets.js checks its timeouts every four seconds, so one may end that much early. */
const earliestTimeoutMs = idleTimeoutMs - 4_000;
/** Simultaneous connection attempts: fewer than the backlog of a listening socket. */
const attemptsAtOnce = 100;

export class IdleClients {
  readonly #plan: IdlePlan;
  readonly #sockets = new Set<Socket>();
  readonly #lost: string[] = [];
  #timedOut = 0;
  /** How many shares were drawn. */
  #drawn = 0;
  #isOver = false;

  constructor(plan: IdlePlan) {
    this.#plan = plan;
  }

  /** Resolves when all are connected. */
  async open(): Promise<void> {
    let next = 0;
    const openOn = async (): Promise<void> => {
      for (let index = next++; index < this.#plan.count; index = next++) {
        await this.#connect(this.#habitOf(index));
      }
    };
    await Promise.all(Array.from({ length: attemptsAtOnce }, openOn));
  }

  report(): IdleReport {
    return { open: this.#sockets.size, timedOut: this.#timedOut, lost: this.#lost };
  }

  close(): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #habitOf(index: number): Habit {
    const { streams, unfinishedBodies = 0 } = this.#plan;
    if (index < streams) return 'stream';
    if (index < streams + unfinishedBodies) return 'half a body';
    return habits[index % 20] ?? 'slow';
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
        // Half a head gets no answer, except the one just before its connection ends.
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

  /** Counts the end of a connection, which the idle timeout may explain. */
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

  /** A share from 0 to 1. Multiples of the golden ratio spread evenly, however many are drawn. */
  #share(): number {
    return (++this.#drawn * 0.618_033_988_749_895) % 1;
  }
}

/** Repeats the request after `firstMs`, and from then on slowly. */
function askAgain(socket: Socket, bytes: string, firstMs: number): void {
  let timer = setTimeout(function ask() {
    socket.write(bytes);
    timer = setTimeout(ask, slowEveryMs);
  }, firstMs);
  socket.once('close', () => clearTimeout(timer));
}

/** The first bytes of a connection; nothing follows. */
function opening(habit: Habit, port: number): string {
  switch (habit) {
    case 'silent':
      return '';
    case 'half a head':
      return 'GET /api/v1/account/stats/ HTTP/1.1\r\nHost: x\r\nX-Slow: ';
    case 'half a body':
      return 'POST /api/v1/sms/send/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"to"';
    case 'kept alive':
    case 'slow':
      return get('/nowhere/');
    case 'stream':
      return get(routeOf('events.stream').path).replace('Host: x', `Host: 127.0.0.1:${port}`);
  }
}
