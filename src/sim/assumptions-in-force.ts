/**
 * The assumptions in force: the one place that holds them.
 * Readers keep the `AssumptionsInForce`, never the answers in it, and read an answer by name where
 * it matters. So a switch is seen by all of them at once. Only `Simulation.assume()` switches.
 */
import type { AssumptionName, Assumptions } from './assumptions.ts';

/** What a reader sees. `N` names the assumptions that it reads. */
export interface AssumptionsInForce<N extends AssumptionName = AssumptionName> {
  readonly answers: Pick<Assumptions, N>;
}

export class SwitchableAssumptions implements AssumptionsInForce {
  /**
   * Replaced as a whole by a switch, so that what is derived from it can be remembered by its
   * identity.
   */
  answers: Assumptions;

  constructor(answers: Assumptions) {
    this.answers = answers;
  }

  switch(overrides: Partial<Assumptions>): void {
    this.answers = { ...this.answers, ...overrides };
  }
}
