/**
 * Tests `conform --discover`: discovers the assumptions of a foreign server, and plays random steps
 * on a simulator with them, whose replies must be those of the reference model with the server's
 * own answers.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { type AssumptionName, assumptionNames } from '#contract/assumptions.ts';
import { readAssumptionsFile } from '#src/config/world-file.ts';
import type { Assumptions } from '#src/sim/assumptions.ts';
import { serveForeign } from '../foreign/server.ts';
import { answersOf } from '../foreign/service.ts';
import type { Variation } from '../foreign/variation.ts';
import { play } from '../model/random-runs.ts';
import {
  type ConformReport,
  runConformWithReport,
  scaledClock,
  startOwnSimulator,
} from '../testkit/conform-run.ts';
import { anyStep } from '../testkit/steps/steps.ts';

/** What `--discover` found out. */
export interface Discovery {
  /** The content of the file that it wrote. */
  readonly assumptions: Partial<Assumptions>;
  /** Why the answers that the file lacks are unknown. */
  readonly undetermined: ConformReport['assumptions']['untold'];
}

/** Assumptions about floods and waits, which take minutes. */
const slow: readonly AssumptionName[] = ['limiterRefill', 'unauthenticatedThrottle', 'clientIp'];
/** The harness waits for limits to refill, so both clocks run faster. */
const rate = 8;

/** Discovers the answers of a foreign server of this variation. */
export async function discover(variation: Variation): Promise<Discovery> {
  const clock = scaledClock(rate);
  const server = await serveForeign(variation, () => Math.round(clock.now()));
  const folder = await mkdtemp(join(tmpdir(), 'smstwin-discovery-'));
  try {
    const file = join(folder, 'assumptions.json');
    const asked = assumptionNames.filter((name) => !slow.includes(name));
    const flags = [...server.flags, '--discover', file, '--timeout', '65s'];
    const report = await runConformWithReport([server.baseUrl, ...asked, ...flags], { clock });
    return {
      assumptions: await readAssumptionsFile(file),
      undetermined: report.assumptions.untold,
    };
  } finally {
    await rm(folder, { recursive: true });
    await server.close();
  }
}

/** The discovered answers that the harness does not observe on a simulator that gives them. */
export async function answersNotReproduced({ assumptions }: Discovery): Promise<string[]> {
  const names = Object.keys(assumptions) as AssumptionName[];
  const startOwn = () => startOwnSimulator({ clock: 'manual', assumptions });
  const { exitCode, assumptions: observed } = await runConformWithReport(names, { startOwn });
  const notReproduced = names
    .filter((name) => !holds(observed.answers[name], assumptions[name]))
    .map((name) => {
      const answers = [assumptions[name], observed.answers[name], observed.untold[name]];
      return `${name}: ${answers.map((each) => JSON.stringify(each)).join(', then ')}`;
    });
  return exitCode === 0 ? notReproduced : [...notReproduced, `exit code ${exitCode}`];
}

/**
 * True if `observed` has all members of `stated`. It may have more: on the server, a device that
 * polled first left no task to see.
 */
function holds(observed: unknown, stated: unknown): boolean {
  if (typeof stated !== 'object' || stated === null || Array.isArray(stated))
    return isDeepStrictEqual(observed, stated);
  const found: Readonly<Record<string, unknown>> = Object(observed);
  return Object.entries(stated).every(([key, value]) => holds(found[key], value));
}

const sequences = fc.array(anyStep(), { minLength: 30, maxLength: 30 });
const startMs = Date.parse('2026-01-15T10:00:00Z');

/**
 * Plays random sequences, each up to its first difference. Returns the number of requests and the
 * differences.
 */
export function differences(
  variation: Variation,
  { assumptions, undetermined }: Discovery,
  count: number,
): { readonly requests: number; readonly found: readonly string[] } {
  // A key of the server does not have the form that simulators give their keys.
  const modelled = { ...answersOf(variation), keyFormat: 'smst_' };
  // The simulator gets these answers of the server, as discovery could not see them.
  const hidden = assumptionNames.filter(
    (name) => slow.includes(name) || undetermined[name]?.includes('--control-url'),
  );
  const given = Object.fromEntries(hidden.map((name) => [name, modelled[name]]));
  const setup = { seed: 1, startMs, assumptions: { ...given, ...assumptions } };
  const found: string[] = [];
  let requests = 0;
  for (const steps of fc.sample(sequences, { numRuns: count, seed: 1 })) {
    let played = 0;
    try {
      play(setup, steps, {
        compares: true,
        modelled,
        contentType: variation.contentType,
        afterEach: ({ trace }) => {
          played = trace.length;
        },
      });
    } catch (error) {
      found.push(String(error));
    }
    requests += played;
  }
  return { requests, found };
}
