/** Sends the requests of the mixed load, and records them as a recorder in front would see them. */
import type { TrafficExchange } from '#contract/exchange.ts';
import type { Rng } from '#src/sim/random.ts';
import { mainFrom } from '../harness/flags-world.ts';
import { sendPaths } from '../testkit/twin/request.ts';
import type { LoadRequest, LoadTarget } from './load-target.ts';

export const receivedPath = '/api/v1/sms/received/';
export const statsPath = '/api/v1/account/stats/';

export function tasksPath({ deviceId }: LoadTarget): string {
  return `/api/devices/${deviceId}/tasks/`;
}

export function messagePath(id: unknown): string {
  return `/api/v1/sms/${String(id)}/`;
}

export type Fields = Readonly<Record<string, unknown>>;

interface Request extends Pick<LoadRequest, 'method' | 'path'> {
  /** An API key, or a whole `Authorization` header; undefined sends none. */
  readonly key: string | undefined;
  readonly body?: string;
}

interface Repetition {
  readonly count: number;
  readonly everySeconds: number;
}

export class Recorder {
  readonly exchanges: TrafficExchange[] = [];
  readonly target: LoadTarget;
  readonly #rng: Rng;
  #ids = 0;

  constructor(target: LoadTarget, rng: Rng) {
    this.target = target;
    this.#rng = rng;
  }

  /** A `request_id` that the load has not used. */
  nextId(): string {
    return `load-${++this.#ids}`;
  }

  /** Sends a request and records the exchange. */
  #request({ method, path, key, body = '' }: Request) {
    const { target } = this;
    const headers = {
      ...(key !== undefined && { authorization: key.includes(' ') ? key : `Bearer ${key}` }),
      ...(method === 'POST' && { 'content-type': 'application/json' }),
    };
    const reply = target.answer({ method, path, headers, body });
    const now = target.now();
    this.exchanges.push({
      sentAt: now - this.#rng.below(30),
      answeredAt: now + this.#rng.below(40),
      host: '',
      method,
      path,
      query: '',
      headers,
      showsCredential: true,
      address: 'address:1',
      body,
      reply,
      isForced: false,
      isSeen: true,
    });
    return { status: reply.status, json: parsed(reply.body) };
  }

  get(path: string, key: string | undefined) {
    return this.#request({ method: 'GET', path, key });
  }

  post(path: string, key: string | undefined, body: string) {
    return this.#request({ method: 'POST', path, key, body });
  }

  send(fields: Fields, key = this.target.key, path: string = sendPaths.send) {
    const body = { to: '+12125550150', from: mainFrom, message: 'hello there', ...fields };
    return this.post(path, key, JSON.stringify(body));
  }

  /** Sends, and returns the `message_id` of the reply. */
  sent(...send: Parameters<Recorder['send']>): unknown {
    return this.send(...send).json['message_id'];
  }

  read(id: unknown, key = this.target.key) {
    return this.get(messagePath(id), key);
  }

  /**
   * Moves 15 s into the next minute, so a flood of a few seconds stays inside one minute even if
   * the clocks differ.
   */
  toNextMinute(): void {
    this.wait((60_000 - (this.target.now() % 60_000)) / 1000 + 15);
  }

  wait(seconds: number): void {
    this.target.advance(Math.round(seconds * 1000));
  }

  /** Acts as often as `count` says, and waits before each time. */
  repeat({ count, everySeconds }: Repetition, act: (index: number) => void): void {
    for (let index = 0; index < count; index++) {
      this.wait(everySeconds);
      act(index);
    }
  }

  /** A `send_at` so many seconds from now. */
  inSeconds(seconds: number): string {
    return new Date(this.target.now() + seconds * 1000).toISOString();
  }
}

function parsed(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
