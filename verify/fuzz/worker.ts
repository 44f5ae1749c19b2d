/**
 * Plays conversations against a server. After each it checks, on connections of its own, that the
 * server still answers and that the world's invariants hold.
 */
import fc from 'fast-check';
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { routeOf } from '#src/operations/table.ts';
import type { ReadyFile } from '#src/simulator.ts';
import { type RawReply, WrongReply } from '../testkit/processes/http-reply.ts';
import { RawSocket } from '../testkit/processes/raw-socket.ts';
import { broken } from './broken.ts';
import { controlPieces, worldChanges } from './control-rows.ts';
import type { Facts } from './facts.ts';
import { servicePieces } from './framed.ts';
import { crlf, type Piece, pieceOf, quoted, type Row, rarely, weighted } from './piece.ts';
import { checkDocumented, checkReply, type Expectation } from './reply.ts';

type Port = Expectation['port'];

/** All that happens on one connection, and what changes the world before it. */
export type Conversation =
  ReturnType<typeof conversations> extends fc.Arbitrary<infer Drawn> ? Drawn : never;

export function conversations(facts: Facts) {
  const on = (port: Port, piece: fc.Arbitrary<Piece>) =>
    fc.record({
      port: fc.constant(port),
      changes: fc.array(worldChanges(facts), { maxLength: 3, size: 'max' }),
      pieces: fc.array(piece, { maxLength: 60, size: 'max' }),
      /** The number of requests that are sent before reading replies. */
      pipelined: fc.constantFrom(1, 2, 7, 60),
      /** Broken requests that follow directly. */
      ending: fc.array(broken(piece), { maxLength: 2, size: 'max' }).map((all) => all.join('')),
      /** Whether the client reads the answer to the ending, half-closes, or disconnects at once. */
      leaving: rarely('waits', 5, fc.constantFrom('half-closes', 'aborts')),
      /** Where the bytes are split into packets. */
      cuts: rarely<number[]>([], 2, fc.array(fc.nat(20_000), { maxLength: 3, size: 'max' })),
    });
  return weighted(
    [3, on('service', servicePieces(facts))],
    [1, on('control', controlPieces(facts))],
  );
}

/** The whole conversation as text, to read and to replay. */
export function describe(conversation: Conversation): string {
  const { port, changes, pieces, pipelined, ending, leaving, cuts } = conversation;
  return [
    `on the ${port} port, ${pipelined} at once, cut at ${JSON.stringify(cuts)}, then ${leaving}`,
    ...changes.map((row) => `  first ${row.method} ${row.target} ${row.body}`),
    ...[...pieces.map(({ bytes }) => bytes), ending].map((bytes) => `  ${quoted(bytes)}`),
  ].join('\n');
}

export class FuzzWorker {
  readonly #ready: ReadyFile;
  readonly #transport: TransportKind;
  /** A request to the service that must always be answered. */
  readonly #valid: Piece;
  /** How many replies had each status. */
  readonly replies = new Map<number, number>();
  #played = 0;

  constructor(ready: ReadyFile, transport: TransportKind) {
    this.#ready = ready;
    this.#transport = transport;
    const key = `Authorization: Bearer ${ready.accounts[0]?.api_key}${crlf}`;
    const stats = { method: 'GET', target: '/api/v1/account/stats/', body: '' };
    this.#valid = pieceOf(stats, `Host: x${crlf}${key}`);
  }

  get requests(): number {
    return [...this.replies.values()].reduce((sum, count) => sum + count, 0);
  }

  async play(conversation: Conversation): Promise<void> {
    const { port, changes, pieces, pipelined, ending, leaving, cuts } = conversation;
    for (const change of changes) await this.#ask('control', pieceOf(change));
    let connection = await this.#open(port);
    try {
      for (let next = 0; next < pieces.length; ) {
        const batch = pieces.slice(next, next + pipelined);
        // The native server ends the connection with a chunked body, and loses what is behind it.
        const last = batch.findIndex(({ bytes }) => bytes.includes('Transfer-Encoding: chunked'));
        const sent = last < 0 ? batch : batch.slice(0, last + 1);
        const replies = await this.#exchange(connection, port, sent, cuts);
        next += replies.length;
        // A reply may be the connection's last: the requests after it are then sent again.
        if (replies.at(-1)?.headers['connection'] !== 'close') continue;
        connection.destroy();
        connection = await this.#open(port);
      }
      await connection.write(Buffer.from(ending, 'latin1'), cuts);
      if (leaving === 'half-closes') connection.finish();
      if (leaving === 'aborts') connection.destroy();
      // The replies to later requests show that the server has processed the broken ones.
      await this.#checkAlive();
      // Without knowing which reply belongs to HEAD, the length of a reply is unknown.
      const answers = ending.includes('HEAD') ? [] : connection.leftovers();
      for (const reply of answers) this.#check(reply, port, 'GET', false);
    } finally {
      connection.destroy();
    }
    this.#played++;
  }

  /** The body of a reply of the control port, which must be a success. */
  async askControl(row: Row): Promise<unknown> {
    const { status, body } = await this.#ask('control', pieceOf(row));
    if (status !== 200 && status !== 204) throw new WrongReply(`${status} ${body}`);
    return body === '' ? undefined : JSON.parse(body);
  }

  /** Sends a whole request on a connection of its own. */
  async #ask(port: Port, piece: Piece): Promise<RawReply> {
    const connection = await this.#open(port);
    const [reply] = await this.#exchange(connection, port, [piece], []);
    connection.destroy();
    if (reply === undefined) throw new Error('one request, one reply');
    return reply;
  }

  #open(port: Port): Promise<RawSocket> {
    const { base_url: service, control_url: control } = this.#ready;
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
    await connection.write(Buffer.from(pieces.map(({ bytes }) => bytes).join(''), 'latin1'), cuts);
    for (const { method, bytes } of pieces) {
      const reply = await connection.reply(method).catch((error: unknown) => {
        throw new WrongReply(`to ${quoted(bytes)}: ${error}`);
      });
      this.#check(reply, port, method, true);
      if (port === 'control') checkDocumented(reply, method, bytes.split(' ')[1] ?? '');
      replies.push(reply);
      if (reply.headers['connection'] === 'close') break;
    }
    return replies;
  }

  #check(reply: RawReply, port: Port, method: string, isWhole: boolean): void {
    checkReply(reply, { port, transport: this.#transport, method, isWhole });
    this.replies.set(reply.status, (this.replies.get(reply.status) ?? 0) + 1);
  }

  async #checkAlive(): Promise<void> {
    const { status, body } = await this.#ask('service', this.#valid);
    if (status !== 200 && status !== 401) throw new WrongReply(`${status} ${body}`);
    // To take, restore and compare a snapshot takes long, so few checks include that.
    const target = `${routeOf('simulator.invariants').path}?snapshot=${this.#played % 50 === 0}`;
    const world = await this.askControl({ method: 'GET', target, body: '' });
    if (!(world as { sound: boolean }).sound) {
      throw new WrongReply(`the world is broken: ${JSON.stringify(world)}`);
    }
  }
}
