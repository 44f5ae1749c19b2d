/**
 * The flags of the comparison.
 */
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { oneOf, wholeNumber } from '../../src/cli/flag-values.ts';
import { addFlags, ValueError } from '../../src/cli/flags.ts';
import { contenders, projectRoot } from './contenders.ts';

export interface OthersOptions {
  readonly folder: string;
  /** Names of servers to compare. */
  readonly servers: readonly string[];
  readonly rounds: number;
  /** File for the result as JSON. */
  readonly report?: string;
}

const names = contenders.map(({ name }) => name);

export function addOthersFlags(command: Command): void {
  addFlags(command, [
    {
      flag: '--folder <path>',
      about: 'folder to install the servers in',
      parse: folderValue,
      fallback: join(tmpdir(), 'smstwin-others'),
    },
    {
      flag: '--server <name>',
      about: names.join('|'),
      parse: oneOf(names),
      repeatable: true,
      shown: 'all',
    },
    {
      flag: '--rounds <n>',
      about: 'rounds of one second for each kind of request',
      parse: wholeNumber(1, 999),
      fallback: 5,
    },
    { flag: '--report <json=file>', about: 'write the figures as JSON', parse: reportValue },
  ]);
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
    servers: flags.server.length === 0 ? names : [...new Set(flags.server)],
    rounds: flags.rounds,
    ...(flags.report === undefined ? {} : { report: flags.report }),
  };
}

function folderValue(text: string): string {
  // Packages installed inside the project would shadow its own.
  if (text === '' || !relative(projectRoot, resolve(text)).startsWith('..')) {
    throw new ValueError('expected a folder outside the project');
  }
  return text;
}

function reportValue(text: string): string {
  const [, path] = /^json=(.+)$/.exec(text) ?? [];
  if (path !== undefined) return path;
  throw new ValueError('expected json=FILE');
}
