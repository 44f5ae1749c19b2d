/**
 * The HTTP client of the long runs, and `DisturbedService`, which decides whether a missing answer
 * is permitted: only while a fault or a restart disturbs the service.
 */
import { Agent, request } from 'node:http';

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly key?: string | undefined;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
}

export class Caller {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 200 });

  /** Undefined if no complete answer arrived. */
  call(baseUrl: string, call: Call): Promise<Answer | undefined> {
    const { method, path, key, body, contentType = 'application/json' } = call;
    const headers = {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && {
        'content-type': contentType,
        'content-length': Buffer.byteLength(body),
      }),
    };
    return new Promise((resolve) => {
      const sent = request(`${baseUrl}${path}`, { method, headers, agent: this.#agent });
      sent.on('error', () => resolve(undefined));
      sent.on('response', (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', () => resolve(undefined));
        response.on('close', () => {
          if (!response.complete) resolve(undefined);
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(parts).toString(),
            retryAfter: response.headers['retry-after'],
          });
        });
      });
      sent.end(body);
    });
  }

  /** Closes its idle connections. */
  leave(): void {
    this.#agent.destroy();
  }
}

/**
 * The service as the load sees it: sometimes replaced, sometimes disturbed by faults. Calls wait
 * during a replacement; an unanswered call is a complaint only if nothing disturbed it.
 */
export class DisturbedService {
  readonly #caller: Caller;
  readonly #complain: (text: string) => void;
  #baseUrl = '';
  #isFaulty = false;
  /** Counts events that may prevent an answer. */
  #disturbances = 0;
  #isOpen = false;
  #opened: Promise<void> = Promise.resolve();
  #open: () => void = () => {};
  #inFlight = 0;
  requests = 0;
  unanswered = 0;

  constructor(caller: Caller, complain: (text: string) => void) {
    this.#caller = caller;
    this.#complain = complain;
    this.close();
  }

  /** Directs calls to this URL. */
  open(baseUrl: string): void {
    this.#baseUrl = baseUrl;
    this.#isOpen = true;
    this.#open();
  }

  /** Makes calls wait. */
  close(): void {
    this.#disturbances++;
    this.#isOpen = false;
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** Resolves when no call is in flight. */
  async quiet(): Promise<void> {
    while (this.#inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** While true, calls may stay unanswered. */
  set faulty(isFaulty: boolean) {
    this.#disturbances++;
    this.#isFaulty = isFaulty;
  }

  async call(call: Call): Promise<Answer | undefined> {
    while (!this.#isOpen) await this.#opened;
    const disturbancesBefore = this.#disturbances;
    const wasFaulty = this.#isFaulty;
    this.#inFlight++;
    this.requests++;
    const answer = await this.#caller.call(this.#baseUrl, call);
    this.#inFlight--;
    const isDisturbed = wasFaulty || this.#disturbances !== disturbancesBefore;
    const isUsable = answer !== undefined && !(isDisturbed && isSpoilt(answer));
    if (isUsable) return answer;
    this.unanswered++;
    if (!isDisturbed) this.#complain(`${call.method} ${call.path} got no answer`);
    return undefined;
  }
}

/** True for a planted fault's reply, or a truncated one. */
function isSpoilt({ status, body }: Answer): boolean {
  return status === 500 || !/[}\]]$/.test(body);
}
