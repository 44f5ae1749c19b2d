/**
 * A load at a rate: requests start at their scheduled time, whether or not earlier ones were
 * answered. Latency counts from that time, so every request that a stalled server delays counts as
 * slow. Requests that the generator itself sends late are counted, because they invalidate the run.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { authorityOf } from '#io/flag-values.ts';
import { type LoadResult, Tally } from './load-result.ts';
import { type Load, requestBytes, stamper, type Target, type Workload } from './workload.ts';

/** A request later than this counts as late; Node's timers are accurate to about a millisecond. */
const lateMs = 10;
/** The longest queue for a connection, in seconds of the rate. */
const backlogSeconds = 2;
/** How long the last replies may take after the load. */
const drainMs = 1_000;
/** How often a connection that breaks is opened. */
const mostAttempts = 3;
/** A longer reply counts as one that never ends: its connection is closed. */
export const mostReplyBytes = 1_048_576;
/** A connection that is silent for this long, without its reply, is closed. */
const longestSilenceMs = 10_000;
/** A server may close an idle connection. Closing it sooner than this counts as a failed attempt. */
const shortestIdleMs = 50;
const noBytes = Buffer.alloc(0);

export class OpenLoop {
  readonly #load: Load;
  readonly #tally: Tally;
  readonly #stamps: readonly (() => Buffer)[];
  readonly #connections: readonly Connection[];
  readonly #free: Connection[] = [];
  /** Scheduled times of requests that wait for a connection, from `#firstWaiting` on. */
  readonly #waiting: number[] = [];
  #firstWaiting = 0;
  /** The number of requests so far, which selects the next template. */
  #started = 0;
  #inFlight = 0;

  constructor(target: Target, workload: Workload, load: Load) {
    const counter = { filled: 0 };
    const authority = authorityOf(target.host, target.port);
    this.#load = load;
    this.#tally = new Tally(workload.expects);
    this.#stamps = workload.requests.map((template) =>
      stamper(template, requestBytes(template, authority), counter),
    );
    const connections = Array.from({ length: load.connections });
    this.#connections = connections.map(() => new Connection(target, this));
  }

  async run(perSecond: number): Promise<LoadResult> {
    await Promise.all(this.#connections.map((connection) => this.#open(connection)));
    await this.#send(perSecond);
    this.#load.whenOver?.();
    const result = this.#tally.finish();
    for (const connection of this.#connections) connection.close();
    return result;
  }

  async #send(perSecond: number): Promise<void> {
    const startedMs = performance.now();
    const count = Math.floor((this.#load.durationMs / 1_000) * perSecond);
    const dueMs = (n: number) => startedMs + (n * 1_000) / perSecond;
    for (let next = 0; next < count; ) {
      const nowMs = performance.now();
      for (; next < count && dueMs(next) <= nowMs; next++) {
        if (nowMs - dueMs(next) > lateMs) this.#tally.late++;
        const connection = this.#free.pop();
        if (connection !== undefined) this.#start(connection, dueMs(next));
        else if (this.#backlog > backlogSeconds * perSecond) this.#tally.dropped++;
        else this.#waiting.push(dueMs(next));
      }
      if (next < count) await sleep(Math.max(1, dueMs(next) - performance.now()));
    }
    const untilMs = performance.now() + drainMs;
    while (this.#inFlight + this.#backlog > 0 && performance.now() < untilMs) await sleep(5);
    this.#tally.dropped += this.#inFlight + this.#backlog;
  }

  get #backlog(): number {
    return this.#waiting.length - this.#firstWaiting;
  }

  #start(connection: Connection, startedMs: number): void {
    this.#inFlight++;
    const stamp = this.#stamps[this.#started++ % this.#stamps.length];
    if (stamp !== undefined) connection.send(stamp(), startedMs);
  }

  /** A reply has arrived; `startedMs`: when its request should have been sent. */
  reply(status: number, startedMs: number): void {
    this.#inFlight--;
    const nowMs = performance.now();
    this.#tally.reply(status, nowMs - startedMs, nowMs);
  }

  /** The reply is whole, and the connection takes another request. */
  free(connection: Connection): void {
    if (this.#backlog > 0) this.#start(connection, this.#waiting[this.#firstWaiting++] ?? 0);
    else this.#free.push(connection);
  }

  /** The connection is closed. `wasBusy`: its request has no reply. */
  broken(connection: Connection, { wasBusy }: { readonly wasBusy: boolean }): void {
    if (wasBusy) {
      this.#inFlight--;
      this.#tally.error();
    }
    const index = this.#free.indexOf(connection);
    if (index >= 0) this.#free.splice(index, 1);
    if (connection.attempts < mostAttempts) void this.#open(connection);
  }

  async #open(connection: Connection): Promise<void> {
    try {
      await connection.open();
    } catch {
      this.#tally.error();
      return;
    }
    this.free(connection);
  }
}

/**
 * A keep-alive connection with one request at a time. It parses a reply only as far as to find its
 * end: Node's own client costs several times as much, and would limit the load.
 */
class Connection {
  readonly #target: Target;
  /** It hears of each reply (`reply`), and when the connection is free or broken. */
  readonly #loop: OpenLoop;
  #socket: Socket | undefined;
  #received: Buffer = noBytes;
  #startedMs = 0;
  #isBusy = false;
  /** How often it was opened since its last reply, or since it was last open and idle. */
  attempts = 0;
  #openedMs = 0;

  constructor(target: Target, loop: OpenLoop) {
    this.#target = target;
    this.#loop = loop;
  }

  open(): Promise<void> {
    this.attempts++;
    return new Promise((resolve, reject) => {
      const socket = connect({ ...this.#target, noDelay: true });
      socket.once('connect', () => {
        socket.off('error', reject);
        socket.on('error', () => {});
        socket.on('close', () => this.#closed(socket));
        this.#openedMs = performance.now();
        resolve();
      });
      socket.once('error', reject);
      socket.on('data', (chunk: Buffer) => this.#receive(chunk));
      const silence = `silent for ${longestSilenceMs / 1_000} s`;
      socket.setTimeout(longestSilenceMs, () => {
        // With an error, so that a connection that hangs while it opens rejects.
        if (socket.connecting || this.#isBusy) socket.destroy(new Error(silence));
      });
      this.#socket = socket;
    });
  }

  send(bytes: Buffer, startedMs: number): void {
    this.#isBusy = true;
    this.#startedMs = startedMs;
    // A copy: the bytes may be changed for another connection before the kernel has taken them.
    this.#socket?.write(Buffer.from(bytes));
  }

  close(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const reply = wholeReply(bytes);
    if (reply === undefined) {
      this.#received = bytes;
      if (bytes.length > mostReplyBytes) this.#socket?.destroy();
      return;
    }
    this.#received = noBytes;
    this.#isBusy = false;
    this.attempts = 0;
    this.#loop.reply(reply.status, this.#startedMs);
    if (reply.isLast) this.#socket?.destroy();
    else this.#loop.free(this);
  }

  #closed(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#received = noBytes;
    const wasBusy = this.#isBusy;
    this.#isBusy = false;
    if (!wasBusy && performance.now() - this.#openedMs >= shortestIdleMs) this.attempts = 0;
    this.#loop.broken(this, { wasBusy });
  }
}

/** The end of a chunked body without trailers. */
const lastChunk = '\r\n0\r\n\r\n';
const framing = /\r\ncontent-length: *(\d+)|\r\ntransfer-encoding: *(chunked)/i;
const closing = /^HTTP\/1\.0|\r\nconnection: *close/i;

/** The reply; undefined until it is complete. Only one request is in flight: no other follows. */
function wholeReply(bytes: Buffer): { status: number; isLast: boolean } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = bytes.toString('latin1', 0, headEnd);
  const [, length = 0, chunked] = framing.exec(head) ?? [];
  const isWhole =
    chunked === undefined
      ? bytes.length >= headEnd + 4 + Number(length)
      : bytes.toString('latin1', bytes.length - lastChunk.length) === lastChunk;
  if (!isWhole) return undefined;
  // The three digits after `HTTP/1.1 `.
  return { status: Number(head.slice(9, 12)), isLast: closing.test(head) };
}
