/** Writes findings as JSON, with Vitest and pytest tests that replay them, and reads them. */
import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { endpointNames } from '#contract/limits.ts';
import { UsageError } from '#io/command-error.ts';
import { parsed } from '#io/mistakes.ts';
import { type OwnKind, obstacleTo, removeOwn, writeOwn } from '#io/own-file.ts';
import { parseJson, readGiven } from '#io/plain-file.ts';
import type { KnownIntents } from './points.ts';
import { scheduleSchema, scheduleText } from './schedule.ts';
import { type Finding, findingView } from './search-result.ts';

export interface ReplaySettings {
  readonly command: readonly string[];
  readonly flags: readonly string[];
  readonly intents: KnownIntents;
}

/**
 * Throws a UsageError if findings cannot be written to the folder. Creates missing folders to find
 * out, and removes them again.
 */
export function checkFolder(folder: string): void {
  let outermost: string | undefined;
  try {
    for (const missing of missingFolders(folder)) {
      mkdirSync(missing);
      outermost ??= missing;
    }
    accessSync(folder, constants.W_OK);
    for (const file of findingsIn(folder)) {
      const obstacle = obstacleTo(file, findingKind);
      if (obstacle !== undefined) throw new UsageError(`--out ${folder}: ${file} ${obstacle}`);
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new UsageError(`--out ${folder}: cannot be written (${code}); name another folder`);
  } finally {
    if (outermost !== undefined) rmSync(outermost, { recursive: true });
  }
}

/**
 * The folder and its parents, as far as they do not exist, the outermost first. They are created
 * one by one: `mkdirSync` with `recursive` never returns in a file system like /proc.
 */
function missingFolders(folder: string): readonly string[] {
  return existsSync(folder) ? [] : [...missingFolders(dirname(folder)), folder];
}

/** The names of the files that an exploration writes. */
const writtenName = /^(?:finding-[1-9][0-9]*\.(?:json|test\.ts)|test_finding_[1-9][0-9]*\.py)$/;

/** How these files begin: with the comment of a test, or with the first keys of the JSON. */
const findingStart =
  /^(?:\/\/ |""")Replays a finding of smstwin explore|^\{\s*"schedule": \[[\s\S]*?\],\s*"shrunk": /;
const findingKind: OwnKind = { name: 'finding', isOwn: (start) => findingStart.test(start) };

/**
 * Replaces the findings of an earlier exploration in the folder, which it creates if there are
 * findings. Other files stay. Returns the paths of the JSON files. If a file cannot be written,
 * stops there and calls `onProblem` with a line that says so.
 */
export function writeFindings(
  folder: string,
  findings: readonly Finding[],
  replay: ReplaySettings,
  onProblem: (line: string) => void,
): readonly string[] {
  const files: string[] = [];
  // Relative, so that the folder can be moved with its project.
  const cwd = relative(folder, '') || '.';
  const write = (file: string, text: string) => writeOwn({ path: file, kind: findingKind }, text);
  try {
    for (const file of findingsIn(folder)) removeOwn(file, findingKind);
    if (findings.length > 0) for (const missing of missingFolders(folder)) mkdirSync(missing);
    for (const [index, finding] of findings.entries()) {
      const number = index + 1;
      const name = `finding-${number}`;
      const file = join(folder, `${name}.json`);
      const title = scheduleText(finding.schedule);
      const json = { ...findingView(finding), ...replay, cwd };
      write(file, `${JSON.stringify(json, null, 2)}\n`);
      files.push(file);
      write(join(folder, `${name}.test.ts`), vitestOf(basename(file), title));
      write(join(folder, `test_finding_${number}.py`), pytestOf(basename(file), number, title));
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === undefined ? message : `cannot be written (${code}); name another folder`;
    onProblem(`--out ${folder}: ${why}`);
  }
  return files;
}

function findingsIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) =>
    writtenName.test(name) ? [join(folder, name)] : [],
  );
}

/**
 * The Vitest test of a finding, and the pytest test below: a replay must not fail. `SMSTWIN` may
 * name another program than `npx smstwin`. If the explored command itself runs such a test, the
 * test does nothing: otherwise its replay would run that command again, and so on without end.
 */
function vitestOf(file: string, title: string): string {
  return `// Replays a finding of smstwin explore: fails until the client is mended.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const file = fileURLToPath(new URL('./${file}', import.meta.url));
const { command, flags, cwd } = JSON.parse(readFileSync(file, 'utf8'));
const [program = '', ...argv] = (process.env['SMSTWIN'] ?? 'npx smstwin').split(' ');

test.skipIf('SMSTWIN_EXPLORE' in process.env)('the client is sound under ${title}', { timeout: 300_000 }, () => {
  const explore = ['explore', '--schedule', file, ...flags, '--', ...command];
  const options = { cwd: resolve(dirname(file), cwd), encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(program, [...argv, ...explore], options);
  expect(status, stdout + stderr).toBe(0);
});
`;
}

function pytestOf(file: string, number: number, title: string): string {
  return `"""Replays a finding of smstwin explore: fails until the client is mended."""
import json
import os
import pathlib
import subprocess

FILE = pathlib.Path(__file__).resolve().with_name("${file}")
PROGRAM = os.environ.get("SMSTWIN", "npx smstwin").split()


def test_the_client_is_sound_under_finding_${number}():
    """${title}"""
    if "SMSTWIN_EXPLORE" in os.environ:
        return
    finding = json.loads(FILE.read_text())
    explore = ["explore", "--schedule", str(FILE), *finding["flags"], "--", *finding["command"]]
    cwd = FILE.parent / finding["cwd"]
    run = subprocess.run([*PROGRAM, *explore], cwd=cwd, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
`;
}

const findingSchema = z.object(
  {
    schedule: scheduleSchema,
    intents: z.partialRecord(z.enum(endpointNames), z.array(z.string())).optional(),
  },
  { error: 'expected a schedule, which is a list of faults, or a finding' },
);

/** Reads a schedule, or that of a finding. Throws a UsageError that lists every mistake. */
export function readSchedule(file: string) {
  const place = `--schedule ${file}`;
  const value = parseJson(place, readGiven(file, '--schedule'));
  if (Array.isArray(value)) return { schedule: parsed(scheduleSchema, value, place), intents: {} };
  const { schedule, intents = {} } = parsed(findingSchema, value, place);
  return { schedule, intents: intents as KnownIntents };
}
