/**
 * Judging recorded traffic fails no sound service, however the recording was mutilated, and agrees
 * with the run of the harness that made the traffic: a rule is judged by one function. Sound
 * services are the simulator under each switched assumption, and the foreign server in each
 * variation; `SMSTWIN_RUNS=100` tries all of them, each with a hundred times as many mutations.
 */
import { describe, expect, test } from 'vitest';
import type { TrafficExchange } from '#contract/exchange.ts';
import { Rng } from '#src/sim/random.ts';
import { variations } from '../foreign/variation.ts';
import { singleAnswers } from '../harness/against-simulator.ts';
import { type ConformReport, failures } from '../testkit/conform-run.ts';
import { runs, sample, seed } from '../testkit/runs.ts';
import { judge } from './judge.ts';
import { type RecordedRun, recordForeign, recordSimulator } from './recorded-run.ts';

interface Mutation {
  readonly name: string;
  readonly exchanges: readonly TrafficExchange[];
  /** False if lines are missing in the midst. */
  readonly mayBeComplete: boolean;
}

/**
 * Some of: both ends cut off, a third or some bodies removed, the clock skewed, the times those of
 * a recorder between client and service, overlapping lines shuffled.
 */
function mutated(whole: readonly TrafficExchange[], rng: Rng): Mutation {
  let exchanges = [...whole];
  const names: string[] = [];
  const chosen = (name: string) => {
    const isChosen = rng.fraction() < 0.6;
    if (isChosen) names.push(name);
    return isChosen;
  };
  if (chosen('cut')) {
    const [from, to] = [rng.fraction(), rng.fraction()].toSorted();
    exchanges = exchanges.slice(
      Math.floor((from ?? 0) * exchanges.length),
      Math.ceil((to ?? 1) * exchanges.length),
    );
  }
  const isThinned = chosen('thinned');
  if (isThinned) exchanges = exchanges.filter(() => rng.fraction() > 1 / 3);
  if (chosen('bodiless')) {
    exchanges = exchanges.map((one) =>
      one.reply === undefined || rng.fraction() > 0.1
        ? one
        : { ...one, reply: { ...one.reply, body: undefined } },
    );
  }
  if (chosen('skewed')) {
    const byMs = rng.fraction() < 0.5 ? -2_000 : 2_000;
    // Wrong from the start, or set in the midst, which the recorder's steady clock shows.
    const setAt = rng.fraction() < 0.3 ? 0 : rng.below(exchanges.length);
    exchanges = exchanges.map((one, at) => {
      if (setAt > 0) return at < setAt ? one : { ...one, dateShiftMs: byMs };
      return { ...one, sentAt: one.sentAt + byMs, answeredAt: one.answeredAt + byMs };
    });
  }
  if (chosen('delayed')) {
    exchanges = exchanges.map((one) => ({
      ...one,
      sentAt: one.sentAt - rng.below(30),
      answeredAt: one.answeredAt + rng.below(40),
    }));
  }
  if (chosen('of two clocks')) {
    // Both clocks may run ahead, each by anything up to the span that a recorder's clock is off.
    const byMs = rng.below(2) * rng.below(600_000) - rng.below(600_000);
    exchanges = exchanges
      .map((one) =>
        rng.fraction() < 0.5
          ? { ...one, clock: 'one' }
          : {
              ...one,
              clock: 'other',
              sentAt: one.sentAt + byMs,
              answeredAt: one.answeredAt + byMs,
            },
      )
      .sort((one, other) => one.sentAt - other.sentAt);
  }
  if (chosen('shuffled')) {
    for (let at = 1; at < exchanges.length; at++) {
      const [one, other] = [exchanges[at - 1], exchanges[at]];
      const isTogether = one && other && other.sentAt <= one.answeredAt;
      if (isTogether && rng.fraction() < 0.5) [exchanges[at - 1], exchanges[at]] = [other, one];
    }
  }
  return { name: names.join(', '), exchanges, mayBeComplete: !isThinned };
}

/** What fails although the service is sound. */
function accusations(
  exchanges: readonly TrafficExchange[],
  joined: readonly (readonly string[])[],
  rng: Rng,
): string[] {
  const mutation = mutated(exchanges, rng);
  const isComplete = mutation.mayBeComplete && rng.fraction() < 0.7;
  const ofCallers = rng.fraction() < 0.5 ? joined : [];
  const { complaints } = judge(mutation.exchanges, { isComplete, joined: ofCallers });
  return complaints.map((one) => `${mutation.name}${isComplete ? ', complete' : ''}: ${one}`);
}

type Service = readonly [name: string, record: () => Promise<RecordedRun>];

/** Without the floods of the limits, of which the usual simulator has all. */
const rules = runs(1) > 1 ? [] : ['SEND', 'RES', 'READ-1', 'READ-2', 'AUTH-1', 'AUTH-3', 'STATE'];

const services: readonly Service[] = [
  ...singleAnswers().map(
    (answers): Service => [
      `simulator ${JSON.stringify(answers)}`,
      () => recordSimulator(rules, answers),
    ],
  ),
  ...Object.entries(variations).map(
    ([name, variation]): Service => [
      `foreign server "${name}"`,
      () => recordForeign(variation, rules),
    ],
  ),
];
const usual: Service = ['simulator', () => recordSimulator([])];

/** The JSON report of a whole run is at most 500 KB, with the exchanges of what passed. */
function expectShort({ reportBytes, results }: ConformReport): void {
  expect(reportBytes).toBeLessThanOrEqual(500_000);
  const shown = results.filter(
    ({ verdict, exchanges = [] }) => verdict === 'passed' && exchanges.length > 0,
  );
  expect(shown.length).toBeGreaterThan(150);
}

const chosen = [usual, ...(runs(1) > 1 ? sample(services, 1) : [])];

describe.each(chosen)('the traffic of the %s', (name, record) => {
  const rng = Rng.stream(seed, name);

  test('fails no rule, whole or mutilated', async () => {
    const { exchanges, journal, joined, report } = await record();
    expect(failures(report.results)).toEqual([]);
    const { complaints, passed } = judge(exchanges, { isComplete: true, joined });
    expect(complaints).toEqual([]);
    if (name === 'simulator') {
      expect(passed).toHaveLength(39);
      expectShort(report);
    }
    // What is judged by one function passes both ways.
    const passedBefore = report.results.filter(({ verdict }) => verdict === 'passed');
    const selected = new Set(report.results.map(({ subject }) => subject));
    expect(passedBefore.map(({ subject }) => subject)).toEqual(
      expect.arrayContaining(passed.filter((id) => selected.has(id))),
    );
    const withCuts = judge(journal, { isComplete: true, joined: [] });
    expect(withCuts.complaints).toEqual([]);
    expect(withCuts.passed.length).toBeGreaterThan(name === 'simulator' ? 30 : 15);
    for (let one = 0; one < runs(1); one++)
      expect(accusations(exchanges, joined, rng), `mutation ${one}`).toEqual([]);
  });
});
