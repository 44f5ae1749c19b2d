/**
 * The exchanges (requests with their replies) of recorded traffic: what readers of recordings, HAR
 * files and journals return, and what the harness and the referee judge. Keys and addresses are
 * replaced by names.
 */
export interface TrafficExchange {
  /**
   * The service got the request and answered it between these times, in epoch milliseconds: by the
   * recorder's steady clock, if the file has it, otherwise by its date.
   */
  readonly sentAt: number;
  readonly answeredAt: number;
  /** The clock that measured both times. Two clocks may differ by any time. */
  readonly clock?: string | undefined;
  /** The precision of the file: each of the two times may really be later by less than this. */
  readonly precisionMs: number;
  /** True if the file does not say when the reply came: `answeredAt` is then `sentAt`. */
  readonly lacksEnd?: boolean | undefined;
  /**
   * How far the recorder's date has moved against its steady clock since its first exchange: the
   * date was set, or the machine slept. The time between two exchanges may be wrong by the
   * difference of their shifts.
   */
  readonly dateShiftMs?: number | undefined;
  /** The connection on which the request came; undefined if it was not recorded. */
  readonly connection?: string | undefined;
  /** The host of the service: one file may hold several services. */
  readonly host: string;
  readonly method: string;
  /** Without the prefix of a gateway, and without the query. */
  readonly path: string;
  readonly query: string;
  /** By name in lower case. In the credential, a name replaces the key. */
  readonly headers: Readonly<Record<string, string>>;
  /** False if the recorder may have omitted the credential, as browsers do. */
  readonly showsCredential: boolean;
  /** The name of the client's address, if it was recorded. */
  readonly address?: string | undefined;
  /** Undefined if it was not recorded; empty if there was none. */
  readonly body: string | undefined;
  /** Undefined if no whole reply came. */
  readonly reply: TrafficReply | undefined;
  /** True if a fault answered in place of the service. */
  readonly isForced: boolean;
  /** True for a 429 that a simulator was scripted to answer: its limiter may not have refused. */
  readonly isScripted?: boolean | undefined;
  /** True if it may be a second record, by another tool, of an exchange that came before. */
  readonly mayBeCopy?: boolean | undefined;
  /** False if a fault cut or garbled the reply, or the client closed the connection first. */
  readonly isSeen: boolean;
  /** True if a fault gave the client the reply with a garbled body. */
  readonly isGarbled?: boolean | undefined;
}

export interface TrafficReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** True if the recorder left out the headers. */
  readonly lacksHeaders?: boolean | undefined;
  /** Undefined if it was not recorded. */
  readonly body: string | undefined;
}

/** True if a body that counts was not recorded. A GET and a HEAD have none. */
export function lacksBody({
  method,
  body,
  reply,
}: Pick<TrafficExchange, 'method' | 'body'> & {
  readonly reply: Pick<TrafficReply, 'body'> | undefined;
}): boolean {
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return (hasBody && body === undefined) || (reply !== undefined && reply.body === undefined);
}

/** `cut`: the service changed by something other than requests, so its earlier state is lost. */
export type TrafficEvent = TrafficExchange | 'cut';

/**
 * Takes a line about a file. `lacks`: its end, or some of its exchanges, could not be read, or their
 * order is not known.
 */
export type NoticeTaker = (line: string, lacks?: 'end' | 'some' | 'order') => void;

/** Reads the events of files, in the order in which they were written, as lists. */
export type TrafficReader = (
  files: readonly string[],
  onNotice: NoticeTaker,
) => AsyncIterable<readonly TrafficEvent[]>;
