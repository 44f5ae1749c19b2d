/**
 * Connections that come and go, in good order and otherwise: what a server keeps of them is a leak.
 */
import { connect, type Socket } from 'node:net';
import { get } from '../testkit/raw-socket.ts';

const atATime = 50;

/** What a connection does in its life; `done` ends it. */
type Life = (socket: Socket, done: () => void) => void;

const lives: readonly Life[] = [
  (_, done) => done(),
  (socket, done) => socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Half', done),
  (socket, done) => socket.write('POST /api/v1/sms/send/ HTTP/1.1\r\nContent-Length: 9\r\n', done),
  // Leaves without having read its answer.
  (socket, done) => socket.write(get('/api/v1/account/stats/'), done),
  (socket, done) => {
    socket.once('data', done);
    socket.write(get('/api/v1/account/stats/'));
  },
];

const endings: readonly ((socket: Socket) => void)[] = [
  (socket) => socket.end(),
  (socket) => socket.destroy(),
  (socket) => socket.resetAndDestroy(),
];

/** Opens and ends so many connections, in every way, and resolves when the last one is gone. */
export async function churn(port: number, count: number): Promise<void> {
  let next = 0;
  const liveOn = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await liveOnce(port, index);
  };
  await Promise.all(Array.from({ length: atATime }, liveOn));
}

function liveOnce(port: number, index: number): Promise<void> {
  const live = lives[index % lives.length];
  const end = endings[Math.floor(index / lives.length) % endings.length];
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => live?.(socket, () => end?.(socket)));
    socket.on('error', (error) => {
      if ('code' in error && error.code === 'ECONNREFUSED') reject(error);
    });
    socket.on('close', () => resolve());
    // Whatever is still answered is taken, so that the end of it is seen.
    socket.resume();
  });
}
