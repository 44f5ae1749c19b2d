/**
 * Recorded traffic as its readers give it, and as the harness and the referee take it: exchanges of
 * any recorder, with names in place of keys and addresses.
 */

export interface TrafficExchange {
  /** In the recorder's time: the request arrived and was answered in between. */
  readonly sentAt: number;
  readonly answeredAt: number;
  /** The service, where one file holds several. */
  readonly host: string;
  readonly method: string;
  /** Without what a gateway puts before it, and without the query. */
  readonly path: string;
  readonly query: string;
  /** In lower case. The credential has a name in place of its key. */
  readonly headers: Readonly<Record<string, string>>;
  /** False if the recorder may have left the credential out, as browsers do. */
  readonly showsCredential: boolean;
  /** The name of the client's address, if it was recorded. */
  readonly address?: string;
  /** Undefined if it was not recorded; empty if there was none. */
  readonly body: string | undefined;
  /** Undefined if no whole reply came. */
  readonly reply: TrafficReply | undefined;
  /** True if a fault answered in place of the service. */
  readonly isForced: boolean;
  /** False if the client did not see the whole reply. */
  readonly isSeen: boolean;
}

export interface TrafficReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined if it was not recorded. */
  readonly body: string | undefined;
}

/** True if a body was there and was not recorded. A GET has no body that counts. */
export function lacksBody({
  method,
  body,
  reply,
}: Pick<TrafficExchange, 'method' | 'body'> & {
  readonly reply: Pick<TrafficReply, 'body'> | undefined;
}): boolean {
  const isSent = method !== 'GET' && method !== 'HEAD';
  return (isSent && body === undefined) || (reply !== undefined && reply.body === undefined);
}

/** `cut`: something else than requests changed the service, so what came before is unknown. */
export type TrafficEvent = TrafficExchange | 'cut';

/** A file's events in the order in which they were written. */
export type TrafficReader = (
  files: readonly string[],
  onNotice: (line: string) => void,
) => AsyncIterable<TrafficEvent>;
