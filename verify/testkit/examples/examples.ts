/**
 * The table of all examples: how each answer of each assumption looks to a caller, and which
 * answers random runs and the harness try.
 */

import { type AssumptionName, assumptionNames } from '#contract/assumptions.ts';
import type { Assumptions } from '#src/sim/assumptions.ts';
import { Scene } from '../twin/scene.ts';
import type { Example } from './example.ts';
import { limits } from './limits.ts';
import { probed } from './probed.ts';
import { progress } from './progress.ts';
import { senders } from './senders.ts';

export const examples = { ...probed, ...limits, ...senders, ...progress } as Readonly<
  Record<AssumptionName, Example>
>;

type Answers = Readonly<Record<AssumptionName, readonly unknown[]>>;

function answersBy(select: (example: Example) => readonly unknown[]): Answers {
  return Object.fromEntries(
    assumptionNames.map((name) => [name, select(examples[name])]),
  ) as unknown as Answers;
}

const allAnswers = ({ shows, more = [] }: Example) => [...shows.map(([answer]) => answer), ...more];

/** The answers of each assumption for random runs, the default first. */
export const randomAnswers = answersBy(allAnswers);

/** The answers of each assumption with which the harness is tested, the default first. */
export const judgedAnswers = answersBy((example) => example.judged ?? allAnswers(example));

/**
 * The replies to every request of these examples under the given assumptions. Two services that
 * differ in an answer also differ in these replies.
 */
export function repliesOfExamples(
  assumptions: Partial<Assumptions>,
  names: readonly AssumptionName[] = assumptionNames,
): string[] {
  return names.flatMap((name) => {
    const { scene: play, startsAt } = examples[name];
    // A quota of 0 would hide everything else.
    const quota = name === 'monthlyQuota' ? {} : { monthlyQuota: 1_000 };
    const scene = new Scene({ ...assumptions, ...quota }, startsAt, { compares: false });
    try {
      play(scene);
    } catch {
      // Under other answers, things that the example needs may be missing.
    }
    scene.stop();
    const keys = scene.callers.validKeysOf(0).join();
    const lines = scene.trace.map(({ request: { method, path }, reply }) =>
      [method, path, reply.status, JSON.stringify(reply.headers), reply.body].join(' '),
    );
    return [`${name}: ${keys}`, ...lines];
  });
}
