/**
 * Runs the harness with flags only against a simulator. Both clocks may run several times as fast
 * as the wall clock.
 */
import { conform } from '#conformance/main.ts';
import { type ConformReport, runConform } from '../testkit/conform-run.ts';
import { type FlagsWorldPlan, serveWithFlags } from './flags-world.ts';

/**
 * Fast enough for a test, and slow enough that a request's delay stays a small part of a second.
 */
export const testRate = 8;

export interface FlagsRun extends ConformReport {
  /** What the harness printed. */
  readonly out: string;
  /** Seconds of the target's time. */
  readonly seconds: number;
}

export async function runWithFlags(
  argv: readonly string[],
  plan: FlagsWorldPlan = {},
): Promise<FlagsRun> {
  const served = await serveWithFlags(plan);
  const { clock } = served;
  const startedMs = clock.now();
  let out = '';
  const stdout = (text: string) => {
    out += text;
  };
  try {
    const args = [served.baseUrl, ...argv, ...served.flags, '--timeout', '2m'];
    const report = await runConform(args, { stdout, clock });
    return { ...report, out, seconds: (clock.now() - startedMs) / 1000 };
  } finally {
    await served.close();
  }
}

/** The cost of a whole run that `conform --dry-run` announces. */
export async function estimateWithFlags(): Promise<{ sends: number; minutes: number }> {
  const served = await serveWithFlags();
  let out = '';
  const stdout = (text: string) => {
    out += text;
  };
  await conform([served.baseUrl, ...served.flags, '--timeout', '2m', '--dry-run'], {
    stdout,
    stderr: stdout,
  });
  await served.close();
  const [, sends, minutes] = /Sends: about (\d+)[\s\S]*Minutes: about ([\d.]+)/.exec(out) ?? [];
  return { sends: Number(sends), minutes: Number(minutes) };
}
