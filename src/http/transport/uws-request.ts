/**
 * A request from HyperExpress, with the native response that answers it.
 * The head is copied, because uWebSockets.js frees it when the native callback returns. The address
 * is read on demand, before the reply: reading it costs more than everything else, and calls with a
 * valid key do not need it.
 */
import type { HttpRequest } from 'uWebSockets.js';
import { type ControlRequest, plainIp } from './transport.ts';
import type { Outgoing } from './uws-reply.ts';

/** The part of HyperExpress' request that is used. */
interface Head {
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  readonly path_query: string;
  readonly raw: HttpRequest;
}

export class UwsRequest implements ControlRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string | undefined;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly forwardedFor: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly response: Outgoing;
  #body: string | Uint8Array = '';
  #lent: ArrayBuffer | undefined;
  #clientIp: string | undefined;

  constructor(method: string, { headers, path, path_query, raw }: Head, response: Outgoing) {
    const authorization = headers['authorization'];
    const single = authorization !== undefined && raw.getHeader('authorization') === authorization;
    this.method = method;
    this.path = path;
    // Undefined, contrary to its type, if the target has no question mark.
    this.query = path_query ?? '';
    this.host = headers['host'];
    this.authorization = single ? authorization : undefined;
    this.contentType = headers['content-type'];
    this.contentEncoding = headers['content-encoding'];
    this.forwardedFor = headers['x-forwarded-for'];
    this.headers = headers;
    this.response = response;
  }

  /**
   * Takes a body that is valid until the native callback returns. Its view is made on first read.
   */
  lend(chunk: ArrayBuffer): void {
    this.#lent = chunk;
  }

  get body(): string | Uint8Array {
    if (this.#lent !== undefined) this.body = Buffer.from(this.#lent);
    return this.#body;
  }

  set body(body: string | Uint8Array) {
    this.#body = body;
    this.#lent = undefined;
  }

  /** True if the client asked to close the connection, by the rule of uWebSockets.js. */
  get isLast(): boolean {
    return this.headers['connection']?.length === 5;
  }

  get clientIp(): string {
    this.#clientIp ??= plainIp(
      Buffer.from(this.response.raw.getRemoteAddressAsText()).toString('latin1'),
    );
    return this.#clientIp;
  }
}
