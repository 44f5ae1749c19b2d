/**
 * The floors: minimal servers, for comparison. Both parse the body as JSON and answer with a body
 * of the service's size; they do not route, authenticate, validate or store.
 */
import uWS, { type HttpResponse, type TemplatedApp } from 'uWebSockets.js';
import { Server } from 'hyper-express';
import type { FloorReply } from './messages.ts';

/** The part of the native module that the service itself does not use. */
interface NativeApp extends TemplatedApp {
  get(pattern: string, handler: (response: HttpResponse) => void): NativeApp;
  post(pattern: string, handler: (response: HttpResponse) => void): NativeApp;
}

const loopback = '127.0.0.1';
const jsonType = 'application/json';

/** HyperExpress used as in its own examples. Resolves to the port. */
export async function bareHyperExpress(reply: FloorReply): Promise<number> {
  const server = new Server({ auto_close: false });
  server.post('/*', async (request, response) => {
    consume(await request.json());
    response.status(reply.postStatus).json(reply.body);
  });
  server.get('/*', (_request, response) => {
    response.json(reply.body);
  });
  await server.listen(0, loopback);
  return server.port;
}

/** The native server with the minimal handler. Resolves to the port. */
export function rawServer(reply: FloorReply): Promise<number> {
  const app = (uWS as unknown as { App(): NativeApp }).App();
  app.post('/*', (response) => {
    let parts = '';
    response.onAborted(() => {});
    response.onData((chunk, isLast) => {
      parts += Buffer.from(chunk).toString('latin1');
      if (!isLast) return;
      consume(JSON.parse(parts));
      response
        .writeStatus(`${reply.postStatus} Accepted`)
        .writeHeader('content-type', jsonType)
        .end(JSON.stringify(reply.body));
    });
  });
  app.get('/*', (response) => {
    response.writeHeader('content-type', jsonType).end(JSON.stringify(reply.body));
  });
  return new Promise((resolve, reject) => {
    app.listen(loopback, 0, (socket) => {
      if (socket === false) reject(new Error('the raw server cannot listen'));
      else resolve(uWS.us_socket_local_port(socket));
    });
  });
}

let consumed = 0;

/** Keeps the compiler from removing the parsed body. */
function consume(body: unknown): void {
  if (typeof body === 'object' && body !== null) consumed++;
  if (consumed < 0) throw new Error('a count never falls');
}
