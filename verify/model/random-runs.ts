/** Draws random runs, each a setup and steps; plays them, and shows what a caller sees of them. */
import fc from 'fast-check';
import type { AssumptionName } from '#contract/assumptions.ts';
import type { Assumptions } from '#src/sim/assumptions.ts';
import { randomAnswers } from '../testkit/examples/examples.ts';
import { anyStep, playStep, type Step } from '../testkit/steps/steps.ts';
import { ComparedRun, type ComparedRunOptions, type Setup } from '../testkit/twin/compared-run.ts';

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

const stepArbitrary: fc.Arbitrary<Step> = anyStep(randomAnswers);

export const stepsArbitrary: fc.Arbitrary<readonly Step[]> = fc.array(stepArbitrary, {
  minLength: 5,
  maxLength: 35,
  size: 'max',
});

/** `compares`: the model must agree with each reply, and with the state at the end. */
interface PlayOptions extends ComparedRunOptions {
  readonly before?: (run: ComparedRun) => void;
  readonly afterEach?: (run: ComparedRun) => void;
}

/** Plays the steps and returns the run, whose trace holds every reply. */
export function play(
  setup: Setup,
  steps: readonly Step[],
  { compares = false, before, afterEach, ...options }: PlayOptions = {},
): ComparedRun {
  const run = new ComparedRun(setup, { compares, ...options });
  try {
    before?.(run);
    for (const step of steps) {
      playStep(run, step);
      afterEach?.(run);
    }
    if (compares) run.checkWholeState();
    return run;
  } finally {
    run.stop();
  }
}

export function repliesOf({ trace }: ComparedRun): string[] {
  return trace.map(({ reply }) => JSON.stringify([reply.status, reply.headers, reply.body]));
}

/** The statuses of every message with their times, one line each. */
export function historiesOf(run: ComparedRun): string[] {
  return run.model.messages.map(({ messageId }) => JSON.stringify(run.historyOf(messageId)));
}

/** Plays random sequences; a disagreement throws the seed and the shrunk sequence. */
export function checkSequences(options: {
  readonly sequences: number;
  readonly seed?: number;
  /** Steps between checks of the whole state; every sequence also ends with one. */
  readonly soundEvery: number;
  readonly maxSteps: number;
}): void {
  const { sequences, seed, soundEvery, maxSteps } = options;
  const steps = fc.array(stepArbitrary, { maxLength: maxSteps, size: 'max' });
  const afterEach = (run: ComparedRun) => {
    if (run.step % soundEvery === 0) run.checkInvariants();
  };
  const agrees = fc.property(setupArbitrary, steps, (setup, drawn) => {
    play(setup, drawn, { compares: true, afterEach });
  });
  fc.assert(agrees, { numRuns: sequences, ...(seed !== undefined && { seed }) });
}
