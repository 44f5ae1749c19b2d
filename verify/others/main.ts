/**
 * `npm run bench:others -- --folder /tmp/others --server NAME --rounds 5`: compares the simulator
 * with common mock servers, with the same routes and bodies, and prints the table of
 * `bench/README.md`. Linux only. Each server starts five times by itself. Then all but
 * `smstwin-sources` run at once and are loaded in turn: after a warm-up of 3 s each, in rounds of a
 * second whose order alternates.
 * Exit codes: 2 for a wrong flag, 8 if a server failed under load, so that its figures are missing.
 */
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from '../../bench/median.ts';
import { FlagError, readFlags, runProgram, textOr, whole } from '../testkit/program-flags.ts';
import { ContenderProcess, type Round } from './contender-process.ts';
import {
  type Contender,
  contenders,
  type Installed,
  install,
  projectRoot,
  simulatorReplies,
} from './contenders.ts';

const notValid = 8;
const starts = 5;
const kinds = ['send', 'read'] as const;

/** The measurements of one server. */
export interface Findings {
  readonly contender: Contender;
  readonly installed: Installed;
  readonly startsMs: number[];
  idleRssBytes: number;
  loadedRssBytes: number;
  readonly rounds: Readonly<Record<(typeof kinds)[number], Round[]>>;
}

export async function compare(
  chosen: readonly Contender[],
  folder: string,
  rounds: number,
): Promise<Findings[]> {
  const replies = await simulatorReplies();
  const found = chosen.map((contender): Findings => {
    process.stderr.write(`${contender.name}: installing\n`);
    const installed = install(contender, folder);
    contender.prepare(installed.folder, replies);
    const rss = { idleRssBytes: Number.NaN, loadedRssBytes: Number.NaN };
    return { contender, installed, startsMs: [], ...rss, rounds: { send: [], read: [] } };
  });
  const servers = new Map<Findings, ContenderProcess>();
  const start = ({ contender, installed }: Findings) =>
    ContenderProcess.start(contender, installed.folder, replies);
  try {
    for (let n = 0; n < starts; n++) {
      for (const one of found) {
        const server = await start(one);
        one.startsMs.push(server.startedMs);
        await server.stop();
      }
    }
    for (const one of found) {
      if (one.contender.from === 'sources') continue;
      const server = await start(one);
      servers.set(one, server);
      if (one.contender.preload > 0) await server.load('send', 1, one.contender.preload);
      one.idleRssBytes = server.usage().rssBytes;
    }
    for (let round = 0; round <= rounds; round++) {
      const order = round % 2 === 0 ? [...servers] : [...servers].reverse();
      for (const [one, server] of order) {
        process.stderr.write(`${server.name}: round ${round} of ${rounds}\n`);
        for (const kind of kinds) {
          // The first round is the warm-up.
          const measured = await server.load(kind, round === 0 ? 3 : 1);
          if (round > 0) one.rounds[kind].push(measured);
        }
      }
    }
    for (const [one, server] of servers) one.loadedRssBytes = server.usage().rssBytes;
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()));
  }
  return found;
}

const head = [
  ...['', 'start ms', 'RSS MB idle', 'loaded', 'POST/s', 'CPU µs', 'GET/s', 'CPU µs'],
  ...['node_modules MB', 'what it is'],
];

/** The Markdown table; a server that failed under load has no load figures. */
export function tableOf(found: readonly Findings[]): string {
  const rows = found.map(({ contender, installed, startsMs, rounds, ...rss }) => {
    const isValid = failuresOf(rounds) === 0;
    const figures = kinds.flatMap((kind) => [
      shown(isValid, median(rounds[kind].map(({ perSecond }) => perSecond)), 100),
      shown(isValid, median(rounds[kind].map((round) => round.cpuMicrosPerRequest))),
    ]);
    return [
      `${contender.name} ${installed.version}`,
      shown(true, median(startsMs)),
      shown(true, rss.idleRssBytes / 1e6),
      shown(isValid, rss.loadedRssBytes / 1e6),
      ...figures,
      shown(true, (installed.nodeModulesBytes ?? Number.NaN) / 1e6),
      contender.what,
    ];
  });
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const isNumber = (column: number): boolean => column > 0 && column < head.length - 1;
  const lineOf = (row: readonly string[]): string => {
    const cells = widths.map((width, column) => {
      const cell = row[column] ?? '';
      return isNumber(column) ? cell.padStart(width) : cell.padEnd(width);
    });
    return `| ${cells.join(' | ')} |\n`;
  };
  const rule = widths.map((width, at) => `${'-'.repeat(width - 1)}${isNumber(at) ? ':' : '-'}`);
  return [lineOf(head), lineOf(rule), ...rows.map(lineOf)].join('');
}

export function failuresOf(rounds: Findings['rounds']): number {
  return kinds.flatMap((kind) => rounds[kind]).reduce((sum, { failed }) => sum + failed, 0);
}

/** Whole numbers; above a thousand they are rounded to `step`. */
function shown(isGiven: boolean, value: number, step = 1): string {
  if (!isGiven || !Number.isFinite(value)) return '–';
  const rounded = value > 1_000 ? Math.round(value / step) * step : Math.round(value);
  return rounded.toLocaleString('en-US');
}

async function main(argv: string[]): Promise<number> {
  const { folder, server, rounds } = readFlags(argv, {
    folder: textOr(join(tmpdir(), 'smstwin-others')),
    server: textOr(''),
    rounds: whole(1, 999, 5),
  });
  // Packages installed inside the project would shadow its own.
  if (!relative(projectRoot, resolve(folder)).startsWith('..')) {
    throw new FlagError(`--folder ${folder}: expected a folder outside the project`);
  }
  const chosen = contenders.filter(({ name }) => server === '' || server.split(',').includes(name));
  if (chosen.length === 0) throw new FlagError(`--server ${server}: expected names of servers`);
  const found = await compare(chosen, resolve(folder), rounds);
  process.stdout.write(tableOf(found));
  const failed = found.filter((one) => failuresOf(one.rounds) > 0);
  for (const { contender, rounds: all } of failed) {
    process.stdout.write(`INVALID: ${contender.name}: ${failuresOf(all)} requests failed\n`);
  }
  return failed.length === 0 ? 0 : notValid;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runProgram('bench:others', main);
