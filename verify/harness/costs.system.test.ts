/**
 * Each case sends what it declares (`spends`): without a control port, the schedule leaves room for
 * that in the limits, and `--dry-run` and `--profile` count it. The clock of the harness moves that
 * of the simulator, so that no case waits.
 */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allCases } from '#conformance/cases/all.ts';
import { entriesOf } from '#conformance/run/budget.ts';
import type { AnyCase } from '#conformance/run/case.ts';
import { select } from '#conformance/run/select.ts';
import { limitedEndpoints } from '#contract/limits.ts';
import { Simulator } from '#src/simulator.ts';
import { flagsOf, runConform } from '../testkit/conform-run.ts';
import { flagsSettings, flagValuesOf } from './flags-world.ts';

type Counts = Partial<Record<string, number>>;

let simulator: Simulator;
let baseUrl = '';
let deviceId = '';
let flags: readonly string[] = [];

beforeAll(async () => {
  const assumptions = { pollIntervalSeconds: 1 };
  const settings = { ...flagsSettings, clock: 'manual', assumptions } as const;
  simulator = new Simulator(settings, { journal: false });
  baseUrl = (await simulator.listen()).baseUrl;
  const values = flagValuesOf(simulator);
  deviceId = values['device-id'];
  flags = [...flagsOf(values), '--timeout', '2m'];
});
afterAll(() => simulator.close());

const clock = {
  now: () => simulator.clock.now(),
  sleep: async (ms: number) => {
    simulator.clock.advance(Math.max(1, Math.ceil(ms)));
    // Requests in flight go first.
    await new Promise((resolve) => setTimeout(resolve));
  },
};

/** How many requests spent from each bucket: of those without a valid key, one for messages received. */
function requestsSoFar(): Counts {
  const counts: Counts = {};
  for (const { endpoint, status, count } of simulator.counts.requests.answeredByStatus()) {
    const isOfAddress = status === 401 && ['received', 'tasks'].includes(endpoint);
    const bucket = isOfAddress ? `address of ${endpoint}` : endpoint;
    counts[bucket] = (counts[bucket] ?? 0) + count;
  }
  return { ...counts, address: counts['address of received'] ?? 0 };
}

function declaredBy(cases: readonly AnyCase[]): Counts {
  const counts: Counts = {};
  for (const { spends } of [
    ...cases,
    ...new Set(cases.flatMap(({ recordings = [] }) => recordings)),
  ])
    for (const [bucket, count] of entriesOf(spends)) counts[bucket] = (counts[bucket] ?? 0) + count;
  return counts;
}

/** A flood finds the limits, and a case that waits may try again: time must pass for them by itself. */
const needsTime = ({ throttled, waitSeconds, recordings = [] }: AnyCase) =>
  [throttled, waitSeconds, ...recordings.map((one) => one.fullBuckets ?? one.throttled)].some(
    Boolean,
  );

const checked = allCases.filter((one) => !needsTime(one));

test.each(checked.map((one) => [one.id, one] as const))(
  '%s sends no more than it declares',
  async (id, { needs }) => {
    // Otherwise the device polls too, and a case tries again until its own poll gets the task.
    const polling = needs.includes('device') ? 'external' : 'simulated';
    simulator.sims.patch(deviceId, { polling });
    simulator.clock.advance('10m');
    const before = requestsSoFar();
    const { out } = await runConform([baseUrl, id, ...flags], { clock });
    const after = requestsSoFar();
    const declared = declaredBy(select(allCases, [id]));
    const beyond = [...limitedEndpoints, 'address' as const]
      .map((name) => ({ name, sent: (after[name] ?? 0) - (before[name] ?? 0) }))
      .filter(({ name, sent }) => sent > (declared[name] ?? 0));
    const place = `its row in conformance/cases/ declares ${JSON.stringify(declared)}`;
    expect(beyond, place).toEqual([]);
    const [, verdict] = new RegExp(`^ *1/\\d+ +(\\S+) .*${id}`, 'm').exec(out) ?? [];
    expect(verdict, out).toBeDefined();
    const sentNothing = isDeepStrictEqual(before, after);
    if (verdict !== 'skipped') expect(sentNothing, 'it sends none of what it declares').toBe(false);
  },
);
