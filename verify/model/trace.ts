/** The visible behaviour of a random run: every reply, and every message's history. */
import fc from 'fast-check';
import { playStep, type Step } from '../testkit/steps/steps.ts';
import { Session, type Setup } from '../testkit/twin/session.ts';
import { stepArbitrary } from './commands.ts';

export const stepsArbitrary: fc.Arbitrary<readonly Step[]> = fc.array(stepArbitrary, {
  minLength: 5,
  maxLength: 35,
  size: 'max',
});

/** Plays the steps and returns the session, whose trace holds every reply. */
export function play(
  setup: Setup,
  steps: readonly Step[],
  around: { before?: (session: Session) => void; afterEach?: (session: Session) => void } = {},
): Session {
  const session = new Session(setup, { compares: false });
  try {
    around.before?.(session);
    for (const step of steps) {
      playStep(session, step);
      around.afterEach?.(session);
    }
    return session;
  } finally {
    session.stop();
  }
}

/** The replies, one line each. */
export function repliesOf({ trace }: Session): string[] {
  return trace.map(({ reply }) => JSON.stringify([reply.status, reply.headers, reply.body]));
}

/** The statuses of every message with their times, one line each. */
export function historiesOf(session: Session): string[] {
  return session.model.messages.map(({ messageId }) =>
    JSON.stringify(session.historyOf(messageId)),
  );
}
