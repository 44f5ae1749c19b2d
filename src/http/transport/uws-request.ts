/**
 * A request that came over HyperExpress, with the native response that it is answered on.
 * The head is copied, because uWebSockets.js takes it back when the native callback returns. The address is read
 * only when it is asked for, which must be before the reply: reading it costs more than all the rest, and calls
 * with a valid key do not need it.
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
    // Undefined, against its type, where the target has no question mark.
    this.query = path_query ?? '';
    this.authorization = single ? authorization : undefined;
    this.contentType = headers['content-type'];
    this.contentEncoding = headers['content-encoding'];
    this.forwardedFor = headers['x-forwarded-for'];
    this.headers = headers;
    this.response = response;
  }

  /** A body that is only valid until the native callback returns. The view of it is made when it is first read. */
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

  /** True if the client asked for the end of the connection; the rule is the one of uWebSockets.js, which ends it. */
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
