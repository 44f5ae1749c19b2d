/**
 * `npm run bench:others`: compares the simulator with common mock servers, with the same routes and
 * bodies. Linux only: CPU and memory of the servers are read from `/proc`.
 * Exit codes: 2 for a wrong flag, 8 if a server failed under load, so that its figures are missing.
 */
import { writeFileSync } from 'node:fs';
import { constants, cpus, loadavg } from 'node:os';
import { type CommandIo, newCommand, readFlags } from '../../src/cli/flags.ts';
import { CommandError, UsageError } from '../../src/config/command-error.ts';
import { smstwinVersion } from '../../src/config/version.ts';
import { endAllChildren } from './children.ts';
import { Comparison, connections, type Entrant } from './compare.ts';
import { type Contender, contenders } from './contenders.ts';
import { type Installed, install } from './install.ts';
import { addOthersFlags, type OthersOptions, othersOptions } from './options.ts';
import { type OthersResult, othersText, serverResult } from './report.ts';
import { type SimulatorReplies, simulatorReplies } from './simulator-replies.ts';

const notValid = 8;

async function others(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand('bench:others', 'Compare with other mock servers.', io);
  addOthersFlags(command);
  if (readFlags(command, argv, io.env) === 'answered') return 0;
  const options = othersOptions(command);
  if (process.platform !== 'linux')
    throw new UsageError('this comparison runs only on Linux: it reads CPU and memory from /proc');
  const onProgress = (line: string): void => io.error(`${line}\n`);
  const environment = {
    node: process.version,
    cpus: `${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    load_average: loadavg()[0] ?? Number.NaN,
    started_at: new Date().toISOString(),
    connections,
  };
  const replies = await simulatorReplies();
  const entrants = await installAll(options, replies, onProgress);
  const comparison = new Comparison(entrants, replies, onProgress);
  await comparison.run(options.rounds);
  const servers = entrants.flatMap((entrant) => {
    const findings = comparison.findings.get(entrant.contender);
    return findings === undefined ? [] : [serverResult(entrant, findings)];
  });
  const result: OthersResult = { ...environment, servers };
  io.out(othersText(result));
  if (options.report !== undefined) {
    writeFileSync(options.report, `${JSON.stringify(result, null, 2)}\n`);
  }
  return servers.some(({ invalid }) => invalid.length > 0) ? notValid : 0;
}

async function installAll(
  { servers, folder }: OthersOptions,
  replies: SimulatorReplies,
  onProgress: (line: string) => void,
): Promise<Entrant[]> {
  const places = new Map<Contender['from'], Installed>();
  const entrants: Entrant[] = [];
  for (const contender of contenders) {
    if (!servers.includes(contender.name)) continue;
    onProgress(`${contender.name}: installing`);
    const installed = places.get(contender.from) ?? (await install(contender, folder));
    places.set(contender.from, installed);
    contender.prepare(installed.folder, replies);
    entrants.push({ contender, installed });
  }
  return entrants;
}

process.once('exit', endAllChildren);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(128 + constants.signals[signal]));
}
try {
  process.exitCode = await others(process.argv.slice(2), {
    out: (text) => void process.stdout.write(text),
    error: (text) => void process.stderr.write(text),
    env: process.env,
    version: smstwinVersion(),
  });
} catch (error) {
  process.stderr.write(`bench:others: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof CommandError ? error.exitCode : 1);
}
