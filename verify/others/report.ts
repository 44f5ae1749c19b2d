/**
 * The comparison as JSON and as a Markdown table, which the README shows.
 */
import { cpuOf, type Round, throughputOf } from '../../bench/measure.ts';
import { median } from '../../bench/median.ts';
import { invalidity } from '../../bench/validity.ts';
import type { Entrant, Findings } from './compare.ts';

export interface KindFigures {
  readonly requests_per_second: number | null;
  readonly cpu_us_per_request: number | null;
  /** CPU per request, all rounds. */
  readonly rounds: readonly number[];
}

export interface ServerResult {
  readonly name: string;
  readonly version: string;
  readonly what: string;
  /** Why its load figures are missing. */
  readonly invalid: readonly string[];
  readonly start_ms: number | null;
  readonly starts_ms: readonly number[];
  readonly idle_rss_bytes: number | null;
  readonly loaded_rss_bytes: number | null;
  readonly send: KindFigures;
  readonly read: KindFigures;
  /** Sends answered 202: the number of messages that a stateful server holds at the end. */
  readonly sends: number;
  readonly node_modules_bytes: number | null;
}

export interface OthersResult {
  readonly node: string;
  readonly cpus: string;
  readonly load_average: number;
  readonly started_at: string;
  readonly connections: number;
  readonly servers: readonly ServerResult[];
}

export function serverResult({ contender, installed }: Entrant, findings: Findings): ServerResult {
  const { send, read } = findings.rounds;
  const loads = [...send, ...read].map(({ load }) => load);
  const invalid = contender.isLoaded ? invalidity(loads, false) : [];
  const isGiven = invalid.length === 0;
  return {
    name: contender.name,
    version: installed.version,
    what: contender.what,
    invalid,
    start_ms: known(median(findings.startsMs)),
    starts_ms: findings.startsMs,
    idle_rss_bytes: known(findings.idleRssBytes),
    loaded_rss_bytes: isGiven ? known(findings.loadedRssBytes) : null,
    send: kindFigures(send, isGiven),
    read: kindFigures(read, isGiven),
    sends: findings.sends,
    node_modules_bytes: installed.nodeModulesBytes ?? null,
  };
}

function kindFigures(rounds: readonly Round[], isGiven: boolean): KindFigures {
  return {
    requests_per_second: isGiven ? known(throughputOf(rounds)) : null,
    cpu_us_per_request: isGiven ? known(cpuOf(rounds)) : null,
    rounds: rounds.map(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest),
  };
}

const head = [
  ...['', 'start ms', 'RSS MB idle', 'loaded', 'POST/s', 'CPU µs', 'GET/s', 'CPU µs'],
  ...['node_modules MB', 'what it is'],
];
const lastNumber = head.length - 2;

export function othersText({ servers, node, cpus, load_average: average }: OthersResult): string {
  const rows = servers.map((server) => [
    `${server.name} ${server.version}`,
    shown(server.start_ms),
    megabytes(server.idle_rss_bytes),
    megabytes(server.loaded_rss_bytes),
    shown(server.send.requests_per_second, 100),
    shown(server.send.cpu_us_per_request),
    shown(server.read.requests_per_second, 100),
    shown(server.read.cpu_us_per_request),
    megabytes(server.node_modules_bytes),
    server.what,
  ]);
  const lines = [`\nNode ${node}, ${cpus}, load average ${average.toFixed(1)} at the start\n\n`];
  lines.push(...markdownTable([head, ...rows]));
  const keepers = servers.filter(({ name, sends }) => name.startsWith('smstwin') && sends > 1);
  for (const { name, sends } of keepers) {
    lines.push(`\n${name} held ${sends} messages when its memory under load was read\n`);
  }
  for (const { name, invalid } of servers) {
    for (const why of invalid) lines.push(`\nINVALID: ${name}: ${why}\n`);
  }
  return lines.join('');
}

/** The first row is the header; columns between the first and the last hold numbers. */
export function markdownTable(rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const isNumber = (column: number): boolean => column > 0 && column <= lastNumber;
  const lineOf = (row: readonly string[]): string => {
    const cells = widths.map((width, column) => {
      const cell = row[column] ?? '';
      return isNumber(column) ? cell.padStart(width) : cell.padEnd(width);
    });
    return `| ${cells.join(' | ')} |\n`;
  };
  const rule = widths.map(
    (width, column) => `${'-'.repeat(width - 1)}${isNumber(column) ? ':' : '-'}`,
  );
  const [first = [], ...others] = rows;
  return [lineOf(first), lineOf(rule), ...others.map(lineOf)];
}

function megabytes(bytes: number | null): string {
  return shown(bytes === null ? null : bytes / 1e6);
}

/** Whole numbers; above a thousand they are rounded to `step`. */
function shown(value: number | null, step = 1): string {
  if (value === null) return '–';
  const rounded = value > 1_000 ? Math.round(value / step) * step : Math.round(value);
  return rounded.toLocaleString('en-US');
}

function known(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
