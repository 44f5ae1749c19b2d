/**
 * Serves a connection of Node's server as long as its requests are *plain*, in the sense of
 * `plain-request.ts`. `node:http` takes three times as long for such a request, because it creates
 * two streams for each. At the first request that is not plain, `node:http` takes over the
 * connection with the bytes that are not served yet. A test compares the bytes of both ways.
 */
import type { Socket } from 'node:net';
// Not the global one, which a test may fake: a client is slow in real time.
import { performance } from 'node:perf_hooks';
import { plainIp } from '../../plain-ip.ts';
import type { Answers } from '../answers.ts';
import { ArrivingBody } from '../arriving-body.ts';
import type { ServedPort } from '../served-port.ts';
import type { HeadLines } from './node-reply.ts';
import { type PlainHead, PlainRequest, type ReplyWriter, readPlainHead } from './plain-request.ts';

export interface PlainShared {
  readonly port: ServedPort;
  readonly answers: Answers;
  readonly lines: HeadLines;
  /** The connections that `node:http` has not taken over. */
  readonly open: Set<PlainConnection>;
  /** Makes `node:http` take over a connection. */
  readonly handOver: (socket: Socket) => void;
}

/** The socket is paused once more bytes than this wait for an earlier reply. */
const mostWaitingBytes = 65_536;
/** Returned instead of an offset: the request is one for `node:http`. */
const notPlain = -1;

/** The body of a request that does not come in one packet with its head. */
interface PartialBody {
  readonly body: ArrivingBody;
  missingBytes: number;
  /** The real time until which the body must be complete. */
  readonly deadlineMs: number;
}

export class PlainConnection implements ReplyWriter {
  readonly #shared: PlainShared;
  readonly socket: Socket;
  #clientIp: string | undefined;
  /** The head of the last request: most clients repeat it, or its header lines. */
  #head: PlainHead | undefined;
  /** The number of replies that leave at the end of the turn. */
  #deferred = 0;
  /** The text of replies that leave with the next one, and whether it is ASCII. */
  #text = '';
  #isAscii = true;
  /** The request whose reply is not known yet; the bytes behind it wait. */
  #current: PlainRequest | undefined;
  /** The body of `#current`, while it arrives. */
  #arriving: PartialBody | undefined;
  /** Bytes behind `#current`, or behind replies that the client has not read. */
  #waiting: Buffer | undefined;
  /** True once this object serves no more: the connection ends, or `node:http` has it. */
  #isOver = false;
  /** True if bytes came or left since the last call of `checkSilence`. */
  #isActive = true;

  constructor(shared: PlainShared, socket: Socket) {
    this.#shared = shared;
    this.socket = socket;
    shared.open.add(this);
    socket.on('data', this.#onData).on('end', this.#onEnd).on('drain', this.#onDrain);
    socket.on('close', this.#onClose).on('error', ignoreError);
  }

  /**
   * Called at intervals. It starts Node's timer, which closes a silent connection, only after an
   * interval of silence: every packet restarts that timer, which takes 3 % of the time of a send.
   */
  checkSilence(intervalMs: number): void {
    const timeoutMs = this.#isActive ? 0 : this.#shared.port.idleTimeoutMs - intervalMs;
    this.#isActive = false;
    const { timeout = 0 } = this.socket;
    if (timeoutMs !== timeout) this.socket.setTimeout(timeoutMs, this.#onTimeout);
  }

  get clientIp(): string {
    this.#clientIp ??= plainIp(this.socket.remoteAddress ?? '');
    return this.#clientIp;
  }

  send(request: PlainRequest, text: string, isAscii: boolean, ends: boolean): void {
    if (this.#current === request) this.#forgetCurrent();
    else this.#deferred--;
    this.#text += text;
    this.#isAscii &&= isAscii;
    // The next one follows in the same call: see `Answers.endTurn`.
    if (this.#deferred > 0 && !ends) return;
    this.#isActive = true;
    const socket = this.socket;
    socket.write(this.#text, this.#isAscii ? 'latin1' : 'utf8');
    this.#text = '';
    this.#isAscii = true;
    if (ends) {
      this.#isOver = true;
      socket.destroySoon();
    }
    if (this.#waiting !== undefined) process.nextTick(this.#onDrain);
  }

  deferReply(): void {
    this.#forgetCurrent();
    this.#deferred++;
  }

  #forgetCurrent(): void {
    this.#current = undefined;
    this.#arriving?.body.release();
    this.#arriving = undefined;
  }

  get #isBusy(): boolean {
    return this.#isOver || this.#current !== undefined || this.socket.writableNeedDrain;
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#isActive = true;
    if (this.#waiting === undefined) this.#read(bytes);
    else this.#keepWaiting(Buffer.concat([this.#waiting, bytes]));
  };

  /** Runs once the client has read its replies, and after a reply that other bytes waited for. */
  readonly #onDrain = (): void => {
    const waiting = this.#waiting;
    if (this.socket.destroyed || waiting === undefined || this.#isBusy) return;
    this.#waiting = undefined;
    this.socket.resume();
    this.#read(waiting);
  };

  #keepWaiting(bytes: Buffer): void {
    this.#waiting = bytes;
    if (bytes.length > mostWaitingBytes) this.socket.pause();
  }

  /** Serves the requests in these bytes, as far as the replies before them are known. */
  #read(bytes: Buffer): void {
    let offset = 0;
    if (this.#arriving !== undefined) offset = this.#takeBody(this.#arriving, bytes);
    while (offset < bytes.length && !this.#isBusy) {
      const nextOffset = this.#start(bytes, offset);
      if (nextOffset === notPlain) {
        this.#shared.answers.endTurn();
        this.#handOver(bytes.subarray(offset));
        return;
      }
      offset = nextOffset;
    }
    if (offset < bytes.length && !this.#isOver)
      this.#keepWaiting(Buffer.from(bytes.subarray(offset)));
  }

  /** Serves the request at `offset`. Returns the offset of the next one, or `notPlain`. */
  #start(bytes: Buffer, offset: number): number {
    const head = readPlainHead(bytes, offset, this.#head);
    this.#head = head;
    const { port, answers, lines } = this.#shared;
    if (head === undefined || head.length > port.intake.limitBytes) return notPlain;
    const { length } = head;
    const request = new PlainRequest(this, lines, head);
    this.#current = request;
    const bodyStart = offset + head.size;
    const bodyEnd = bodyStart + length;
    if (bodyEnd <= bytes.length) {
      if (length > 0) request.body = arrivedBody(bytes, bodyStart, bodyEnd);
      answers.serve(request, request);
      return bodyEnd;
    }
    answers.pending.add(request);
    this.#arriving = {
      body: new ArrivingBody(port.intake, port.room),
      missingBytes: length,
      deadlineMs: performance.now() + port.idleTimeoutMs,
    };
    return bodyStart + this.#takeBody(this.#arriving, bytes.subarray(bodyStart));
  }

  /** Takes the next piece of a body. Returns how many of the bytes belong to the body. */
  #takeBody(arriving: PartialBody, bytes: Buffer): number {
    const request = this.#current;
    if (request === undefined) return 0;
    const taken = Math.min(arriving.missingBytes, bytes.length);
    if (performance.now() > arriving.deadlineMs) this.socket.destroy();
    arriving.missingBytes -= taken;
    const { answers } = this.#shared;
    answers.take(request, arriving.body, bytes.subarray(0, taken));
    if (arriving.missingBytes > 0 || request.isAnswered) return taken;
    this.#arriving = undefined;
    answers.arrived(request, request, arriving.body);
    return taken;
  }

  /** Gives the connection to `node:http`, which reads these bytes first. */
  #handOver(bytes: Buffer): void {
    const socket = this.socket;
    this.#isOver = true;
    this.#shared.open.delete(this);
    socket.off('data', this.#onData).off('end', this.#onEnd).off('drain', this.#onDrain);
    socket.off('close', this.#onClose).off('error', ignoreError);
    socket.setTimeout(0, this.#onTimeout);
    socket.pause();
    socket.unshift(bytes);
    this.#shared.handOver(socket);
    socket.resume();
  }

  /** Closes a silent connection, unless the silence is a reply that a fault delays. */
  readonly #onTimeout = (): void => {
    const isDelayed = this.#current !== undefined && this.#arriving === undefined;
    if (!isDelayed || this.socket.writableLength > 0) this.socket.destroy();
  };

  /** Runs when the client sends no more. Refuses half a body, as Node's parser does. */
  readonly #onEnd = (): void => {
    this.#shared.answers.endTurn();
    if (this.#arriving !== undefined && this.#current !== undefined)
      this.#shared.answers.refuse(this.#current, this.#shared.port.reply('malformed'));
    if (this.socket.writable) this.socket.end();
  };

  readonly #onClose = (): void => {
    this.#isOver = true;
    this.#shared.open.delete(this);
    this.#arriving?.body.release();
    this.#current?.leave();
  };
}

/** ASCII as text, which is cheap to keep; else a view of the bytes, valid during the call. */
function arrivedBody(bytes: Buffer, start: number, end: number): string | Uint8Array {
  const text = bytes.toString('utf8', start, end);
  // A text with as many characters as bytes is ASCII, unless it has the sign for invalid UTF-8.
  const isAscii = text.length === end - start && !text.includes('\ufffd');
  return isAscii ? text : bytes.subarray(start, end);
}

/** Node emits `close` after each error. */
function ignoreError(): void {}
