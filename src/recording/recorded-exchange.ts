/**
 * One request to the service and its reply. The journal, the requests page, HAR, events, metrics
 * and the referee all read it. It copies everything, since a request is valid only while it is
 * handled, and a reference to a key would keep a world alive after its reset.
 */

import { isUtf8 } from 'node:buffer';
import type { FaultKindName } from '#contract/fault-kinds.ts';
import { type EndpointName, sendEndpoints } from '#contract/limits.ts';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { servicePaths } from '#contract/routes.ts';
import type { Handled } from '../http/service/api.ts';
import { headerIn } from '../http/service/fault.ts';
import { keyPrefix } from '../sim/accounts/account.ts';

/** The longest body that is kept for long, in bytes of a request or characters of a reply. */
export const longestKeptBody = 16_384;

/** The end of a reply that was delayed or cut. */
export interface ReplyEnd {
  /** In simulated time. */
  readonly atMs: number;
  /** The number of the last request that arrived before this reply ended. */
  readonly openUntil: number;
  /** False if the client closed the connection before the reply was sent. */
  readonly isSeen: boolean;
}

const noBytes = Buffer.alloc(0);
const usualType = 'application/json';

/** `ExchangeRecord` reuses these objects: `fill`, and its method `add`, set all fields again. */
export class RecordedExchange {
  /** Counts all requests since the start. */
  number = 0;
  /** When the request arrived, in simulated time. */
  atMs = 0;
  /** Real milliseconds until the reply was made. */
  durationMs = 0;
  endpoint: EndpointName | undefined = undefined;
  method = '';
  path = '';
  query = '';
  contentType: string | undefined = undefined;
  contentEncoding: string | undefined = undefined;
  forwardedFor: string | undefined = undefined;
  /** The client's `traceparent`, and the headers that faults looked at. */
  sentHeaders: Readonly<Record<string, string>> | undefined = undefined;
  // Authenticated: the key and the account. Others: `authorization`, if sent, and `clientIp`.
  keyId: string | undefined = undefined;
  /** The beginning of the key, as far as it may be shown. */
  shownKey = '';
  accountId: string | undefined = undefined;
  accountName: string | undefined = undefined;
  authorization: string | undefined = undefined;
  clientIp: string | undefined = undefined;
  /** The address whose limits an unauthenticated request spends; set only for the referee. */
  address = '';
  /** Simulated seconds per second of `Retry-After`; above 1 if the clock outruns real time. */
  waitRate = 1;
  /** True if it took a token of its caller's bucket, and kept it. */
  hasSpent = false;
  status = 0;
  headers: ApiReply['headers'] = undefined;
  delivery: ApiReply['delivery'] = undefined;
  /** True if a fault chose the status. */
  isForced = false;
  /** The injected fault that struck it; the id is undefined if the explorer chose it. */
  faultId: string | undefined = undefined;
  faultKind: FaultKindName | undefined = undefined;
  /** The number of the send whose reply this replay repeats, if the record knows it. */
  repeats: number | undefined = undefined;
  end: ReplyEnd | undefined = undefined;
  /** True if the journal or the referee keeps this object: it is then not reused. */
  isKept = false;
  /** The reply's body; undefined if it was too long to keep. */
  reply: string | undefined = '';
  /** The request's body as text; undefined if it is in `#bytes`. */
  #text: string | undefined = '';
  /** The request's body up to `#length`, in a reused buffer. Length -1: it was too long to keep. */
  #bytes: Buffer = noBytes;
  #length = 0;

  /** The request's body; undefined if it was too long to keep. */
  get body(): string | Uint8Array | undefined {
    if (this.#text !== undefined) return this.#text;
    return this.#length < 0 ? undefined : this.#bytes.subarray(0, this.#length);
  }

  /** True if the client did not get the whole reply. */
  get isLost(): boolean {
    return this.delivery?.cut !== undefined || this.end?.isSeen === false;
  }

  /** True if the reply repeats that of an earlier use of its `request_id`. */
  get isReplay(): boolean {
    return this.status === 200 && sendEndpoints.some((name) => name === this.endpoint);
  }

  /** About how much memory its texts take. */
  get characters(): number {
    const { path, query, contentType = '', contentEncoding = '', forwardedFor = '' } = this;
    const headers = this.sentHeaders === undefined ? '' : JSON.stringify(this.sentHeaders);
    const declared =
      contentType.length + contentEncoding.length + forwardedFor.length + headers.length;
    const bodies = (this.body?.length ?? 0) + (this.reply?.length ?? 0);
    return path.length + query.length + declared + bodies;
  }

  /** Copies a request and its reply. The caller sets the number and the times. */
  fill(request: ApiRequest, handled: Handled): void {
    const { endpoint, key, reply, isForced = false, struck, lookedAt } = handled;
    this.method = request.method;
    // One text for all: each request has a copy of its own.
    const documented = endpoint && servicePaths[endpoint];
    this.path = request.path === documented ? documented : request.path;
    this.query = request.query;
    this.contentType = request.contentType === usualType ? usualType : request.contentType;
    this.contentEncoding = request.contentEncoding;
    this.forwardedFor = request.forwardedFor;
    const traceparent = headerIn(request.headers, 'traceparent');
    this.sentHeaders = traceparent === undefined ? lookedAt : { ...lookedAt, traceparent };
    this.#keepBody(request.body);
    this.endpoint = endpoint;
    this.keyId = key?.keyId;
    this.shownKey = key === undefined ? '' : keyPrefix(key);
    this.accountId = key?.account.accountId;
    this.accountName = key?.account.name;
    this.authorization = key === undefined ? request.authorization : undefined;
    this.clientIp = key === undefined ? request.clientIp : undefined;
    this.status = reply.status;
    this.headers = reply.headers;
    this.delivery = reply.delivery;
    this.reply = reply.body;
    this.isForced = isForced;
    this.faultId = struck?.faultId;
    this.faultKind = struck?.kind;
    this.repeats = undefined;
    this.end = undefined;
  }

  /** Drops long bodies once nothing needs them whole. */
  shorten(): void {
    if (this.reply !== undefined && this.reply.length > longestKeptBody) this.reply = undefined;
    if ((this.#text?.length ?? this.#length) <= longestKeptBody) return;
    this.#text = undefined;
    this.#bytes = noBytes;
    this.#length = -1;
  }

  /**
   * Copies bytes, because the transport reuses its buffer. A kept exchange is not reused, so it
   * needs no buffer, and takes a string.
   */
  #keepBody(body: string | Uint8Array): void {
    const { length } = body;
    if (typeof body === 'string') this.#text = body;
    else if (this.isKept && isUtf8(body)) this.#text = textOf(body);
    else {
      this.#text = undefined;
      if (this.#bytes.length < length) this.#bytes = Buffer.allocUnsafeSlow(Math.max(256, length));
      this.#bytes.set(body);
      this.#length = length;
    }
  }
}

/** A body as text; bytes that are not UTF-8 become U+FFFD. */
export function textOf(body: string | Uint8Array): string {
  if (typeof body === 'string') return body;
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}
