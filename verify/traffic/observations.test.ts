/**
 * What recorded traffic shows of the answers to assumptions: of each answer its name, or nothing.
 * The traffic is that of the answer's example.
 */
import { expect, test } from 'vitest';
import { type AssumptionName, assumptionNames } from '#contract/assumptions.ts';
import type { TrafficExchange } from '#contract/exchange.ts';
import { TrafficJudge } from '#judging/recorded/judge-recorded.ts';
import { Observations } from '#judging/recorded/observations.ts';
import { examples } from '../testkit/examples/examples.ts';
import { Scene } from '../testkit/twin/scene.ts';
import { trafficOf } from './recorded-run.ts';

/** Answers that no single reply tells from all others. */
const unseen: Partial<Record<AssumptionName, readonly string[]>> = {
  // It refuses `""` as `reject` does, and sends white space as `accept` does.
  blankMessage: ['reject_empty'],
};

const played = new Map<string, readonly TrafficExchange[]>();

/** The exchanges of the answer's example, which is played once for all tests. */
function playedBy(name: AssumptionName, answer: unknown): readonly TrafficExchange[] {
  const key = `${name} ${JSON.stringify(answer)}`;
  const exchanges = played.get(key) ?? play(name, answer);
  played.set(key, exchanges);
  return exchanges;
}

function play(name: AssumptionName, answer: unknown): readonly TrafficExchange[] {
  const { scene, startsAt } = examples[name];
  const stage = new Scene({ [name]: answer }, startsAt, { compares: false });
  scene(stage);
  stage.stop();
  return stage.trace.map(({ atMs, request, reply }) => trafficOf(atMs, request, reply));
}

function observed(name: AssumptionName, exchanges: readonly TrafficExchange[]): string {
  const observations = new Observations();
  const judge = new TrafficJudge({ isComplete: false, joined: [], rules: [], observations });
  for (const exchange of exchanges) judge.take(exchange);
  judge.end();
  const { answers, undetermined } = observations.discovered();
  return String(answers[name] ?? undetermined[name] ?? 'nothing');
}

const mend =
  'mend the service if it does not give this answer; else judging/discovery/single-replies.ts or ' +
  'judging/recorded/observations.ts, or name the answer in `unseen` above';

test.each(assumptionNames)('traffic shows no other answer of %s, and each or none', (name) => {
  const observations = examples[name].shows.map(
    ([answer]) => [String(answer), observed(name, playedBy(name, answer))] as const,
  );
  const isObserved = observations.some(([, seen]) => seen !== 'nothing');
  const wrong = observations.filter(([answer, seen]) =>
    isObserved && !unseen[name]?.includes(answer) ? seen !== answer : seen !== 'nothing',
  );
  expect(wrong, mend).toEqual([]);
});

test.each(assumptionNames)('a recording of one exchange shows no other answer of %s', (name) => {
  const wrong = examples[name].shows.flatMap(([answer]) =>
    playedBy(name, answer)
      .map((exchange) => ({ answer: String(answer), seen: observed(name, [exchange]), exchange }))
      .filter(({ seen }) => seen !== 'nothing' && seen !== String(answer))
      .map(({ seen, exchange: { method, path, body, reply } }) => {
        return `${answer} looks like ${seen}: ${method} ${path} ${body} is ${reply?.status}`;
      }),
  );
  expect(wrong, mend).toEqual([]);
});
