/**
 * A fast load of sends for runs that end a service in the middle of it: several connections with
 * one send at a time each, and the exact bytes of every acknowledged reply.
 */
import { connect } from 'node:net';
import { routeOf } from '../../src/operations/table.ts';
import type { ServedProcess } from '../testkit/served-process.ts';

interface Reply {
  readonly status: number;
  readonly body: string;
}

const connections = 16;

export class Sender {
  /** The body of the 202 by `request_id`. */
  readonly acknowledged = new Map<string, string>();
  readonly complaints: string[] = [];
  #sent = 0;
  /** Sends whose reply was cut off: their messages may exist. */
  #cutOff = 0;

  /** Sends until the service is gone; `onReply` is called after each reply. */
  async load(served: ServedProcess, onReply: (replies: number) => void): Promise<void> {
    let replies = 0;
    const nextId = () => `send-${++this.#sent}`;
    this.#cutOff += await sendAll(served, nextId, (requestId, { status, body }) => {
      if (status === 202) this.acknowledged.set(requestId, body);
      else this.complaints.push(`${requestId} is answered ${status} ${body}`);
      onReply(++replies);
    });
  }

  /** Repeats the latest sends: each must be answered 200 with the bytes of its first reply. */
  async check(served: ServedProcess, latest = this.acknowledged.size): Promise<void> {
    const bodies = new Map([...this.acknowledged].slice(-latest));
    const ids = [...bodies.keys()].values();
    await sendAll(
      served,
      () => ids.next().value,
      (requestId, { status, body }) => {
        if (status !== 200 || body !== bodies.get(requestId)) {
          this.complaints.push(`${requestId} is answered ${status} ${body}`);
        }
        bodies.delete(requestId);
      },
    );
    for (const requestId of bodies.keys()) this.complaints.push(`${requestId} is not answered`);
  }

  /** Each acknowledged send must exist as one message; those that were cut off may exist as well. */
  async checkState({ controlUrl }: ServedProcess): Promise<void> {
    const read = async (name: 'simulator.state' | 'simulator.invariants') =>
      (await fetch(`${controlUrl}${routeOf(name).path}`)).json();
    const { messages } = (await read('simulator.state')) as { messages: { total: number } };
    const { broken } = (await read('simulator.invariants')) as { broken: string[] };
    this.complaints.push(...broken);
    const { size } = this.acknowledged;
    if (messages.total < size || messages.total > size + this.#cutOff) {
      const cutOff = `${this.#cutOff} cut off`;
      this.complaints.push(`${messages.total} messages for ${size} acknowledged sends, ${cutOff}`);
    }
  }
}

/** Resolves when every connection has ended, with the number of sends that got no reply. */
async function sendAll(
  { ready }: ServedProcess,
  nextId: () => string | undefined,
  onReply: (requestId: string, reply: Reply) => void,
): Promise<number> {
  const {
    base_url: baseUrl,
    accounts: [account],
  } = ready;
  const head =
    'POST /api/v1/sms/send/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
    `Authorization: Bearer ${account?.api_key}\r\nContent-Length: `;
  const send = { to: '+12025550123', from: account?.sims[0]?.number, message: 'Hello' };
  const requestOf = (requestId: string): string => {
    const body = JSON.stringify({ ...send, request_id: requestId });
    return `${head}${body.length}\r\n\r\n${body}`;
  };
  const port = Number(new URL(baseUrl).port);
  const sendOn = () => sendOnConnection(port, requestOf, nextId, onReply);
  const cutOff = await Promise.all(Array.from({ length: connections }, sendOn));
  return cutOff.filter((isCutOff) => isCutOff).length;
}

/** Resolves with true if the connection closed before the last reply. */
function sendOnConnection(
  port: number,
  requestOf: (requestId: string) => string,
  nextId: () => string | undefined,
  onReply: (requestId: string, reply: Reply) => void,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let requestId: string | undefined;
    let arrived = '';
    const sendNext = () => {
      requestId = nextId();
      if (requestId === undefined) socket.end();
      else socket.write(requestOf(requestId));
    };
    socket.on('connect', sendNext);
    socket.on('data', (bytes) => {
      arrived += bytes.toString('latin1');
      const reply = replyIn(arrived);
      if (reply === undefined || requestId === undefined) return;
      arrived = '';
      onReply(requestId, reply);
      sendNext();
    });
    // A killed service resets its connections.
    socket.on('error', () => {});
    socket.on('close', () => resolve(requestId !== undefined));
  });
}

/** Undefined while the reply is incomplete. */
function replyIn(bytes: string): Reply | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [, status = '', length = ''] =
    /^HTTP\/1\.1 (\d+) [\s\S]*?\r\ncontent-length: (\d+)/i.exec(bytes.slice(0, end)) ?? [];
  const body = bytes.slice(end + 4);
  return body.length < Number(length) ? undefined : { status: Number(status), body };
}
