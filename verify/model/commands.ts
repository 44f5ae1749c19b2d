/** Random runs: a setup, and commands that fast-check draws, plays and shrinks. */
import fc from 'fast-check';
import type { AssumptionName, Assumptions } from '#src/sim/assumptions.ts';
import { randomAnswers } from '../testkit/examples/examples.ts';
import { anyStep, playStep, type Step } from '../testkit/steps/steps.ts';
import { Session, type Setup } from '../testkit/twin/session.ts';

/** Moments near a boundary: the end of a month, a leap day, the end of a minute. */
const starts = [
  '2026-01-15T10:00:00.000Z',
  '2026-01-15T10:00:07.123Z',
  '2026-01-31T23:58:30.000Z',
  '2028-02-28T23:59:59.999Z',
  '2026-12-31T12:00:00.500Z',
];

/** Most runs differ from the defaults in a few answers. */
export const assumptionsArbitrary: fc.Arbitrary<Partial<Assumptions>> = fc
  .uniqueArray(
    fc
      .constantFrom(...(Object.keys(randomAnswers) as AssumptionName[]))
      .chain((name) =>
        fc.constantFrom(...randomAnswers[name]).map((answer) => [name, answer] as const),
      ),
    { maxLength: 6, selector: ([name]) => name },
  )
  .map((pairs) => Object.fromEntries(pairs) as Partial<Assumptions>);

export const setupArbitrary: fc.Arbitrary<Setup> = fc.record({
  seed: fc.nat({ max: 1000 }),
  startMs: fc.constantFrom(...starts).map((text) => Date.parse(text)),
  assumptions: assumptionsArbitrary,
});

export const stepArbitrary: fc.Arbitrary<Step> = anyStep(randomAnswers);

/** One step, played on the simulator and the model of a session. */
class StepCommand implements fc.Command<Session, Session> {
  readonly step: Step;
  /** Steps between checks of the whole state. */
  readonly #soundEvery: number;
  #description = '';

  constructor(step: Step, soundEvery: number) {
    this.step = step;
    this.#soundEvery = soundEvery;
  }

  check(): boolean {
    return true;
  }

  run(session: Session): void {
    this.#description = `failed: ${JSON.stringify(this.step)}`;
    this.#description = playStep(session, this.step);
    if (session.step % this.#soundEvery === 0) session.checkSound();
  }

  toString(): string {
    return `\n    ${this.#description}`;
  }
}

/** Plays random sequences; a disagreement throws the seed and the shrunk sequence. */
export function checkSequences(options: {
  readonly sequences: number;
  readonly seed?: number;
  /** Steps between checks of the whole state; every sequence also ends with one. */
  readonly soundEvery: number;
  readonly maxCommands: number;
}): void {
  const { sequences, seed, soundEvery, maxCommands } = options;
  const command = stepArbitrary.map((step) => new StepCommand(step, soundEvery));
  const commands = fc.commands([command], { maxCommands, size: 'max' });
  const run = (setup: Setup, drawn: Iterable<fc.Command<Session, Session>>): void => {
    const session = new Session(setup);
    try {
      fc.modelRun(() => ({ model: session, real: session }), drawn);
      session.checkEverything();
    } finally {
      session.stop();
    }
  };
  fc.assert(fc.property(setupArbitrary, commands, run), {
    numRuns: sequences,
    ...(seed === undefined ? {} : { seed }),
    endOnFailure: false,
  });
}
