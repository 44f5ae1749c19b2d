/**
 * The harness, and the judge of what its run left in the journal: a rule is judged by one function,
 * so both agree on every rule that both exercise.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readTraffic } from '#judging/evidence/read-traffic.ts';
import type { SettingsInput } from '#src/simulator.ts';
import { defects, wrongSimulation } from '../defects/catalogue.ts';
import { singles } from '../harness/judge.ts';
import {
  type CaseResult,
  failures,
  runConform,
  startOwnSimulator,
} from '../testkit/conform-run.ts';
import { sample } from '../testkit/runs.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'smstwin-agreement-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** The rules that fail, and those that hold. */
function rulesIn(results: readonly CaseResult[]) {
  const rules = results.filter(({ kind }) => kind === 'rule');
  const failed = new Set(failures(rules).map(({ subject }) => subject));
  const passed = rules.filter(
    ({ verdict, subject }) => verdict === 'passed' && !failed.has(subject),
  );
  return { failed: [...failed], passed: passed.map(({ subject }) => subject) };
}

async function judgeTwice(
  rules: readonly string[],
  assumptions: NonNullable<SettingsInput['assumptions']> = {},
  simulation?: ReturnType<typeof wrongSimulation>,
) {
  const journal = join(folder, `${Math.random()}.ndjson`);
  const startOwn = () =>
    startOwnSimulator({ clock: 'manual', assumptions }, { journal, simulation });
  const run = await runConform(rules, { startOwn });
  const traffic = ['--traffic', journal, '--traffic-complete'];
  const recorded = await runConform([...traffic, ...rules], { readTraffic });
  return {
    active: rulesIn(run.results),
    recorded: rulesIn(recorded.results),
    recordedResults: recorded.results,
  };
}

test.each([{}, ...sample(singles(), 1 / 3)])(
  'both pass the sound simulator, with %o',
  async (row) => {
    const { active, recorded, recordedResults } = await judgeTwice([], row);
    expect(active.failed).toEqual([]);
    expect(failures(recordedResults)).toEqual([]);
    expect(active.passed).toEqual(expect.arrayContaining(recorded.passed));
    expect(recorded.passed.length).toBeGreaterThan(30);
  },
);

/** Not those of limits: a new account cuts the journal, and what came before a flood is unknown. */
const wrong = [
  ...['retry-after-missing', 'replay-current-status', 'replay-of-latest', 'state-skips-sent'],
  ...['created-at-local', 'tasks-ignore-hold', 'right-spelling-invalid-key', 'length-1599'],
];
test.each(sample(wrong, 1))('both fail %s by the same rule, and no other', async (name) => {
  const rule =
    defects.find((defect) => defect.name === name)?.rule ?? expect.fail('no such defect');
  const { active, recorded } = await judgeTwice([rule], {}, wrongSimulation(name));
  expect({ active, recorded }).toEqual({
    active: { failed: [rule], passed: [] },
    recorded: { failed: [rule], passed: [] },
  });
});
