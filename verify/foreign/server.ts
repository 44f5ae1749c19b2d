/**
 * Serves the foreign service of `service.ts` by HTTP. `npm run foreign -- odd` serves the variation
 * `odd`, and prints the command that checks it.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { flagsOf } from '../testkit/conform-run.ts';
import { type Listening, serveHttp } from '../testkit/processes/listen.ts';
import { ForeignService } from './service.ts';
import { type Variation, variations } from './variation.ts';

/** Bytes of the first of two chunks. */
const firstChunkLength = 7;

export interface ForeignServer extends Listening {
  /** The flags of `conform` that describe its world, ready for a command line. */
  readonly flags: readonly string[];
  /** The values of these flags, by name. */
  readonly values: Readonly<Record<string, string>>;
}

export async function serveForeign(
  variation: Variation,
  now?: () => number,
  service: ForeignService = new ForeignService(variation, now),
): Promise<ForeignServer> {
  const server = createServer((request, response) => {
    void answer(service, variation, request, response);
  });
  return {
    ...(await serveHttp(server)),
    values: service.flags,
    flags: flagsOf(service.flags),
  };
}

async function answer(
  service: ForeignService,
  variation: Variation,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  const { status, body, headers } = service.answer({
    method: request.method ?? 'GET',
    path,
    query,
    headers: request.headers,
    address: request.socket.remoteAddress ?? '',
    body: await buffer(request),
  });
  const { addsRequestHeaders, answersInChunks } = variation;
  response.writeHead(status, {
    'content-type': service.contentType,
    ...(answersInChunks ? { connection: 'close' } : { 'content-length': Buffer.byteLength(body) }),
    ...(addsRequestHeaders && { 'cf-ray': randomUUID(), server: 'cdn' }),
    ...headers,
  });
  const firstLength = answersInChunks ? firstChunkLength : 0;
  if (answersInChunks) response.write(body.slice(0, firstLength));
  response.end(request.method === 'HEAD' ? undefined : body.slice(firstLength));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const name = process.argv[2] ?? 'plain';
  const { baseUrl, flags } = await serveForeign(variations[name] ?? {});
  process.stdout.write(`npm run conform -- ${baseUrl} ${flags.join(' ')}\n`);
}
