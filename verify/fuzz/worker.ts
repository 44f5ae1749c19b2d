/**
 * Plays conversations against a server. After each it checks, on connections of its own, that the
 * server still answers and that the world's invariants hold.
 */
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { routeOf } from '#src/operations/table.ts';
import type { ReadyFile } from '#src/simulator.ts';
import { type RawReply, WrongReply } from '../testkit/processes/http-reply.ts';
import { RawSocket } from '../testkit/processes/raw-socket.ts';
import type { Conversation, Port } from './conversations.ts';
import { crlf, quoted, type RawRequest, type RequestParts, rawRequest } from './raw-request.ts';
import { checkDocumented, checkReply } from './reply.ts';

export class FuzzWorker {
  readonly #ready: ReadyFile;
  readonly #transport: TransportKind;
  /** A request that the service must answer at any time. */
  readonly #valid: RawRequest;
  /** How many replies had each status. */
  readonly replies = new Map<number, number>();
  #played = 0;

  constructor(ready: ReadyFile, transport: TransportKind) {
    this.#ready = ready;
    this.#transport = transport;
    const key = `Authorization: Bearer ${ready.accounts[0]?.api_key}${crlf}`;
    const stats = { method: 'GET', target: '/api/v1/account/stats/', body: '' };
    this.#valid = rawRequest(stats, `Host: x${crlf}${key}`);
  }

  get requests(): number {
    return [...this.replies.values()].reduce((sum, count) => sum + count, 0);
  }

  async play(conversation: Conversation): Promise<void> {
    const { port, changes, requests, pipelined, ending, leaving, cuts } = conversation;
    for (const change of changes) await this.#ask('control', rawRequest(change));
    let connection = await this.#open(port);
    try {
      for (let next = 0; next < requests.length; ) {
        const batch = requests.slice(next, next + pipelined);
        // The native server closes after a chunked body, and loses the requests that follow it.
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
      if (leaving === 'half-closes') connection.halfClose();
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
  async askControl(row: RequestParts): Promise<unknown> {
    const { status, body } = await this.#ask('control', rawRequest(row));
    if (status !== 200 && status !== 204) throw new WrongReply(`${status} ${body}`);
    return body === '' ? undefined : JSON.parse(body);
  }

  /** Sends a whole request on a connection of its own. */
  async #ask(port: Port, request: RawRequest): Promise<RawReply> {
    const connection = await this.#open(port);
    const [reply] = await this.#exchange(connection, port, [request], []);
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
    requests: readonly RawRequest[],
    cuts: readonly number[],
  ): Promise<RawReply[]> {
    const replies: RawReply[] = [];
    await connection.write(
      Buffer.from(requests.map(({ bytes }) => bytes).join(''), 'latin1'),
      cuts,
    );
    for (const { method, bytes } of requests) {
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
    if (!(world as { sound: boolean }).sound)
      throw new WrongReply(`the world is broken: ${JSON.stringify(world)}`);
  }
}
