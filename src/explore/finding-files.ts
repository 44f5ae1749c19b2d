/**
 * What is written of each finding: `finding-N.json`, and tests for Vitest and pytest that replay it.
 */
import { accessSync, constants, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { CommandError } from '../config/command-error.ts';
import { type EndpointName, endpointNames } from '../sim/limits.ts';
import { findingView } from './finding-view.ts';
import type { KnownIntents } from './points.ts';
import { type Schedule, scheduleSchema, scheduleText } from './schedule.ts';
import type { Finding } from './search-result.ts';

/** How the command is run again. */
export interface Again {
  readonly command: readonly string[];
  readonly flags: readonly string[];
  readonly intents: KnownIntents;
}

/** Throws a CommandError if findings could not be written to the folder, which it makes. */
export function checkFolder(folder: string): void {
  try {
    const made = mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    if (made !== undefined) rmSync(made, { recursive: true });
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new CommandError(2, `--out ${folder}: cannot be written (${code})`);
  }
}

/** Writes all findings to a folder, which it makes, and returns the names of the JSON files. */
export function writeFindings(
  folder: string,
  findings: readonly Finding[],
  again: Again,
): readonly string[] {
  mkdirSync(folder, { recursive: true });
  return findings.map((finding, at) => {
    const name = `finding-${at + 1}`;
    const file = join(folder, `${name}.json`);
    const title = scheduleText(finding.schedule);
    writeFileSync(file, `${JSON.stringify({ ...findingView(finding), ...again }, null, 2)}\n`);
    writeFileSync(join(folder, `${name}.test.ts`), vitestOf(basename(file), title));
    writeFileSync(
      join(folder, `test_finding_${at + 1}.py`),
      pytestOf(basename(file), at + 1, title),
    );
    return file;
  });
}

/** In each, `SMSTWIN` may name another program than `npx smstwin`. */
function vitestOf(file: string, title: string): string {
  return `// Replays a finding of smstwin explore: fails until the client is mended.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const file = fileURLToPath(new URL('./${file}', import.meta.url));
const { command, flags } = JSON.parse(readFileSync(file, 'utf8'));
const [program, ...argv] = (process.env['SMSTWIN'] ?? 'npx smstwin').split(' ');

test('the client is sound under ${title}', { timeout: 300_000 }, () => {
  const explore = ['explore', '--schedule', file, ...flags, '--', ...command];
  const { status, stdout, stderr } = spawnSync(program, [...argv, ...explore], { encoding: 'utf8' });
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

FILE = pathlib.Path(__file__).with_name("${file}")
PROGRAM = os.environ.get("SMSTWIN", "npx smstwin").split()


def test_the_client_is_sound_under_finding_${number}():
    """${title}"""
    finding = json.loads(FILE.read_text())
    explore = ["explore", "--schedule", str(FILE), *finding["flags"], "--", *finding["command"]]
    run = subprocess.run([*PROGRAM, *explore], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
`;
}

const findingSchema = z.object({
  schedule: scheduleSchema,
  intents: z.partialRecord(z.enum(endpointNames), z.array(z.string())).optional(),
});

/** A schedule, or a finding: throws a CommandError that names what is wrong with it. */
export function readSchedule(file: string): {
  readonly schedule: Schedule;
  readonly intents: KnownIntents;
} {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code = 'it is not JSON' } = error as NodeJS.ErrnoException;
    throw new CommandError(2, `--schedule ${file}: cannot be read (${code})`);
  }
  const reading = findingSchema.safeParse(Array.isArray(value) ? { schedule: value } : value);
  if (reading.success) {
    const { schedule, intents = {} } = reading.data;
    return { schedule, intents: intents as Partial<Record<EndpointName, readonly string[]>> };
  }
  const [issue] = reading.error.issues;
  const path = issue?.path.join('.') ?? '';
  throw new CommandError(2, `--schedule ${file}: ${path}: ${issue?.message ?? 'not a schedule'}`);
}
