/**
 * The flags of the comparison, and what they ask for.
 */
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { contenders, projectRoot } from './contenders.ts';

export interface OthersOptions {
  readonly folder: string;
  /** Names of contenders. */
  readonly servers: readonly string[];
  readonly rounds: number;
  /** Where the result goes as JSON. */
  readonly report?: string;
}

export function addOthersFlags(command: Command): void {
  const names = contenders.map(({ name }) => name);
  const add = (flags: string, description: string, parse: (text: string) => unknown): Option =>
    new Option(flags, description).argParser(parse as never);
  command
    .addOption(
      add('--folder <path>', 'where the others are installed', folderValue).default(
        join(tmpdir(), 'smstwin-others'),
      ),
    )
    .addOption(
      new Option('--server <name>', `${names.join('|')}; repeatable; all by default`)
        .argParser(serverValue)
        .default([], 'all'),
    )
    .addOption(
      add('--rounds <n>', 'of one second, for each kind of request', countValue).default(5),
    )
    .addOption(add('--report <json=file>', 'the figures as JSON', reportValue));
}

export function othersOptions(command: Command): OthersOptions {
  const flags = command.opts<{
    readonly folder: string;
    readonly server: readonly string[];
    readonly rounds: number;
    readonly report?: string;
  }>();
  return {
    folder: resolve(flags.folder),
    servers: flags.server.length === 0 ? contenders.map(({ name }) => name) : flags.server,
    rounds: flags.rounds,
    ...(flags.report === undefined ? {} : { report: flags.report }),
  };
}

function folderValue(text: string): string {
  // What is installed there must not come between the project and its own packages.
  if (text === '' || !relative(projectRoot, resolve(text)).startsWith('..')) {
    throw new InvalidArgumentError('Expected a folder outside of the project.');
  }
  return text;
}

function serverValue(text: string, earlier: readonly string[]): readonly string[] {
  const names = contenders.map(({ name }) => name);
  if (!names.includes(text)) throw new InvalidArgumentError(`Known are ${names.join(', ')}.`);
  return [...new Set([...earlier, text])];
}

function countValue(text: string): number {
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (count >= 1) return count;
  throw new InvalidArgumentError('Expected a whole number from 1 to 999.');
}

function reportValue(text: string): string {
  const [, path] = /^json=(.+)$/.exec(text) ?? [];
  if (path !== undefined) return path;
  throw new InvalidArgumentError('Expected json=FILE.');
}
