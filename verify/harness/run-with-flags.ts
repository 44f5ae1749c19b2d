/** Runs the harness with flags only against the simulator of `flags-world.ts`, on one clock. */
import { type ConformReport, runConform, runConformWithReport } from '../testkit/conform-run.ts';
import { type FlagsWorldPlan, serveWithFlags } from './flags-world.ts';

/** Fast enough for a test; slow enough that a request takes a small part of a simulated second. */
export const testRate = 8;

/** Runs the harness against a new simulator of this plan. `seconds`: of the target's time. */
export async function runWithFlags(
  argv: readonly string[],
  plan: FlagsWorldPlan = {},
): Promise<ConformReport & { readonly seconds: number }> {
  const { baseUrl, flags, clock, close } = await serveWithFlags(plan);
  const startedMs = clock.now();
  try {
    const args = [baseUrl, ...argv, ...flags, '--timeout', '2m'];
    const report = await runConformWithReport(args, { clock });
    return { ...report, seconds: (clock.now() - startedMs) / 1000 };
  } finally {
    await close();
  }
}

/** The cost of a whole run that `conform --dry-run` announces. */
export async function estimateWithFlags(): Promise<{ sends: number; minutes: number }> {
  const { baseUrl, flags, close } = await serveWithFlags();
  const { out } = await runConform([baseUrl, ...flags, '--timeout', '2m', '--dry-run']);
  await close();
  const [, sends, minutes] = /Sends: about (\d+)[\s\S]*Minutes: about ([\d.]+)/.exec(out) ?? [];
  return { sends: Number(sends), minutes: Number(minutes) };
}
