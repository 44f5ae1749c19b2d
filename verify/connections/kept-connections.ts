/**
 * Idle clients that keep their connections open. A closing server must not wait for them.
 */
import { routeOf } from '../../src/operations/table.ts';
import { get, RawSocket } from '../testkit/raw-socket.ts';
import type { ServedProcess } from '../testkit/served-process.ts';

const halfHead = 'GET /api/v1/account/stats/ HTTP/1.1\r\nHost: x\r\nX-Slow: ';
const halfBody = 'POST /api/v1/sms/send/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"to"';

/**
 * One connection of each kind: silent, half a head, kept alive, an event stream that is read, one
 * that is not read, half a body.
 */
export async function openKeptConnections(
  { baseUrl, controlUrl }: ServedProcess,
  withHalfBody: boolean,
): Promise<RawSocket[]> {
  const port = Number(new URL(baseUrl).port);
  const controlPort = Number(new URL(controlUrl).port);
  const silent = await RawSocket.open(port);
  const slowHead = await RawSocket.open(port);
  await slowHead.write(halfHead);
  const keptAlive = await RawSocket.open(port);
  await keptAlive.write(get('/nowhere/'));
  await keptAlive.reply();
  const reader = await openStream(controlPort);
  const stalled = await openStream(controlPort);
  stalled.stall();
  const connections = [silent, slowHead, keptAlive, reader, stalled];
  if (!withHalfBody) return connections;
  const slowBody = await RawSocket.open(port);
  await slowBody.write(halfBody);
  return [...connections, slowBody];
}

async function openStream(port: number): Promise<RawSocket> {
  const socket = await RawSocket.open(port);
  await socket.write(
    get(routeOf('events.stream').path).replace('Host: x', `Host: 127.0.0.1:${port}`),
  );
  await socket.until(': open\n\n');
  return socket;
}
