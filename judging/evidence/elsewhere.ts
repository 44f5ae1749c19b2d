/** What a file holds where it holds nothing of the service: its hosts, and some of its paths. */
import { basename } from 'node:path';
import type { TrafficExchange } from '#contract/exchange.ts';
import { servicePaths } from '#contract/routes.ts';
import { many } from '#io/table.ts';

const shownHosts = 3;
const shownPaths = 3;
const mostHosts = 1_000;

export class Elsewhere {
  readonly #hosts = new Map<string, { count: number; readonly requests: Set<string> }>();
  #ofService = 0;
  #others = 0;

  note({ host, method, path }: TrafficExchange, isOfService: boolean): void {
    if (isOfService) this.#ofService++;
    else this.#others++;
    if (this.#ofService > 0 || this.#hosts.size > mostHosts) return;
    const seen = this.#hosts.get(host) ?? { count: 0, requests: new Set() };
    this.#hosts.set(host, seen);
    seen.count++;
    if (seen.requests.size < shownPaths) seen.requests.add(`${method} ${path}`);
  }

  /** A line about a file without any request to the service; undefined for other files. */
  lineOn(file: string): string | undefined {
    if (this.#ofService > 0 || this.#others === 0) return undefined;
    const hosts = [...this.#hosts].sort(([, a], [, b]) => b.count - a.count);
    const shown = hosts.slice(0, shownHosts).map(([host, { count, requests }]) => {
      const where = host === '' ? '' : ` to ${host}`;
      return `${count}${where}: ${[...requests].join(', ')}`;
    });
    const more = hosts.length > shownHosts ? `; and ${hosts.length - shownHosts} more hosts` : '';
    return `${basename(file)}: ${many(this.#others, 'request')}, none with a path of the service such as ${servicePaths.send} (${shown.join('; ')}${more})`;
  }
}
