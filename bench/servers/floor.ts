/**
 * The floor that the service is compared with: a bare HyperExpress server. It parses the body as
 * JSON and answers with a body of the service's size; it does not route, authenticate, validate or
 * store.
 */
import { Server } from 'hyper-express';

/** The seven fields of a message. The floor sends this reply even where the service answers 429. */
const message = {
  status: 'queued',
  message_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
  request_id: '',
  device_id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
  from_number: '+12025550101',
  to: '+12025550199',
  created_at: '2026-01-01T00:00:00.000Z',
};

/** Starts the server, written as in HyperExpress's own examples. Resolves to its port. */
export async function bareHyperExpress(): Promise<number> {
  const server = new Server({ auto_close: false });
  server.post('/*', async (request, response) => {
    consume(await request.json());
    response.status(202).json(message);
  });
  server.get('/*', (_request, response) => {
    response.json(message);
  });
  await server.listen(0, '127.0.0.1');
  return server.port;
}

let consumed = 0;

/** Uses the parsed body, so that the compiler cannot remove the parsing. */
function consume(body: unknown): void {
  if (typeof body === 'object' && body !== null) consumed++;
  if (consumed < 0) throw new Error('a count never falls');
}
