/**
 * Runs the harness with flags alone against a simulator whose clock, like the harness's, runs
 * several times as fast.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conform } from '../../conformance/main.ts';
import type { SimulatorOptions } from '../../src/simulator.ts';
import type { ConformReport } from '../testkit/conform-run.ts';
import { serveWithFlags } from './flags-world.ts';

/**
 * Fast enough for a test, slow enough that the delay of a request stays a small part of a second.
 */
const rate = 8;

export interface FlagsRun {
  readonly code: number;
  readonly out: string;
  readonly report: ConformReport & { readonly sends: number; readonly throttled: number };
  /** By case id. */
  readonly verdicts: ReadonlyMap<string, string>;
  /** Seconds of the target's time. */
  readonly seconds: number;
  /** The longest time in which nothing was written, in seconds of the target's time. */
  readonly longestSilence: number;
}

export async function runWithFlags(
  argv: readonly string[],
  options: SimulatorOptions = {},
  assumptions: Readonly<Record<string, unknown>> = {},
): Promise<FlagsRun> {
  const folder = await mkdtemp(join(tmpdir(), 'smstwin-flags-'));
  const file = join(folder, 'report.json');
  const served = await serveWithFlags(options, assumptions, rate);
  const { clock } = served;
  const began = clock.now();
  let last = began;
  let longestSilence = 0;
  let out = '';
  try {
    const all = [served.baseUrl, ...argv, ...served.flags, '--timeout', '2m'];
    const code = await conform([...all, '--report', `json=${file}`], {
      stdout: (text) => {
        out += text;
        longestSilence = Math.max(longestSilence, (clock.now() - last) / 1000);
        last = clock.now();
      },
      stderr: (text) => {
        out += text;
      },
      clock,
      signal: new AbortController().signal,
    });
    const seconds = (clock.now() - began) / 1000;
    const text = argv.includes('--dry-run') ? '{"results":[]}' : await readFile(file, 'utf8');
    const report = JSON.parse(text) as FlagsRun['report'];
    const verdicts = new Map(report.results.map(({ id, verdict }) => [id, verdict]));
    return { code, out, report, verdicts, seconds, longestSilence };
  } finally {
    await served.close();
    await rm(folder, { recursive: true });
  }
}
