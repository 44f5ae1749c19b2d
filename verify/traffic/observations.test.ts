/**
 * What recorded traffic shows of the answers to assumptions: of each answer its name, or nothing.
 * The traffic is that of the answer's example.
 */
import { expect, test } from 'vitest';
import { TrafficJudge } from '#judging/recorded/judge-recorded.ts';
import { Observations } from '#judging/recorded/observations.ts';
import { type AssumptionName, assumptionNames } from '#src/sim/assumptions.ts';
import { examples } from '../testkit/examples/examples.ts';
import { Scene } from '../testkit/twin/scene.ts';
import { trafficOf } from './recorded-run.ts';

/** Answers that traffic does not tell from all others. */
const unseen: Partial<Record<AssumptionName, readonly string[]>> = {
  // Each blank text shows another answer.
  blankMessage: ['reject_empty'],
};

function observed(name: AssumptionName, answer: unknown): string {
  const { scene, startsAt } = examples[name];
  const stage = new Scene({ [name]: answer }, startsAt, { compares: false });
  scene(stage);
  stage.stop();
  const observations = new Observations();
  const judge = new TrafficJudge({ isComplete: false, joined: [], rules: [], observations });
  for (const { atMs, request, reply } of stage.trace) judge.take(trafficOf(atMs, request, reply));
  judge.end();
  const { answers, undetermined } = observations.discovered();
  return String(answers[name] ?? undetermined[name] ?? 'nothing');
}

test.each(assumptionNames)('traffic shows no other answer of %s, and each or none', (name) => {
  const answers = examples[name].shows.map(([answer]) => answer);
  const observations = answers.map((answer) => [String(answer), observed(name, answer)] as const);
  const isObserved = observations.some(([, seen]) => seen !== 'nothing');
  const wrong = observations.filter(([answer, seen]) =>
    unseen[name]?.includes(answer)
      ? answers.map(String).includes(seen)
      : seen !== answer && (isObserved || seen !== 'nothing'),
  );
  expect(wrong, 'mend judging/recorded/observations.ts, or name the answer above').toEqual([]);
});
