/**
 * A fast load of sends for runs that end the service under load. Each of several connections has
 * one send in flight at a time. Keeps the exact bytes of every acknowledged reply, to check later
 * that the restarted service still knows them.
 */
import { routeOf } from '#src/operations/table.ts';
import type { ServedProcess } from '../testkit/processes/served-process.ts';
import { sendPaths } from '../testkit/twin/request.ts';
import { type Answer, Caller } from './caller.ts';

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

  /**
   * Each acknowledged send must exist as one message; those that were cut off may exist as well.
   */
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
  onReply: (requestId: string, answer: Answer) => void,
): Promise<number> {
  const [account] = ready.accounts;
  const fields = { to: '+12025550123', from: account?.sims[0]?.number, message: 'Hello' };
  const common = { method: 'POST', path: sendPaths.send, key: account?.api_key };
  const caller = new Caller();
  let cutOff = 0;
  const sendOn = async () => {
    for (let id = nextId(); id !== undefined; id = nextId()) {
      const body = JSON.stringify({ ...fields, request_id: id });
      const answer = await caller.call(ready.base_url, { ...common, body });
      if (answer === undefined) {
        cutOff++;
        return;
      }
      onReply(id, answer);
    }
  };
  await Promise.all(Array.from({ length: connections }, sendOn));
  caller.leave();
  return cutOff;
}
