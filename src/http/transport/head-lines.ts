/**
 * The headers that all replies of a port have: connection handling, the simulated date, and the
 * port's own. They are built once for each second and not for each reply.
 */
import type { ServerResponse } from 'node:http';
import type { ServedPort } from './served-port.ts';
import { keepAliveSeconds } from './transport.ts';

export class HeadLines {
  readonly #now: (() => number) | undefined;
  readonly #portHeaders: readonly string[];
  /** The second, of simulated time, for which the following fields were built. */
  #second = Number.NaN;
  /** The headers if the connection stays open, and if it ends: names and values in turn. */
  #keepHeaders: readonly string[] = [];
  #endHeaders: readonly string[] = [];
  /** These two lists as lines of a head. */
  #keepText = '';
  #endText = '';

  constructor({ now, headers }: Pick<ServedPort, 'now' | 'headers'>) {
    this.#now = now;
    this.#portHeaders = Object.entries(headers).flat();
  }

  /** Names and values in turn, for `writeHead`. `ends`: also makes Node close the connection. */
  list(response: ServerResponse, ends: boolean): readonly string[] {
    this.#update();
    if (ends) response.shouldKeepAlive = false;
    return response.shouldKeepAlive ? this.#keepHeaders : this.#endHeaders;
  }

  /** The lines of a head. `ends`: the connection is to end. */
  text(ends: boolean): string {
    this.#update();
    return ends ? this.#endText : this.#keepText;
  }

  #update(): void {
    const second = this.#now === undefined ? 0 : Math.floor(this.#now() / 1_000);
    if (second === this.#second) return;
    this.#second = second;
    // Without a simulated clock, Node adds the real date.
    const date = this.#now === undefined ? [] : ['date', new Date(second * 1_000).toUTCString()];
    // Otherwise Node adds its own `Keep-Alive`, with the whole timeout and no margin.
    const keep = ['connection', 'keep-alive', 'keep-alive', `timeout=${keepAliveSeconds}`];
    this.#keepHeaders = [...this.#portHeaders, ...keep, ...date];
    this.#endHeaders = [...this.#portHeaders, 'connection', 'close', ...date];
    this.#keepText = linesOf(this.#keepHeaders);
    this.#endText = linesOf(this.#endHeaders);
  }
}

/** Lines of a head. `headers`: names and values in turn. */
export function linesOf(headers: readonly string[]): string {
  return headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
}
