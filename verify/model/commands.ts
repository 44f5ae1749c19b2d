/**
 * Random runs: a setup, and commands that fast-check draws, plays and shrinks.
 */
import fc from 'fast-check';
import type { AssumptionName, Assumptions } from '../../src/sim/assumptions.ts';
import { answers } from './answers.ts';
import { Session, type Setup } from './session.ts';
import { anyStep, type Step } from './steps.ts';

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
      .constantFrom(...(Object.keys(answers) as AssumptionName[]))
      .chain((name) => fc.constantFrom(...answers[name]).map((answer) => [name, answer] as const)),
    { maxLength: 6, selector: ([name]) => name },
  )
  .map((pairs) => Object.fromEntries(pairs) as Partial<Assumptions>);

export const setupArbitrary: fc.Arbitrary<Setup> = fc.record({
  seed: fc.nat({ max: 1000 }),
  startMs: fc.constantFrom(...starts).map((text) => Date.parse(text)),
  assumptions: assumptionsArbitrary,
});

/** One step, played on the simulator and the model of a session. */
class StepCommand implements fc.Command<Session, Session> {
  readonly step: Step;
  readonly #soundEvery: number;
  #done = '';

  constructor(step: Step, soundEvery: number) {
    this.step = step;
    this.#soundEvery = soundEvery;
  }

  check(): boolean {
    return true;
  }

  run(session: Session): void {
    this.#done = `failed: ${JSON.stringify(this.step)}`;
    this.#done = session.play(this.step);
    if (session.step % this.#soundEvery === 0) session.checkSound();
  }

  toString(): string {
    return `\n    ${this.#done}`;
  }
}

function commandsOf(
  steps: readonly fc.Arbitrary<Step>[],
  soundEvery: number,
  maxCommands: number,
  replayPath?: string,
) {
  const commands = steps.map((each) => each.map((step) => new StepCommand(step, soundEvery)));
  const constraints = { maxCommands, size: 'max' } as const;
  return fc.commands(
    commands,
    replayPath === undefined ? constraints : { ...constraints, replayPath },
  );
}

/** Plays a whole run; throws if the simulator and the model disagree. */
export function run(setup: Setup, commands: Iterable<fc.Command<Session, Session>>): void {
  const session = new Session(setup);
  try {
    fc.modelRun(() => ({ model: session, real: session }), commands);
    session.audit();
  } finally {
    session.subject.stop();
  }
}

/** Plays random sequences; a disagreement throws the seed, the path and the shrunk sequence. */
export function checkSequences(options: {
  readonly sequences: number;
  readonly seed?: number;
  readonly path?: string;
  readonly replayPath?: string;
  /** Steps between checks of the whole state; every sequence also ends with one. */
  readonly soundEvery?: number;
  readonly maxCommands?: number;
}): void {
  const { sequences, seed, path, replayPath, soundEvery = 1, maxCommands = 50 } = options;
  const commands = commandsOf(anyStep, soundEvery, maxCommands, replayPath);
  fc.assert(fc.property(setupArbitrary, commands, run), {
    numRuns: sequences,
    ...(seed === undefined ? {} : { seed }),
    ...(path === undefined ? {} : { path }),
    endOnFailure: false,
  });
}
