/**
 * Connections unlike those of a busy client. Idle ones stay: they are silent, have sent a part of a
 * request, are idle after an answer, ask slowly or read events. Short ones come and go in many ways.
 * Both transports close a connection after about `idleTimeoutMs` of silence. One that is closed
 * earlier counts as lost; so does a stream, or one that asks slowly, if it is closed at all.
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

/** The first bytes of each kind of connection. Nothing follows, except that slow ones repeat. */
const openings = {
  silent: '',
  'half a head': 'GET /api/v1/account/stats/ HTTP/1.1\r\nHost: x\r\nX-Slow: ',
  'kept alive': get('/nowhere/'),
  'half a body': 'POST /api/v1/sms/send/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"to"',
  slow: get('/nowhere/'),
  stream: get(routeOf('events.stream').path),
} as const;
type Habit = keyof typeof openings;

/** The habits of the first clients of each twenty; the others are slow. */
const habits = ['silent', 'half a head', 'kept alive'] as const;
/** A slow client asks again before its connection times out. */
const slowEveryMs = 7_000;
/** uWebSockets.js checks its timeouts every four seconds, so one may end that much early. */
const earliestTimeoutMs = idleTimeoutMs - 4_000;
/** Simultaneous connection attempts: fewer than the backlog of a listening socket. */
const attemptsAtOnce = 100;

export class IdleClients {
  readonly #plan: IdlePlan;
  readonly #sockets = new Set<Socket>();
  /** The reason for each lost connection. */
  readonly lost: string[] = [];
  #isOver = false;

  constructor(plan: IdlePlan) {
    this.#plan = plan;
  }

  /** Resolves when all are connected. */
  async open(): Promise<void> {
    await inParallel(this.#plan.count, attemptsAtOnce, (index) => this.#connect(index));
  }

  get openCount(): number {
    return this.#sockets.size;
  }

  close(): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #connect(index: number): Promise<void> {
    const { baseUrl, controlUrl, streams, unfinishedBodies = 0 } = this.#plan;
    let habit: Habit = habits[index % 20] ?? 'slow';
    if (index < streams + unfinishedBodies) habit = index < streams ? 'stream' : 'half a body';
    const { port } = new URL(habit === 'stream' ? controlUrl : baseUrl);
    const socket = connect(Number(port), '127.0.0.1');
    const ask = () => socket.write(openings[habit].replace('Host: x', `Host: 127.0.0.1:${port}`));
    let quietSinceMs: number | undefined;
    return new Promise((resolve) => {
      socket.on('connect', () => {
        this.#sockets.add(socket);
        quietSinceMs = performance.now();
        ask();
        if (habit === 'slow') {
          const timer = setInterval(ask, slowEveryMs);
          socket.once('close', () => clearInterval(timer));
        }
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
        const quietMs = performance.now() - (quietSinceMs ?? Number.NaN);
        const mayTimeOut = habit !== 'stream' && habit !== 'slow';
        if (quietSinceMs === undefined) this.lost.push(`${habit}: could not connect`);
        else if (!(mayTimeOut && quietMs >= earliestTimeoutMs)) {
          this.lost.push(`${habit}: closed after ${Math.round(quietMs)} ms`);
        }
      });
    });
  }
}

const stats = get('/api/v1/account/stats/');
const beginnings = [
  '',
  'GET / HTTP/1.1\r\nHost: x\r\nX-Half',
  'POST /api/v1/sms/send/ HTTP/1.1\r\nContent-Length: 9\r\n',
  // Once it closes without reading the answer, once after it.
  stats,
  stats,
];
const closings: readonly ((socket: Socket) => void)[] = [
  (socket) => socket.end(),
  (socket) => socket.destroy(),
  (socket) => socket.resetAndDestroy(),
];
const shortAtOnce = 50;

/** Opens and closes `count` connections in all ways; resolves when the last one has closed. */
export async function churn(port: number, count: number): Promise<void> {
  await inParallel(count, shortAtOnce, (index) => {
    const beginning = beginnings[index % beginnings.length] ?? '';
    const close = closings[Math.floor(index / beginnings.length) % closings.length];
    const socket = connect(port, '127.0.0.1');
    return new Promise((resolve, reject) => {
      socket.once('connect', () => {
        if (index % beginnings.length === beginnings.lastIndexOf(stats)) {
          socket.once('data', () => close?.(socket));
          socket.write(stats);
        } else socket.write(beginning, () => close?.(socket));
      });
      socket.on('error', (error) => {
        if ('code' in error && error.code === 'ECONNREFUSED') reject(error);
      });
      socket.on('close', () => resolve());
      // Reads the rest of the answer, because otherwise the end would not be noticed.
      socket.resume();
    });
  });
}

/** Carries out `count` tasks, at most `atOnce` at the same time. */
async function inParallel(
  count: number,
  atOnce: number,
  task: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await task(index);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}
