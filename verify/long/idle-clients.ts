/**
 * Many nearly idle connections, as from clients that poll rarely. Most ask slowly; some are silent,
 * have sent a part of a request, are idle after an answer, or read events.
 * Both transports close a connection after about `idleTimeoutMs` of silence. One that is closed
 * earlier counts as lost; so does a stream, or one that asks slowly, if it is closed at all.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { workOn } from '#io/event-loop.ts';
import { idleTimeoutMs } from '#src/http/transport/transport.ts';
import { routeOf } from '#src/operations/table.ts';
import { get } from '../testkit/processes/raw-socket.ts';

export interface IdlePlan {
  readonly baseUrl: string;
  readonly controlUrl: string;
  readonly count: number;
  /** How many of them read events on the control port. */
  readonly streams: number;
  /** How many of them never finish a body. */
  readonly unfinishedBodies?: number;
}

/** The first bytes of each kind of connection. Nothing follows, except that slow ones repeat. */
const firstBytes = {
  silent: '',
  'half a head': 'GET /api/v1/account/stats/ HTTP/1.1\r\nHost: x\r\nX-Slow: ',
  'half a body': 'POST /api/v1/sms/send/ HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"to"',
  'kept alive': get('/nowhere/'),
  slow: get('/nowhere/'),
  stream: get(routeOf('events.stream').path),
};

/** The kinds of the first clients of each twenty; the others are slow. */
const rotation = ['silent', 'half a head', 'kept alive'] as const;
/** A slow client asks again before its connection times out. */
const slowEveryMs = 7_000;
/** uWebSockets.js checks its timeouts every four seconds, so one may end that much early. */
const earliestTimeoutMs = idleTimeoutMs - 4_000;

/** Simultaneous connection attempts: fewer than the backlog of a listening socket. */
const attemptsAtOnce = 100;

export class IdleClients {
  readonly sockets = new Set<Socket>();
  /** The reason for each lost connection. */
  readonly lost: string[] = [];
  readonly #plan: IdlePlan;
  #isOver = false;

  constructor(plan: IdlePlan) {
    this.#plan = plan;
  }

  /** Resolves when all are connected. */
  async open(): Promise<void> {
    const indices = new Array(this.#plan.count).keys();
    await workOn(indices, attemptsAtOnce, (index) => this.#connect(index));
  }

  /** Resolves when all have closed. */
  async close(how: 'end' | 'destroy' | 'resetAndDestroy' = 'destroy'): Promise<void> {
    this.#isOver = true;
    const closed = [...this.sockets].map((socket) => once(socket, 'close'));
    for (const socket of this.sockets) socket[how]();
    await Promise.all(closed);
  }

  #connect(index: number): Promise<void> {
    const { baseUrl, controlUrl, streams, unfinishedBodies = 0 } = this.#plan;
    let kind: keyof typeof firstBytes = rotation[index % 20] ?? 'slow';
    if (index < streams + unfinishedBodies) kind = index < streams ? 'stream' : 'half a body';
    const { host, port } = new URL(kind === 'stream' ? controlUrl : baseUrl);
    const socket = connect(Number(port), '127.0.0.1');
    const ask = () => void socket.write(firstBytes[kind].replace('Host: x', `Host: ${host}`));
    let timer: NodeJS.Timeout | undefined;
    /** Without a value until it is connected. */
    let quietSinceMs = Number.NaN;
    return new Promise((resolve) => {
      socket.on('connect', () => {
        this.sockets.add(socket);
        quietSinceMs = performance.now();
        ask();
        if (kind === 'slow') timer = setInterval(ask, slowEveryMs);
        resolve();
      });
      socket.on('data', () => {
        // Half a head gets no answer, except the one just before its connection ends.
        if (kind === 'kept alive') quietSinceMs = performance.now();
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        clearInterval(timer);
        resolve();
        this.sockets.delete(socket);
        const quietMs = performance.now() - quietSinceMs;
        const mayTimeOut = kind !== 'stream' && kind !== 'slow';
        if (this.#isOver || (mayTimeOut && quietMs >= earliestTimeoutMs)) return;
        const isRefused = Number.isNaN(quietMs);
        const end = isRefused ? 'could not connect' : `closed after ${Math.round(quietMs)} ms`;
        this.lost.push(`${kind}: ${end}`);
      });
    });
  }
}
