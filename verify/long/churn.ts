/** Opens and closes many connections in different ways, to detect leaks of the server. */
import { connect, type Socket } from 'node:net';
import { get } from '../testkit/processes/raw-socket.ts';

const atATime = 50;

/** What one connection does; it calls `done` at its end. */
type Behaviour = (socket: Socket, done: () => void) => void;

const behaviours: readonly Behaviour[] = [
  (_, done) => done(),
  (socket, done) => socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Half', done),
  (socket, done) => socket.write('POST /api/v1/sms/send/ HTTP/1.1\r\nContent-Length: 9\r\n', done),
  // Closes without reading the answer.
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

/** Opens and closes `count` connections in all ways; resolves when the last one has closed. */
export async function churn(port: number, count: number): Promise<void> {
  let next = 0;
  const liveOn = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await runOnce(port, index);
  };
  await Promise.all(Array.from({ length: atATime }, liveOn));
}

function runOnce(port: number, index: number): Promise<void> {
  const behave = behaviours[index % behaviours.length];
  const end = endings[Math.floor(index / behaviours.length) % endings.length];
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => behave?.(socket, () => end?.(socket)));
    socket.on('error', (error) => {
      if ('code' in error && error.code === 'ECONNREFUSED') reject(error);
    });
    socket.on('close', () => resolve());
    // Reads the rest of the answer, because otherwise the end would not be noticed.
    socket.resume();
  });
}
