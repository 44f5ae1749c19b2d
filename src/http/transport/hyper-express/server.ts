/**
 * The transport on HyperExpress 6.18.0.
 * HyperExpress owns the listening socket, the catch-all routes and the head of the request. This
 * file, `uws-request.ts` and `uws-reply.ts` use the raw uWebSockets.js request and response,
 * because HyperExpress' own helpers are slower and wrong: `json()` accepts malformed bodies,
 * `send()` corrupts 204 and HEAD, `shutdown()` cuts running requests. They rely on two internals:
 * `onData` replaces HyperExpress' receiver, and `completed` marks a response as answered.
 * docs/semantics.md lists what the native parser answers by itself.
 */
import uWS, { type HttpRequest, type ListenCallback, type NativeHandler } from 'uWebSockets.js';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
// Not the global one, which a test may fake.
import { setImmediate } from 'node:timers';
import { type Request, type Response, Server } from 'hyper-express';
import type { ApiReply } from '#contract/request-and-reply.ts';
import type { TlsPair } from '../../../config/tls.ts';
import { Answers } from '../answers.ts';
import { ArrivingBody } from '../arriving-body.ts';
import { checkAddress, explainRefusal } from '../listening.ts';
import { waitUntilIdle } from '../pending-replies.ts';
import { ServedPort } from '../served-port.ts';
import type { ServicePort, Transport, TransportOptions } from '../transport.ts';
import { closeQuietly } from './uws-reply.ts';
import { noteHeads, UwsRequest } from './uws-request.ts';

/** Why no native build loads on this machine; undefined if one does. */
export const unusableNative = uWS.unusable;

export class HyperExpressTransport implements Transport {
  readonly #server: Server;
  readonly #tlsFiles: TlsFiles | undefined;
  readonly #port: ServedPort;
  readonly #answers: Answers;
  /** The method of the request that the any-method route is receiving, in its original case. */
  #unusualMethod = '';
  #closing: Promise<void> | undefined;

  constructor(serve: ServicePort, options: TransportOptions = {}) {
    this.#port = new ServedPort(serve, options);
    this.#tlsFiles = options.tls && new TlsFiles(options.tls);
    this.#server = new Server({
      auto_close: false,
      trust_proxy: false,
      // Disables HyperExpress' own limit, above which it never calls the handler.
      max_body_length: Number.POSITIVE_INFINITY,
      ...this.#tlsFiles?.options,
    });
    this.#answers = new Answers(this.#port);
    this.#patchNativeCalls();
    // Common methods have their own routes: reading the method of a request costs a native call.
    this.#server.get('/*', (request, response) => this.#receive(request, response, 'GET'));
    this.#server.post('/*', (request, response) => this.#receive(request, response, 'POST'));
    this.#server.any('/*', (request, response) =>
      this.#receive(request, response, this.#unusualMethod),
    );
    this.#server.set_error_handler((_, response, error) => {
      this.#port.report(error);
      closeQuietly(response.raw);
    });
  }

  /** Changes calls between HyperExpress and uWebSockets.js. Runs before the routes are added. */
  #patchNativeCalls(): void {
    const app = this.#server.uws_instance;
    const listen = app.listen.bind(app);
    const [get, post, any] = [app.get.bind(app), app.post.bind(app), app.any.bind(app)];
    Object.assign(app, {
      get: (pattern: string, handler: NativeHandler) => get(pattern, notingHeads(handler)),
      post: (pattern: string, handler: NativeHandler) => post(pattern, notingHeads(handler)),
      // Otherwise a second instance on the same port succeeds, and the kernel splits the
      // connections between them. HyperExpress offers an exclusive port only on 0.0.0.0.
      listen: (host: string, port: number, done: ListenCallback) =>
        listen(host, port, uWS.LIBUS_LISTEN_EXCLUSIVE_PORT, done),
      // HyperExpress converts the method to upper case, but methods are case-sensitive.
      any: (pattern: string, handler: NativeHandler): unknown => {
        const noting = notingHeads(handler);
        return any(pattern, (response, request) => {
          this.#unusualMethod = request.getCaseSensitiveMethod();
          noting(response, request);
        });
      },
    });
  }

  async listen(port: number, host: string): Promise<number> {
    checkAddress(port, host);
    try {
      await this.#server.listen(port, host);
    } catch {
      // HyperExpress rejects with a bare string that names no cause.
      throw await explainRefusal(port, host);
    } finally {
      this.#tlsFiles?.remove();
    }
    return this.#server.port;
  }

  close(graceMs = 5_000): Promise<void> {
    this.#closing ??= this.#drain(graceMs);
    return this.#closing;
  }

  async #drain(graceMs: number): Promise<void> {
    const { pending } = this.#answers;
    this.#server.close();
    this.#tlsFiles?.remove();
    this.#answers.startClosing();
    await waitUntilIdle(() => pending.hasAny, graceMs);
    pending.clear();
    this.#server.uws_instance.close();
  }

  #receive(incoming: Request, response: Response, method: string): void {
    const { headers, raw } = incoming;
    const request = new UwsRequest(method, incoming, response);
    const length = headers['content-length'];
    const encoding = headers['transfer-encoding'];
    if (request.endsConnection) this.#answers.pending.add(request);
    if (length === undefined && encoding === undefined) {
      this.#answers.serve(request, request);
      return;
    }
    // The native parser reads a body with any transfer encoding as chunks, and picks one of
    // several lengths: a body that another server would read differently is refused.
    const isLengthClear =
      encoding === undefined
        ? length !== '' && request.isLengthClear
        : encoding.toLowerCase() === 'chunked' && countOf('transfer-encoding', raw) === 1;
    const size = Number(length ?? 0);
    if (!isLengthClear) {
      this.#refuse(request, this.#port.reply('conflictingLength'));
    } else if (size > this.#port.intake.drainBytes) {
      this.#refuse(request, this.#port.reply('tooLarge'));
    } else if (size === 0 && encoding === undefined) {
      this.#answers.serve(request, request);
    } else {
      this.#collect(request);
    }
  }

  /** Refuses a request before its body has arrived; the body is read and ignored. */
  #refuse(request: UwsRequest, reply: ApiReply): void {
    request.onBody(() => {});
    this.#answers.refuse(request, reply);
  }

  /**
   * Serves the request once its body has arrived. Nearly every body arrives in one piece: the
   * service then gets a view of that piece instead of a copy.
   */
  #collect(request: UwsRequest): void {
    const { intake, room } = this.#port;
    let body: ArrivingBody | undefined;
    this.#answers.pending.add(request);
    request.onBody((chunk, isLast) => {
      const isWhole = isLast && body === undefined && !request.isChunked;
      if (isWhole && chunk.byteLength <= intake.limitBytes) {
        request.lendBody(chunk);
        this.#answers.serve(request, request);
        return;
      }
      if (body === undefined) {
        const arriving = new ArrivingBody(intake, room);
        body = arriving;
        request.onLeft(() => arriving.release());
      }
      this.#answers.take(request, body, new Uint8Array(chunk));
      if (!isLast) return;
      const arrived = body;
      const serve = (): void => this.#answers.arrived(request, request, arrived);
      // Later, as uWebSockets.js ends the connection if the packet also holds trailers.
      if (request.isChunked) setImmediate(() => request.corked(serve));
      else serve();
    });
  }
}

/**
 * The certificate and its key in a private folder: uWebSockets.js takes the names of files, and
 * reads them when it starts to listen.
 */
class TlsFiles {
  readonly #folder = mkdtempSync(join(tmpdir(), 'smstwin-tls-'));
  readonly options = {
    cert_file_name: join(this.#folder, 'cert.pem'),
    key_file_name: join(this.#folder, 'key.pem'),
  };

  constructor({ cert, key }: TlsPair) {
    writeFileSync(this.options.cert_file_name, cert, { mode: 0o600 });
    writeFileSync(this.options.key_file_name, key, { mode: 0o600 });
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function notingHeads(handler: NativeHandler): NativeHandler {
  return (response, request) => {
    noteHeads(request);
    handler(response, request);
  };
}

/** How many headers of this name a request has. */
function countOf(name: string, raw: HttpRequest): number {
  let count = 0;
  raw.forEach((each) => {
    if (each === name) count++;
  });
  return count;
}
