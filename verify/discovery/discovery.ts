/**
 * Tests `conform --discover`: discovers the assumptions of a foreign server, starts a simulator
 * with them, and compares the replies of both to probes (`probes.ts`).
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { minuteMs } from '#contract/time.ts';
import { readAssumptionsFile } from '#src/config/world-file.ts';
import type { WorldFixtureInput } from '#src/config/world-schema.ts';
import { type AssumptionName, assumptionNames } from '#src/sim/assumptions.ts';
import { createSimulator } from '#src/simulator.ts';
import { serveForeign } from '../foreign/server.ts';
import { inboundTexts } from '../foreign/service.ts';
import type { Variation } from '../foreign/variation.ts';
import { type Callers, callersIn, type FlagValues } from '../harness/flags-world.ts';
import {
  type ConformReport,
  runConformWithReport,
  startOwnSimulator,
} from '../testkit/conform-run.ts';
import { scaledClock } from '../testkit/scaled-clock.ts';
import { bearer, sendPaths } from '../testkit/twin/request.ts';
import { ask, type Difference, differences, type Side } from './compare.ts';
import { type ProbeScene, probes, throttledProbe } from './probes.ts';

/** How a simulator with the discovered answers differs from the server. */
export interface Comparison {
  /** The file that `--discover` wrote, as text. */
  readonly assumptionsFile: string;
  /** Why the answers that the file lacks are unknown. */
  readonly undetermined: ConformReport['assumptions']['untold'];
  readonly probes: number;
  readonly differences: readonly Difference[];
  /** The answers of the file that the harness does not observe on a simulator with them. */
  readonly notReproduced: readonly string[];
}

/** Assumptions about floods and waits: probes do not cover them, and they take minutes. */
const slow: readonly AssumptionName[] = ['limiterRefill', 'unauthenticatedThrottle', 'clientIp'];
/** The harness waits for limits to refill, so both clocks run faster. */
const rate = 8;

/** Discovers the answers of a foreign server, and compares a simulator with them. */
export async function compareAfterDiscovery(variation: Variation): Promise<Comparison> {
  let skippedMs = 0;
  const clock = scaledClock(rate);
  // The clock stops during the probes, so that no device polls between two of them.
  let stoppedAtMs: number | undefined;
  const now = () => (stoppedAtMs ?? Math.round(clock.now())) + skippedMs;
  const server = await serveForeign(variation, now);
  const folder = await mkdtemp(join(tmpdir(), 'smstwin-discovery-'));
  try {
    const file = join(folder, 'assumptions.json');
    const discovered = assumptionNames.filter((name) => !slow.includes(name));
    const flags = [...server.flags, '--discover', file, '--timeout', '65s'];
    const report = await runConformWithReport([server.baseUrl, ...discovered, ...flags], { clock });
    const passMinute = () => {
      skippedMs += minuteMs + 1_000;
    };
    stoppedAtMs = Math.round(clock.now());
    passMinute();
    const foreign = {
      baseUrl: server.baseUrl,
      scene: await sceneWith(server.baseUrl, callersIn(server.values), Math.round(now())),
      passMinute,
    };
    const allProbes = [...probes, throttledProbe];
    return {
      undetermined: report.assumptions.untold,
      assumptionsFile: await readFile(file, 'utf8'),
      probes: allProbes.length,
      differences: await compareWithTwin(file, foreign, server.values, allProbes),
      notReproduced: await answersNotReproduced(file),
    };
  } finally {
    await rm(folder, { recursive: true });
    await server.close();
  }
}

/** Observes a simulator with the file's answers: see `Comparison.notReproduced`. */
async function answersNotReproduced(file: string): Promise<string[]> {
  const assumptions = await readAssumptionsFile(file);
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

/** Starts a simulator with the answers of the file, and sends the probes to it and the server. */
async function compareWithTwin(
  file: string,
  foreign: Side,
  flags: FlagValues,
  allProbes: typeof probes,
): Promise<Difference[]> {
  const simulator = await createSimulator({
    clock: 'manual',
    startTime: foreign.scene.nowMs,
    world: worldOf(flags),
    assumptions: await readAssumptionsFile(file),
  });
  try {
    const { baseUrl } = await simulator.listen();
    const [sim] = simulator.sims.list('main');
    for (const message of inboundTexts)
      simulator.sims.receive('main', { from: '+12025550180', to: sim?.number ?? '', message });
    const callers = { ...callersIn(flags), deviceId: sim?.device_id ?? '' };
    const scene = await sceneWith(baseUrl, callers, foreign.scene.nowMs);
    const twin = { baseUrl, scene, passMinute: () => simulator.clock.advance('61s') };
    return await differences(allProbes, foreign, twin);
  } finally {
    await simulator.close();
  }
}

/** The world of the foreign server, as its flags describe it. */
function worldOf(flags: FlagValues): WorldFixtureInput {
  const flag = (name: string) => flags[name] ?? '';
  const key = (name: string) => ({ name, key: flag(name) });
  return {
    accounts: [
      {
        name: 'main',
        monthly_quota: 100_000,
        keys: [key('api-key'), key('other-api-key')],
        sims: [
          { number: flag('from'), polling: 'external' },
          { number: flag('inactive-from'), active: false },
        ],
      },
      { name: 'second', keys: [key('second-api-key')], sims: [{ number: flag('second-from') }] },
      {
        name: 'exhausted',
        monthly_quota: 0,
        keys: [key('exhausted-api-key')],
        sims: [{ number: flag('exhausted-from') }],
      },
    ],
    pool: [{ number: '+12025550190' }],
  };
}

/** Sends the messages of a scene to a server, and returns the scene. */
async function sceneWith(baseUrl: string, callers: Callers, nowMs: number): Promise<ProbeScene> {
  const requestId = 'probe-1';
  const send = async (key: string, from: string, extraFields: object) => {
    const fields = { to: '+442079460958', from, message: 'probe', ...extraFields };
    const { body } = await ask(baseUrl, {
      method: 'POST',
      path: sendPaths.send,
      headers: { 'content-type': 'application/json', authorization: bearer(key) },
      body: JSON.stringify(fields),
    });
    return String((body as { message_id?: string }).message_id);
  };
  const { key, from, secondKey, secondFrom } = callers;
  const messageId = await send(key, from, { request_id: requestId });
  const secondMessageId = await send(secondKey, secondFrom, {});
  return { ...callers, messageId, requestId, secondMessageId, nowMs };
}
