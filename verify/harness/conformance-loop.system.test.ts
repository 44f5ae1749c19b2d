/**
 * The loop of discovery: discovers a simulator with random assumptions from outside, starts another
 * from the file as `serve --assumptions` does, and requires the same bytes for the requests of all
 * examples.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serveFlags, serveOptions } from '#cli/serve/serve-options.ts';
import { type AssumptionName, assumptionNames } from '#contract/assumptions.ts';
import { addFlags, newCommand, readFlags } from '#io/flags.ts';
import type { Assumptions } from '#src/sim/assumptions.ts';
import { Rng } from '#src/sim/random.ts';
import { judgedAnswers, repliesOfExamples } from '../testkit/examples/examples.ts';
import { runs } from '../testkit/runs.ts';
import { runOnSimulator, singleAnswers } from './against-simulator.ts';

function drawn(seed: number): Partial<Assumptions> {
  const rng = Rng.stream(seed, 'assumptions');
  return Object.fromEntries(
    Object.entries(judgedAnswers).map(([name, answers]) => [
      name,
      answers[rng.uint32() % answers.length],
    ]),
  );
}

/** What `serve --assumptions FILE` starts with. */
async function assumptionsFrom(file: string): Promise<Partial<Assumptions>> {
  const command = newCommand('serve', '', {
    out: () => {},
    error: () => {},
    env: {},
    version: '1',
  });
  addFlags(command, serveFlags);
  readFlags(command, ['--assumptions', file], {});
  return (await serveOptions(command)).settings.assumptions ?? {};
}

test.each(Array.from({ length: runs(1) }, (_, n) => n + 1))(
  'what was discovered of a service behaves as that service did (seed %d)',
  async (seed) => {
    const original = drawn(seed);
    const folder = mkdtempSync(join(tmpdir(), 'smstwin-loop-'));
    const file = join(folder, 'assumptions.json');
    const { assumptions } = await runOnSimulator(original, ...assumptionNames, '--discover', file);
    const fromFile = await assumptionsFrom(file);
    rmSync(folder, { recursive: true });
    const undetermined = assumptionNames.filter((name) => !(name in fromFile));
    expect(undetermined.length).toBeLessThanOrEqual(8);
    for (const name of undetermined) expect(assumptions.untold[name], name).toMatch(/\w+ \w+/);
    // What cannot be seen from outside is carried over by hand, as a reader of the report would do.
    const carried = Object.fromEntries(undetermined.map((name) => [name, original[name]]));
    const second = repliesOfExamples({ ...fromFile, ...carried });
    expect(second).toEqual(repliesOfExamples(original));
  },
  180_000,
);

test('the examples show every switched assumption, so that equal replies mean something', () => {
  const unseen = singleAnswers().filter((one) => {
    const names = Object.keys(one) as AssumptionName[];
    return repliesOfExamples(one, names).join() === repliesOfExamples({}, names).join();
  });
  expect(unseen).toEqual([]);
});
