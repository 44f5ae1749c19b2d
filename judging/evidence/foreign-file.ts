/**
 * Names the kind of a file without recorded traffic, or without a request to the service: a user
 * sees which file was given by mistake, and what to do about it.
 */
import type { TrafficExchange } from '#contract/exchange.ts';
import { servicePaths } from '#contract/routes.ts';
import { getOrAdd } from '#io/grouped.ts';
import { counted } from '#io/terminal.ts';
import { valueIn } from './reading.ts';

/** The first bytes of files that are not text, in hexadecimal. */
const magics: readonly (readonly [RegExp, string])[] = [
  [/^504b0(?:304|506|708)/, 'a zip archive'],
  [
    /^(?:d4c3b2a1|a1b2c3d4|4d3cb2a1|a1b23c4d)/,
    'a packet capture (pcap); a HAR file has whole exchanges',
  ],
  [/^0a0d0d0a/, 'a packet capture (pcapng); a HAR file has whole exchanges'],
  // As bytes, or decoded as UTF-8. Where gzip is read, it is unpacked before this.
  [/^1f(?:8b|fd)08/, 'compressed with gzip: unpack it first'],
  [/^28b52ffd/, 'compressed with zstd: unpack it first'],
  [/^425a68/, 'compressed with bzip2: unpack it first'],
  [/^fd377a585a00/, 'compressed with xz: unpack it first'],
  [/^(?:fffe|feff)/, 'text in UTF-16: save it as UTF-8'],
  [/^25504446/, 'a PDF file'],
  [/^53514c697465/, 'an SQLite database'],
];

/** Undefined for bytes that may be text. */
export function foreignKindOfBytes(bytes: Buffer): string | undefined {
  const hex = bytes.toString('hex');
  const [, kind] = magics.find(([magic]) => magic.test(hex)) ?? [];
  // The name of the first file of an archive comes after 30 bytes.
  if (kind === 'a zip archive') return zipKindOf(bytes.toString('latin1', 30, 120));
  return kind ?? (bytes.includes(0) ? 'binary data' : undefined);
}

function zipKindOf(names: string): string {
  if (/^(?:\d+-)?(?:trace|test)\.(?:trace|network|stacks)|^resources\//.test(names))
    return 'a trace of Playwright; record a HAR file with recordHar';
  const [name = ''] = /^[\w./ -]*/.exec(names) ?? [];
  return `a zip archive${name === '' ? '' : ` (${name.slice(0, 40)}, …)`}: unpack it first`;
}

/** How the texts of other tools begin. The first that fits counts. */
const texts: readonly (readonly [RegExp, string])[] = [
  [/^\s*$/, 'empty'],
  [
    /^\d+:\d+:[\w.]+[;:]/,
    'a flow file of mitmproxy; export a HAR file: mitmdump -nr FILE --set hardump=OUT.har',
  ],
  [/^smstwin checkpoint\n/, 'a checkpoint of smstwin; name the journal beside it'],
  [/^\s*<!doctype html|^\s*<html/i, 'an HTML page'],
  [/^\s*<(?:\?xml|[a-z])/i, 'an XML file'],
  [
    /"_postman_id"|schema\.getpostman\.com/,
    'a Postman collection, which has no replies with times',
  ],
  [/^\s*(?:\{[\s\S]*)?"?(?:openapi|swagger)"?\s*:/, 'an OpenAPI document'],
  [
    /^\s*\{[\s\S]*"mappings"\s*:|^\s*\{\s*"request"\s*:[\s\S]*"response"\s*:/,
    'a mapping of WireMock',
  ],
  [
    /^\s*\{[^\n]*"type"\s*:\s*"(?:context-options|before|resource-snapshot)"/,
    'a trace of Playwright',
  ],
  [/^\s*\{[^\n]*"type"\s*:\s*"(?:Metric|Point)"/, 'the results of k6'],
  [/^\s*\{\s*"at"\s*:\s*"\d/, 'a journal without its first line'],
  [/^\s*\{[^\n]*"intent"\s*:/, 'an intents file; give it by --intents'],
  [
    /^\s*\{[^\n]*"(?:time_local|remote_addr|http_user_agent|request_uri|status|msg|level)"\s*:/,
    'an access log',
  ],
  [
    /^\s*\[\s*\{[\s\S]*"(?:sequenceNumber|durations)"\s*:/,
    'a session of Charles; export it as a HAR file',
  ],
  [/^\S+ \S+ \S+ \[\d+\/\w+\/\d{4}:/m, 'an access log, which has no bodies'],
  [/^(?:GET|POST|PUT|HEAD) \S+ HTTP\/1|^HTTP\/[12]|^[*<>] /, 'a transcript of HTTP'],
  [
    /^(?:[^\n,]*,){2}.*\n(?:[^\n,]*,){2}|^(?:[^\n;\t]*[;\t]){2}.*\n(?:[^\n;\t]*[;\t]){2}/,
    'a CSV file',
  ],
];

/** What a text is: completes the words "it is". `opening`: its first characters. */
export function foreignKindOf(opening: string): string {
  const known = texts.find(([form]) => form.test(opening));
  if (known !== undefined) return known[1];
  const [line = ''] = opening.trimStart().split('\n', 1);
  const value = valueIn(line) ?? valueIn(opening);
  if (Array.isArray(value) || line.startsWith('[')) return 'a JSON list';
  if (line.startsWith('{')) {
    const names = Object.keys(Object(value)).slice(0, 5).join(', ');
    return `JSON of another kind${names === '' ? '' : ` (its members are ${names})`}`;
  }
  return 'text of another kind';
}

const shownHosts = 3;
const shownPaths = 3;
const mostHosts = 1_000;

/** The hosts of a file that may have no request to the service, and some of its paths. */
export class ForeignRequests {
  readonly #hosts = new Map<string, { count: number; readonly requests: Set<string> }>();
  #ofService = 0;
  #others = 0;

  note({ host, method, path }: TrafficExchange, isOfService: boolean): void {
    if (isOfService) this.#ofService++;
    else this.#others++;
    if (this.#ofService > 0 || (this.#isFull && !this.#hosts.has(host))) return;
    const seen = getOrAdd(this.#hosts, host, () => ({ count: 0, requests: new Set<string>() }));
    seen.count++;
    if (seen.requests.size < shownPaths) seen.requests.add(`${method} ${path}`);
  }

  get #isFull(): boolean {
    return this.#hosts.size >= mostHosts;
  }

  /** A line about a file without any request to the service; undefined for other files. */
  get line(): string | undefined {
    if (this.#ofService > 0 || this.#others === 0) return undefined;
    const hosts = [...this.#hosts].sort(([, a], [, b]) => b.count - a.count);
    const shown = hosts.slice(0, shownHosts).map(([host, { count, requests }]) => {
      const where = host === '' ? '' : ` to ${host}`;
      return `${count}${where}: ${[...requests].join(', ')}`;
    });
    const least = this.#isFull ? 'at least ' : '';
    const others = hosts.length - shownHosts;
    const more = others > 0 ? `; and ${least}${counted(others, 'more host')}` : '';
    return `${counted(this.#others, 'request')}, none with a path of the service such as ${servicePaths.send} (${shown.join('; ')}${more})`;
  }
}
