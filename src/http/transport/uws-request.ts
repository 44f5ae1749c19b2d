/**
 * What a handler sees of a request that came over HyperExpress.
 * The head is copied, because uWebSockets.js takes it back when the native callback returns. The address is
 * the exception: asking for it costs more than all the rest together, and a caller with a valid key is never
 * counted by address. So it is asked for when it is read, which must be before the reply.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { type ControlRequest, plainIp } from './transport.ts';

/** HyperExpress' request, as far as it concerns us. */
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
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly forwardedFor: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  #body: string | Uint8Array = '';
  #lent: ArrayBuffer | undefined;
  readonly #raw: HttpResponse;
  #clientIp: string | undefined;

  constructor(
    method: string,
    { headers, path, path_query, raw }: Head,
    response: { readonly raw: HttpResponse },
  ) {
    const authorization = headers['authorization'];
    const single = authorization !== undefined && raw.getHeader('authorization') === authorization;
    this.method = method;
    this.path = path;
    // Undefined, against its type, where the target has no question mark.
    this.query = path_query ?? '';
    this.authorization = single ? authorization : undefined;
    this.contentType = headers['content-type'];
    this.forwardedFor = headers['x-forwarded-for'];
    this.headers = headers;
    this.#raw = response.raw;
  }

  /** A body that is there until the native callback returns; a view of it is made for who reads it. */
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

  get clientIp(): string {
    this.#clientIp ??= plainIp(Buffer.from(this.#raw.getRemoteAddressAsText()).toString('latin1'));
    return this.#clientIp;
  }
}
