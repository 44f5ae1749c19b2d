/**
 * Plays conversations against a server, one after another. A conversation is what one connection
 * sends: pieces, which are whole requests as bytes, and perhaps broken requests as its ending.
 * After each conversation the worker checks, on kept-alive connections of its own, that the server
 * still answers and that the world's invariants hold.
 */
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { routeOf } from '#src/operations/table.ts';
import type { ReadyFile } from '#src/simulator.ts';
import { type RawReply, WrongReply } from '../testkit/processes/http-reply.ts';
import { RawSocket } from '../testkit/processes/raw-socket.ts';
import { type Row, rowOf } from './control-rows.ts';
import type { Conversation } from './conversation.ts';
import { keys } from './facts.ts';
import { pieceOf } from './framed.ts';
import { bytesOf, escaped, type Piece } from './piece.ts';
import { checkDocumented, checkReply } from './reply.ts';

type Port = Conversation['port'];

/** The counts of a run so far; all workers add to them. */
export interface Tally {
  requests: number;
  connections: number;
  /** Connections that the server closed after a broken request. */
  closed: number;
  readonly replies: Map<number, number>;
}

type FuzzedUrls = Pick<ReadyFile, 'base_url' | 'control_url'>;

const crlf = '\r\n';
/** A request that must always be answered. */
const validRequest: Readonly<Record<Port, Piece>> = {
  service: {
    method: 'GET',
    bytes: `GET /api/v1/account/stats/ HTTP/1.1${crlf}Host: x${crlf}Authorization: Bearer ${keys.acme}${crlf}${crlf}`,
  },
  control: pieceOf(rowOf('simulator.health')),
};

export class FuzzWorker {
  readonly #urls: FuzzedUrls;
  readonly #transport: TransportKind;
  readonly #tally: Tally;
  readonly #kept: Partial<Record<Port, RawSocket>> = {};
  #played = 0;

  constructor(urls: FuzzedUrls, transport: TransportKind, tally: Tally) {
    this.#urls = urls;
    this.#transport = transport;
    this.#tally = tally;
  }

  async play(conversation: Conversation): Promise<void> {
    const { port, changes, pieces, pipelined, ending, cuts } = conversation;
    for (const change of changes) await this.#changeWorld(change);
    let connection = await this.#open(port);
    try {
      await this.#exchange(connection, port, [validRequest[port]], []);
      for (let next = 0; next < pieces.length; ) {
        const batch = pieces.slice(next, next + pipelined);
        // The native server ends the connection with a chunked body, and loses what is behind it.
        const end = batch.findIndex(({ bytes }) => bytes.includes('Transfer-Encoding: chunked'));
        const sent = end < 0 ? batch : batch.slice(0, end + 1);
        const replies = await this.#exchange(connection, port, sent, cuts);
        for (const reply of replies) this.#count(reply);
        this.#tally.requests += replies.length;
        next += replies.length;
        // A reply may be the connection's last: the requests after it are then sent again.
        if (replies.at(-1)?.headers['connection'] === 'close') {
          connection.destroy();
          connection = await this.#open(port);
        }
      }
      if (ending !== undefined) await this.#sendEnding(connection, conversation, ending);
      await this.#checkAlive();
    } finally {
      connection.destroy();
    }
    this.#played++;
  }

  /**
   * Sends one whole request to the control port on the kept connection. The reply must be a
   * success; returns its body.
   */
  async askControl(row: Row): Promise<unknown> {
    const { status, body } = await this.ask('control', pieceOf(row));
    if (status !== 200 && status !== 204) throw new WrongReply(`${status} ${body}`);
    return body === '' ? undefined : JSON.parse(body);
  }

  /** Restores the start state, except for one revoked key. */
  async reset(revokedKeyId: string): Promise<void> {
    await this.askControl(rowOf('simulator.reset'));
    await this.askControl(rowOf('accounts.revokeKey', revokedKeyId));
  }

  /** Changes the world; the change may be refused for one of three reasons. */
  async #changeWorld(row: Row): Promise<void> {
    const { status, body } = await this.ask('control', pieceOf(row));
    const isRefused =
      [404, 409].includes(status) ||
      body.includes('simulated time ends at') ||
      body.includes('is a number of the pool');
    if (status !== 200 && !isRefused) throw new WrongReply(`${status} ${body}`);
  }

  /** Sends a whole request on the connection that is kept for the port. */
  async ask(port: Port, piece: Piece): Promise<RawReply> {
    const kept = this.#kept[port];
    const isUsable = kept !== undefined && !kept.isClosed;
    const connection = isUsable ? kept : await this.#dial(port);
    this.#kept[port] = connection;
    const [reply] = await this.#exchange(connection, port, [piece], []);
    if (reply === undefined) throw new Error('one request, one reply');
    if (reply.headers['connection'] === 'close') connection.destroy();
    return reply;
  }

  close(): void {
    this.#kept.service?.destroy();
    this.#kept.control?.destroy();
  }

  #open(port: Port): Promise<RawSocket> {
    this.#tally.connections++;
    return this.#dial(port);
  }

  #dial(port: Port): Promise<RawSocket> {
    const { base_url: service, control_url: control } = this.#urls;
    return RawSocket.open(Number(new URL({ service, control }[port] ?? '').port));
  }

  /** Sends whole requests at once and reads a reply to each, up to one that ends the connection. */
  async #exchange(
    connection: RawSocket,
    port: Port,
    pieces: readonly Piece[],
    cuts: readonly number[],
  ): Promise<RawReply[]> {
    const replies: RawReply[] = [];
    await connection.write(bytesOf(pieces.map(({ bytes }) => bytes).join('')), cuts);
    for (const { method, bytes } of pieces) {
      const reply = await connection.reply(method).catch((error: unknown) => {
        throw new WrongReply(
          `to ${escaped(bytes)}: ${error instanceof Error ? error.message : error}`,
        );
      });
      checkReply(reply, { port, transport: this.#transport, method, isWhole: true });
      if (port === 'control') checkDocumented(reply, method, bytes.split(' ')[1] ?? '');
      replies.push(reply);
      if (reply.headers['connection'] === 'close') break;
    }
    return replies;
  }

  /** Sends broken requests: they may stay unanswered, but each answer must be valid HTTP. */
  async #sendEnding(
    connection: RawSocket,
    conversation: Conversation,
    ending: string,
  ): Promise<void> {
    const { port, leaving, cuts } = conversation;
    await connection.write(bytesOf(ending), cuts);
    this.#tally.requests++;
    if (leaving === 'aborts') return;
    if (leaving === 'half-closes') connection.finish();
    // The reply to this later request shows that the server has processed the broken ones.
    await this.#checkAlive();
    // Without knowing which reply belongs to HEAD, the length of a reply is unknown.
    if (ending.includes('HEAD')) return;
    for (const reply of connection.leftovers()) {
      checkReply(reply, { port, transport: this.#transport, method: 'GET', isWhole: false });
      this.#count(reply);
    }
    if (connection.isClosed) this.#tally.closed++;
  }

  async #checkAlive(): Promise<void> {
    const { status, body } = await this.ask('service', validRequest.service);
    if (status !== 200 && status !== 401) throw new WrongReply(`${status} ${body}`);
    // To take, restore and compare a snapshot takes long, so few checks include that.
    const withSnapshot = this.#played % 50 === 0;
    const target = `${routeOf('simulator.invariants').path}?snapshot=${withSnapshot}`;
    const world = await this.askControl({ method: 'GET', target, body: '' });
    if (!(world as { sound: boolean }).sound) {
      throw new WrongReply(`the world is broken: ${JSON.stringify(world)}`);
    }
  }

  #count({ status }: RawReply): void {
    this.#tally.replies.set(status, (this.#tally.replies.get(status) ?? 0) + 1);
  }
}
