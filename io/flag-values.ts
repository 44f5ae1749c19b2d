/**
 * Readers of flag values that several commands share: each reads one text, or throws a ValueError
 * that says what it expected.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { ValueError } from './flags.ts';
import { type OwnKind, obstacleTo } from './own-file.ts';

/** Returns a reader of whole numbers from `least` to `most`, both included. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : -1;
    if (value >= least && value <= most) return value;
    throw new ValueError(`expected a whole number from ${least} to ${most}`);
  };
}

/** Returns a reader of one of several words, which the help lists. */
export function oneOf<const W extends string>(words: readonly W[]) {
  const read = (text: string): W => {
    const word = words.find((each) => each === text);
    if (word !== undefined) return word;
    const others = words.slice(0, -1).join(', ');
    throw new ValueError(`expected ${others === '' ? '' : `${others} or `}${words.at(-1)}`);
  };
  return Object.assign(read, { words });
}

/** Returns a reader of one or more of these words, with commas between. */
export function someOf<const W extends string>(words: readonly W[]): (text: string) => W[] {
  return (text) => {
    const given = text.split(',').map((word) => word.trim());
    const chosen = words.filter((word) => given.includes(word));
    if (chosen.length === new Set(given).size) return chosen;
    throw new ValueError(`expected one or more of ${words.join(', ')}, with commas between`);
  };
}

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of `500ms`, `1.5s` or `24h`, perhaps a fraction; NaN for any other text. */
export function readDuration(text: string): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  return Number(amount) * (unitMs[unit] ?? Number.NaN);
}

/** Returns a reader of durations, in milliseconds. Bounds such as `1ms` are included. */
export function duration(least: string, most: string): (text: string) => number {
  return (text) => {
    const ms = Math.round(readDuration(text));
    if (ms >= readDuration(least) && ms <= readDuration(most)) return ms;
    throw new ValueError(`expected a duration from ${least} to ${most}, such as 10s`);
  };
}

/** Refuses an empty name, which usually comes from an unset shell variable. */
export function fileValue(text: string): string {
  if (text !== '') return text;
  throw new ValueError('expected the name of a file');
}

/** A file for the results of a run. Checked before the run, so that no result is lost. */
export function writableFile(kind: OwnKind): (text: string) => string {
  return (text) => checkWritable(fileValue(text), '', kind);
}

/** `prefix`: begins the message of the error. */
export function checkWritable(file: string, prefix: string, kind: OwnKind): string {
  const obstacle = obstacleTo(file, kind);
  if (obstacle === undefined) return file;
  throw new ValueError(`${prefix}${obstacle}`);
}

/** A key or token. If no header can carry it, it was probably pasted with a line break. */
export function headerValue(text: string): string {
  if (/^[ -~\u00a0-\u00ff]*$/.test(text)) return text;
  throw new ValueError('holds a character that no header can carry, such as a line break');
}

/** Headers that smstwin writes itself. */
const framing =
  /^(?:authorization|connection|content-.*|expect|host|te|trailer|transfer-encoding|upgrade)$/i;

/** A header as people write it: `Name: value`. */
export function headerLine(text: string): readonly [name: string, value: string] {
  const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
  if (name === '') throw new ValueError("expected 'Name: value'");
  return [name, headerValue(value)];
}

/** Headers by their name in lower case. Lines of one name become one line (RFC 9110, 5.3). */
export function joinedHeaders(
  pairs: readonly (readonly [name: string, value: string])[],
): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  for (const [given, value] of pairs) {
    const name = given.toLowerCase();
    const earlier = headers.get(name);
    const separator = name === 'cookie' ? '; ' : ', ';
    headers.set(name, earlier === undefined ? value : `${earlier}${separator}${value}`);
  }
  return Object.fromEntries(headers);
}

/** Like `headerLine`, but refuses a header that smstwin writes itself. */
export function headerPair(text: string): readonly [name: string, value: string] {
  const [name, value] = headerLine(text);
  if (framing.test(name)) throw new ValueError(`${name} is written by smstwin itself`);
  return [name, value];
}

export function phoneNumber(text: string): string {
  if (/^\+[1-9]\d{1,14}$/.test(text)) return text;
  throw new ValueError('expected a number in E.164, such as +12025550101');
}

/** A URL to which paths are appended; returned without a slash at its end. */
export function baseUrlValue(text: string): string {
  if (isWebAddress(text) && !/[?#@]/.test(text)) return new URL(text).href.replace(/\/+$/, '');
  throw new ValueError('expected a URL such as http://smstwin:8080, without a user or a query');
}

/** The URL of an endpoint. No request would carry the user that it names. */
export function webAddress(text: string): string {
  if (!isWebAddress(text))
    throw new ValueError('expected a URL that starts with http:// or https://');
  if (new URL(text).username === '' && new URL(text).password === '') return text;
  throw new ValueError("holds a user: give it as --header 'Authorization: Basic …'");
}

export function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}

/** True if only this machine can reach the host. Permits each spelling of `::1`, and brackets. */
export function isLoopback(host: string): boolean {
  const name = plainHost(host);
  if (isIPv6(name)) return /^(?:0*:)*:?0*1$/.test(name);
  return name === 'localhost' || (isIPv4(name) && name.startsWith('127.'));
}

/** A host as a socket takes it: without the brackets that an IPv6 address has in a URL. */
export function plainHost(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

/** Host and port as a URL has them: with brackets around an IPv6 address. */
export function authorityOf(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

export const reportKinds = ['junit', 'json', 'html', 'markdown', 'github'] as const;
export type ReportKind = (typeof reportKinds)[number];

/** How the reports of every version begin, by kind; those of one command by kind and command. */
const reportOpenings: Readonly<Record<string, RegExp>> = {
  junit:
    /<\?xml .*\n<testsuites>\n(?:<\/testsuites>\n$| *<testsuite .* package="(?:conf|ref|expl)\w+" id="0")/,
  html: /<!doctype html>\n<html lang="en">[\s\S]{0,250}<title>(?:Conf|Ref|Expl|Audit|Bench|smstwin bench)\w* of /,
  markdown: /# (?:Conformance|Referee|Exploration)\n\nTarget: .* exit code \d+\n/,
  auditMarkdown: /# Audit of a rate limiter\n/,
  auditJson: /\{\s*"url": .*\s*"requests": \d+,\s*"seconds": /,
  github: /::\w+ title=(?:[a-z_ ]+%3A [A-Za-z]|stale expectation::|(?:Conf|Ref|Expl)\w+::)/,
  conformJson: /\{\s*"format": "smstwin-/,
  refereeJson: /\{\s*(?:"notice": .*\s*)?"rules": \[\s*\{\s*"id": "CLIENT-/,
  exploreJson: /\{\s*"command": .*\s*"started_at": .*\s*"duration_ms": /,
  benchJson: /\{\s*"node": "v.*\s*"started_at": .*\s*"open_loop_rate": /,
};

/** A report of any kind and command: one may replace another. */
export const ownReport: OwnKind = {
  name: 'report',
  isOwn: (start) => Object.values(reportOpenings).some((opening) => start.search(opening) === 0),
};

export interface Report<Kind extends ReportKind = ReportKind> {
  readonly kind: Kind;
  /** Undefined: standard output; only `github` may omit it. */
  readonly file?: string;
}

/** The name before the first `=` of a flag's value, and what follows it; empty if nothing does. */
export function nameAndValue(text: string): readonly [name: string, value: string] {
  const [name = '', ...pieces] = text.split('=');
  return [name, pieces.join('=')];
}

/** Returns a reader of `kind=FILE`, for these kinds. `without`: words that name no file. */
export function reportOf<const Kind extends ReportKind>(
  kinds: readonly Kind[],
  without: readonly string[] = [],
) {
  return (text: string): Report<Kind> => {
    const [word, file] = nameAndValue(text);
    const kind = kinds.find((each) => each === word);
    if (kind === undefined)
      throw new ValueError(`expected one of ${[...without, ...kinds].join(', ')}`);
    if (file !== '') return { kind, file: checkWritable(file, `${file} `, ownReport) };
    if (kind === 'github') return { kind };
    throw new ValueError(`expected ${kind}=FILE`);
  };
}

export const reportValue = reportOf(reportKinds);
