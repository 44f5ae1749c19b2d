/** What an audit sends, as its flags say: the request, its callers and its paths. */
import { type AuditSettings, differencesIn } from '#audit/audit.ts';
import type { Headers } from '#audit/run.ts';
import { type Advice, quoted } from '#audit/statement.ts';
import { UsageError } from '#io/command-error.ts';
import { headerLine, joinedHeaders } from '#io/flag-values.ts';
import { ValueError } from '#io/flags.ts';
import { readGiven } from '#io/plain-file.ts';
import type { Caller, Template } from './http-requests.ts';

const otherAddress = '127.0.0.77';

/** The flags that say what is sent. */
interface RequestFlags {
  readonly request?: string | undefined;
  readonly method: string;
  readonly header: readonly (readonly [name: string, value: string])[];
  readonly body?: string | undefined;
  readonly caller: readonly (readonly [name: string, values: readonly string[]])[];
  readonly varyPath: readonly string[];
}

/** Reads the request from `--request`, or from the flags for its parts. */
export function templateOf({ request, method, header, body }: RequestFlags): Template {
  if (request !== undefined) return rawRequest(request);
  const text = body?.startsWith('@') ? readGiven(body.slice(1), '--body') : body;
  return { method, headers: joinedHeaders(header), body: text };
}

/** Reads a raw request, without the headers that the HTTP client writes itself. */
function rawRequest(file: string): Template {
  const text = readGiven(file, '--request').replaceAll('\r\n', '\n');
  const [head = '', ...rest] = text.split('\n\n');
  const [line = '', ...lines] = head.split('\n');
  const method = /^([A-Z]+) \S+ HTTP\/1\.[01]$/.exec(line)?.[1];
  if (method === undefined)
    throw new UsageError(`--request: ${file} does not begin like GET /path HTTP/1.1`);
  const framing = /^(?:host|content-length|connection|transfer-encoding):/i;
  const headers = lines.filter((each) => each !== '' && !framing.test(each)).map(headerLine);
  const body = rest.join('\n\n');
  return { method, headers: joinedHeaders(headers), body: body === '' ? undefined : body };
}

export function pathValue(text: string): string {
  if (/^[/?](?!\/)/.test(text)) return text;
  throw new ValueError('expected a path or a query, such as /other or ?x=1');
}

const flagOf = {
  callers: '--caller',
  maxWindow: '--max-window',
  paths: '--vary-path',
  refused: '--refused',
} as const;

/** Answers of the command advise its flags. */
export const flagAdvice: Advice = (option, ...values) =>
  values.length === 0
    ? flagOf[option]
    : values.map((value) => `${flagOf[option]} ${quoted(value)}`).join(' ');

export function methodValue(text: string): string {
  if (/^[A-Za-z]{1,20}$/.test(text)) return text.toUpperCase();
  throw new ValueError('expected a method, such as POST');
}

export function callerLine(text: string): readonly [name: string, values: readonly string[]] {
  const [name, value] = headerLine(text.replace(/^([\w-]+)=/, '$1: '));
  const values = value.split(',').map((each) => each.trim());
  if (new Set(values).size < Math.max(2, values.length))
    throw new ValueError("expected at least two values, each once: 'Name: a, b'");
  return [name.toLowerCase(), values];
}

/** The first caller, one for each further value of a header, and one at another address. */
export function callersOf({ hostname }: URL, { caller }: RequestFlags): readonly Caller[] {
  const firstHeaders: Headers = Object.fromEntries(
    caller.map(([name, values]) => [name, values[0] ?? '']),
  );
  const byHeader = caller.flatMap(([name, values]) =>
    values.slice(1).map((value) => ({
      name: `${name}: ${value}`,
      headers: { ...firstHeaders, [name]: value },
      differsBy: `header:${name}`,
    })),
  );
  const first = { name: 'first', headers: firstHeaders, differsBy: '' };
  const isIpv4Loopback = hostname === 'localhost' || hostname.startsWith('127.');
  const fromOtherAddress = {
    name: otherAddress,
    headers: firstHeaders,
    localAddress: otherAddress,
    differsBy: 'address',
  };
  return [first, ...byHeader, ...(isIpv4Loopback ? [fromOtherAddress] : [])];
}

function pathOn(other: string, url: URL): string {
  const target = new URL(other, url);
  return `${target.pathname}${target.search}`;
}

/** The callers and paths that are asked, and what may distinguish them. */
export function askersOf(
  url: URL,
  callers: readonly Caller[],
  template: Template,
  flags: RequestFlags,
): Pick<AuditSettings, 'callers' | 'paths' | 'others' | 'differencesOf' | 'differences'> {
  const path = `${url.pathname}${url.search}`;
  const [first = '', ...others] = callers.map(({ name }) => name);
  const differsBy = (caller: string) =>
    callers.find(({ name }) => name === caller)?.differsBy ?? 'address';
  const paths = flags.varyPath.map((other) => pathOn(other, url));
  const same = flags.varyPath.find((_, i) => paths[i] === path);
  if (same !== undefined)
    throw new UsageError(`--vary-path ${same}: it is the path of the URL. Name another one`);
  const isQueryAlone = (other: string) => String(differencesIn(other, path)) === 'query';
  // Most services ignore a query that they do not know, so one is tried without being named.
  if (!paths.some(isQueryAlone)) paths.push(`${path}${url.search === '' ? '?' : '&'}smstwin=1`);
  return {
    callers: [first],
    paths: [path],
    others: [
      ...others.map((caller) => ({ caller, path })),
      ...paths.map((other) => ({ caller: first, path: other })),
    ],
    differencesOf: (other) =>
      other.path === path ? [differsBy(other.caller)] : differencesIn(other.path, path),
    differences: ['address', 'path', 'query', ...headersOf(template, flags)],
  };
}

/**
 * The headers that may distinguish callers: those of `--caller` and of every request; any if there
 * are none. Headers that describe a body or a program are left out.
 */
function headersOf({ headers }: Template, { caller }: RequestFlags): readonly string[] {
  const sent = Object.keys(headers).filter(
    (name) => !/^(?:accept|content)(?:-|$)|^user-agent$/.test(name),
  );
  const names = [...caller.map(([name]) => name), ...sent];
  return names.length === 0 ? ['header'] : names.map((name) => `header:${name}`);
}
